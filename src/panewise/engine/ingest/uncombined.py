"""Ports and operators whose rows are never pre-aggregated.

OVER operators and policy windows need each row.
"""

import polars as pl

from panewise.engine.ingest.output import Output
from panewise.families import INPUT

_WHY = "rows of this operator are never pre-aggregated"


class UncombinedPort:
    """A port that combines no rows."""

    can_combine = False

    def combine(self, valid: pl.DataFrame) -> pl.DataFrame:
        """Raises AssertionError. It is never called, because `can_combine` is False."""
        raise AssertionError(_WHY)

    def combine_again(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Raises AssertionError. It is never called, because `can_combine` is False."""
        raise AssertionError(_WHY)


class UncombinedOperator:
    """An operator that takes no partials."""

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Raises AssertionError. It is never called, because the ports combine no rows."""
        raise AssertionError(_WHY)
