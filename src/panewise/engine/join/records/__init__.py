"""Rows of a join as Python objects, whatever the match is."""
