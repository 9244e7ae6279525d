"""Deduplication, one row at a time."""
