"""Time series: points folded into clock-aligned buckets, and the buckets read back."""
