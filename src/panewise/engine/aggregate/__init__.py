"""Aggregates: their partials, how partials merge, and the results."""
