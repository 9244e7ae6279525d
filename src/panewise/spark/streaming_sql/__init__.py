"""Queries and scripts of SQL over DataFrames."""
