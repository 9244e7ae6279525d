"""Streaming SQL: compiles a text to specifications, with the parts that Spark computes (semantics 46).

Only this package imports sqlglot.
"""

from panewise.sql.compile import compile_sql
from panewise.sql.to_sql import to_sql

__all__ = ["compile_sql", "to_sql"]
