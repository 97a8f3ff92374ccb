"""JSON, CSV and XML: what each is as a value, and how a value is written in each (docs/conversions.md)."""
