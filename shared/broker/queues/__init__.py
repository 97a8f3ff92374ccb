"""Queues of all types: their settings, their registry, and the calls that each type answers in its own way."""
