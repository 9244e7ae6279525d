"""Ports and operators whose rows are never pre-aggregated, because each row is needed."""

import polars as pl

from panewise.engine.ingest.output import Output
from panewise.families import INPUT

_WHY = "rows of this operator are never pre-aggregated"


class UncombinedPort:
    """A port that combines no rows."""

    can_combine = False

    def combine(self, valid: pl.DataFrame) -> pl.DataFrame:
        """Is never called, as `can_combine` is False."""
        raise AssertionError(_WHY)

    def combine_again(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Is never called, as `can_combine` is False."""
        raise AssertionError(_WHY)


class UncombinedOperator:
    """An operator that takes no partials."""

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Is never called, as its ports combine no rows."""
        raise AssertionError(_WHY)
