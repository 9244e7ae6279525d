"""Deduplication: emits one row of each group of rows that have equal keys and are near in time."""
