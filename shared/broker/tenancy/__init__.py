"""Tenants, their clients and keys, and who may do what."""
