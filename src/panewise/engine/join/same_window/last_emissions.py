"""The timing of what each retracting window emitted last (semantics 37.20).

A firing emits nothing if the content of the window is what it was before (37.13). So the timing of the last
pane need not be that of the rows that the window retracts.
"""

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, START
from panewise.engine.join.same_window.groups import PREVIOUS_TIMING, UNTIL
from panewise.engine.kernels.frames import Mask, filter_rows
from panewise.engine.store.run import MemoryLibrary, Shape
from panewise.engine.store.stored_table import StoredTable, sealed_if_long
from panewise.engine.windowing.plan import Plan
from panewise.spec import merging
from panewise.spec.operators.join.columns import TIMING


def nothing(plan: Plan) -> StoredTable:
    """Returns an empty table. `plan` is that of the windows."""
    keys = {key: plan.table_schema[key] for key in plan.keys}
    columns = {START: pl.Int64(), UNTIL: pl.Int64(), TIMING: pl.String(), END: pl.Int64()}
    identity = [*plan.keys, START, UNTIL]
    return StoredTable.nothing(Shape({**keys, **columns}, identity, identity), MemoryLibrary())


def timings(table: StoredTable, windows: pl.DataFrame) -> pl.Series:
    """Returns the timing of what each window emitted last.

    Args:
        table: the stored timings.
        windows: the windows that fire, with START, END and `PREVIOUS_TIMING`. Releases that stored no timings
            have emitted with this one.
    """
    found = table.look_up(windows.with_columns(pl.col(END).alias(UNTIL)).select(table.shape.identity))
    return windows[PREVIOUS_TIMING].scatter(found.which, found.rows[TIMING]).alias(TIMING)


def after(table: StoredTable, windows: pl.DataFrame, emits: Mask, plan: Plan) -> StoredTable:
    """Returns the table after windows have fired. `emits` says which of them emit what they contain."""
    merges, ended = merging(plan.spec.window), (pl.col("op") == "-") | pl.col("is_last")
    end = pl.lit(MAX_INSTANT, dtype=pl.Int64) if merges else pl.col(END)
    rows = windows.with_columns(pl.col(END).alias(UNTIL), end.alias(END))
    put = filter_rows(rows, pl.Series(emits)).filter(~ended)
    gone = rows.filter(ended) if merges else rows.clear()
    names = list(table.shape.schema)
    return sealed_if_long(table.changed(put.select(names), gone.select(names)))
