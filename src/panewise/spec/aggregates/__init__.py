"""Aggregates, and the functions that make them. Values only."""
