"""Operators: whole specifications, which check themselves."""
