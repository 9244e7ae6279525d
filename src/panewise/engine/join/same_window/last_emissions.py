"""What windows that emit their whole content emitted last (semantics 37.20, 37.21).

A firing emits nothing if the content of the window is what it was before (37.13). So the panes of the window
operator contain neither the timing of the rows that a window retracts, nor how often it has emitted rows.

Invariant: the table has a row for each window that has fired and can fire again, with what it emitted last.
States of older releases lack the table, and the panes then have what was emitted. Cost: one look-up and one
row for each window that fires.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END
from panewise.engine.join.same_window import groups
from panewise.engine.join.same_window.groups import UNTIL
from panewise.engine.kernels.small_frames import Mask
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.engine.windowing.plan import WindowPlan
from panewise.spec import merging
from panewise.spec.operators.join.columns import INDEX, IS_FIRST, NONSPECULATIVE_INDEX, TIMING

PANES, NONSPECULATIVE = "panes", "nonspeculative"  # firings that emitted rows, and those that were not EARLY
LAST_TIMING: Final = "__last_timing"  # the timing of what a window that fires emitted last
# What is stored of a window, by its accumulation.
STORED: Final[Mapping[str, Mapping[str, pl.DataType]]] = {
    "retracting": {TIMING: pl.String()},
    "accumulating": {PANES: pl.Int64(), NONSPECULATIVE: pl.Int64()},
}


def previous(name: str) -> str:
    """Returns the column of windows that fire with a value of their last pane, emitted or not."""
    return f"__previous_{name}"


def of_pane() -> list[pl.Expr]:
    """Returns the columns that :func:`previous` names, computed from panes of the window operator."""
    return [
        pl.col(TIMING).alias(previous(TIMING)),
        (pl.col(INDEX) + 1).alias(previous(PANES)),
        (pl.col(NONSPECULATIVE_INDEX) + 1).alias(previous(NONSPECULATIVE)),
    ]


def nothing(plan: WindowPlan, accumulation: str) -> StoredTable:
    """Returns an empty table. `plan` is that of the windows."""
    return groups.nothing(plan, STORED[accumulation], by_key=False)


def known(table: StoredTable, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns what is stored of windows that fire. The timing is in the column `LAST_TIMING`.

    The columns that :func:`previous` names are taken for windows that have fired before there was this table.
    """
    stored_rows = table.look_up(windows.with_columns(pl.col(END).alias(UNTIL)).select(table.shape.identity))
    names = [name for name in table.shape.schema if previous(name) in windows.columns]
    values = pl.DataFrame([windows[previous(name)].alias(name) for name in names])
    return pl.DataFrame(
        [values[name].scatter(stored_rows.which, stored_rows.rows[name]) for name in names]
    ).rename({TIMING: LAST_TIMING}, strict=False)


def with_pane_numbers(windows: pl.DataFrame) -> pl.DataFrame:
    """Returns windows that fire, with the numbers of the pane if it emits rows (semantics 37.21)."""
    early = pl.col(TIMING) == "EARLY"
    return windows.with_columns(
        pl.col(PANES).alias(INDEX),
        pl.when(early).then(-1).otherwise(NONSPECULATIVE).alias(NONSPECULATIVE_INDEX),
        (pl.col(PANES) == 0).alias(IS_FIRST),
    )


def counted(windows: pl.DataFrame, emits: Mask) -> pl.DataFrame:
    """Returns windows after their firing. `emits` says which of them emit rows."""
    emitted = pl.lit(pl.Series(emits))
    return windows.with_columns(
        pl.col(PANES) + emitted.cast(pl.Int64),
        pl.col(NONSPECULATIVE) + (emitted & (pl.col(TIMING) != "EARLY")).cast(pl.Int64),
    )


def stored(table: StoredTable, windows: pl.DataFrame, plan: WindowPlan) -> StoredTable:
    """Returns the table with what windows emitted last, as long as they can fire again."""
    merges, ended = merging(plan.spec.window), (pl.col("op") == "-") | pl.col("is_last")
    end = pl.lit(MAX_INSTANT, dtype=pl.Int64) if merges else pl.col(END)
    rows = windows.with_columns(pl.col(END).alias(UNTIL), end.alias(END))
    put, deleted = rows.filter(~ended), rows.filter(ended) if merges else rows.clear()
    names = list(table.shape.schema)
    return sealed_if_long(table.changed(put.select(names), deleted.select(names)))
