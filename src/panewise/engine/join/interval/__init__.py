"""Joins with an interval."""
