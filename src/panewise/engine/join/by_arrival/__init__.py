"""Joins with windows of rows by arrival."""
