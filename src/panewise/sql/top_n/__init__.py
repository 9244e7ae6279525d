"""Top-N: the first n rows of each partition by ROW_NUMBER, as a ranking of windows (semantics 46.19)."""

from panewise.sql.top_n.compiler import TopNCompiler
from panewise.sql.top_n.pattern import Pattern, pattern_is_possible, pattern_of

__all__ = ["Pattern", "TopNCompiler", "pattern_is_possible", "pattern_of"]
