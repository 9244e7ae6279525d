"""The columns of the late output (semantics 13.4)."""

from typing import Final

import polars as pl

from panewise.engine.columns import LATE_BY, MISSED_WINDOWS, PARTIAL, REASON, TIME
from panewise.engine.progress.clocks import Clocks

_INTERVAL = pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()}))
# The values of late rows of operators that assign rows to no windows.
NO_WINDOWS: Final = {MISSED_WINDOWS: pl.lit([]), PARTIAL: pl.lit(False)}


def late_schema(payload: dict[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Returns the columns of the late output."""
    return {
        **payload,
        REASON: pl.String(),
        MISSED_WINDOWS: _INTERVAL,
        LATE_BY: pl.Int64(),
        PARTIAL: pl.Boolean(),
    }


def reason_of(clocks: Clocks, cause: pl.Expr) -> pl.Expr:
    """Returns the reason to report: `cause`, but always `finished` after the end of input."""
    return pl.lit("finished") if clocks.finished else cause


def late_columns(
    columns: dict[str, pl.DataType], values: dict[str, pl.Expr], clocks: Clocks
) -> list[pl.Expr]:
    """Returns the columns of the late output: from `values`, ``late_by``, or else from the rows."""
    values = {**values, LATE_BY: clocks.late_by(pl.col(TIME))}
    return [values.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in columns.items()]
