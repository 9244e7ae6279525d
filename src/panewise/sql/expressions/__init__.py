"""Expressions of a query: the columns, functions and names in them."""
