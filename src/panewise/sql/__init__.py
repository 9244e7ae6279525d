"""Streaming SQL: compiles a text to specifications, with the parts that Spark computes (semantics 46).

Only this package imports sqlglot.
"""

from panewise.sql.compile import compile_sql
from panewise.sql.words import says_windows

__all__ = ["compile_sql", "says_windows"]
