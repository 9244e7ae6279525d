"""Aggregates, computed from scratch over a list of rows."""
