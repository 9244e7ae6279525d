"""Algorithms on arrays and frames that know nothing of streams."""
