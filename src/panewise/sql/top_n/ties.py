"""RANK and DENSE_RANK, which rank equal rows equally: any number of rows may be among the first n."""

from typing import Final

from panewise.sql.stages import Ties
from panewise.sql.top_n.pattern import Pattern

ALL_ROWS: Final = 2**31 - 1  # the longest list that Spark has


def ties_of(pattern: Pattern) -> Ties | None:
    """Returns how equal rows are ranked; None for ROW_NUMBER."""
    return None if pattern.function == "row_number" else Ties(pattern.function, pattern.n)
