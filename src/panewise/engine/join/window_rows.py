"""The rows of both sides as rows of their windows, which a window operator takes (semantics 37.11, 43)."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from panewise.engine.columns import NUMBER, ONE_KEY, OWN_WINDOWS, SLICE, TIME
from panewise.spec.operators.join.windowing import ROW_NUMBER, ROW_TIME, row_keys

# What ports add to valid rows: the time, how rows are assigned to windows, and a constant key.
_ADDED: Final = (TIME, SLICE, OWN_WINDOWS, ONE_KEY)


def own_columns(keys: Sequence[str]) -> dict[str, pl.Expr]:
    """Returns the keys, time and number that rows of a side with these keys have as rows of the windows."""
    named = {mine: pl.col(key) for mine, key in row_keys(keys).items()}
    return named | {ROW_TIME: pl.col(TIME), ROW_NUMBER: pl.col(NUMBER)}


def of_side(rows: pl.DataFrame, columns: Sequence[pl.Expr]) -> pl.DataFrame:
    """Returns valid rows of a side, with their numbers, as rows of the windows with these columns."""
    return rows.select(*columns, *(name for name in _ADDED if name in rows.columns))


def of_both(rows: Mapping[str, pl.DataFrame], columns: Mapping[str, Sequence[pl.Expr]]) -> pl.DataFrame:
    """Returns rows of one side or both as rows of the windows, in arrival order. `columns` are by side."""
    frames = [of_side(rows_of_side, columns[side]) for side, rows_of_side in rows.items()]
    return frames[0] if len(frames) == 1 else pl.concat(frames).sort(ROW_NUMBER)
