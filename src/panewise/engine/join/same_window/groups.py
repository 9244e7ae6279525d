"""Which rows of a window were together in a pane before (semantics 37.12).

Usually these are the rows of the window's last pane. A session that has merged with others since has several
groups: the rows of the last pane of each of them. Such panes are stored until the session fires.

Invariant: rows get higher numbers as they arrive, and sessions that merge do not overlap. So a row was in a
pane if it is within its bounds, and its number is not above the highest one in the pane. No row was in two of
the stored panes. Cost: a firing reads the stored panes of its keys, and compares each row of a window with
the panes that have merged into that window.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, START, TIME
from panewise.engine.join.same_window.rows import NEWEST, Members
from panewise.engine.kernels.small_frames import distinct, join_frames
from panewise.engine.kernels.sorting import Places
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.engine.windowing.plan import WindowPlan

MERGED: Final = "merged"  # the name of the table
PREVIOUS: Final = (
    "__previous"  # of a window: the number of the last row in the pane before, -1 if there is none
)
NO_GROUP: Final = -1  # the group of a row that was in no pane
UNTIL: Final = "__until"  # the end of a window, also if it may merge and so has no __end
WINDOW: Final = "__window"  # the place of a window among those that fire
_AT = "__at"
_OF_MERGED: Final[Mapping[str, pl.DataType]] = {NEWEST: pl.Int64()}


def nothing(
    plan: WindowPlan, columns: Mapping[str, pl.DataType] = _OF_MERGED, *, by_key: bool = True
) -> StoredTable:
    """Returns an empty table of panes with their keys and bounds, by default of those of merged sessions.

    `plan` is that of the windows. With `by_key` all panes of a key are read together.
    """
    keys = {key: plan.table_schema[key] for key in plan.keys}
    schema = {**keys, START: pl.Int64(), UNTIL: pl.Int64(), **columns, END: pl.Int64()}
    identity = [*plan.keys, START, UNTIL]
    return StoredTable.nothing(Shape(schema, identity, plan.keys if by_key else identity))


def put(table: StoredTable, merged_away: pl.DataFrame) -> StoredTable:
    """Returns the table with the panes of sessions that have merged: keys, START, END and `NEWEST`."""
    if merged_away.is_empty():
        return table
    rows = merged_away.with_columns(pl.col(END).alias(UNTIL), pl.lit(MAX_INSTANT, dtype=pl.Int64).alias(END))
    rows = rows.select(*table.shape.schema)
    return sealed_if_long(table.changed(rows))


def taken(table: StoredTable, windows: pl.DataFrame, keys: list[str]) -> tuple[StoredTable, pl.DataFrame]:
    """Takes out the panes of sessions that have merged into these windows.

    Returns the table without them, and the panes, each with the place of its window.
    """
    panes = inside(table, windows, keys).sort(WINDOW, START)
    if panes.is_empty():
        return table, panes
    rows = panes.select(*table.shape.schema)
    return table.changed(rows.clear(), rows), panes


def inside(table: StoredTable, windows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the panes of a table that lie inside a window, each with the place of this window."""
    known = table.of_keys(distinct(windows, keys), keys)
    bounds = windows.select(*keys, pl.col(START).alias("__low"), pl.col(END).alias("__high"))
    pairs = join_frames(known, bounds.with_row_index(WINDOW), keys)
    return pairs.filter((pl.col(START) >= pl.col("__low")) & (pl.col(UNTIL) <= pl.col("__high")))


def of_merged(members: Members, groups: Places, panes: pl.DataFrame, first: int) -> Places:
    """Returns the groups, where rows of merged sessions have the group of their session.

    `panes` are those that :func:`taken` returned. Their groups are `first` and the following numbers.
    """
    if panes.is_empty():
        return groups
    time = START if START in members.rows.columns else TIME  # a custom window need not contain the row's time
    rows = pl.DataFrame({WINDOW: members.window, TIME: members.rows[time], NEWEST: members.numbers})
    rows = rows.with_row_index(_AT).with_columns(pl.col(WINDOW).cast(pl.UInt32))
    numbered = panes.select(WINDOW, START, UNTIL, pl.col(NEWEST).alias("__last")).with_row_index("__group")
    of_panes = rows.join(numbered, on=WINDOW).filter(
        (pl.col(TIME) >= pl.col(START))
        & (pl.col(TIME) < pl.col(UNTIL))
        & (pl.col(NEWEST) <= pl.col("__last"))
    )
    groups = groups.copy()
    groups[of_panes[_AT].to_numpy()] = of_panes["__group"].to_numpy().astype(np.int64) + first
    return groups


def groups_of(
    members: Mapping[str, Members], windows: pl.DataFrame, panes: pl.DataFrame | None
) -> dict[str, Places]:
    """Returns the group of each row by side: the place of its window if it was in the window's last pane.

    `panes` are those of merged sessions.
    """
    previous, groups = windows[PREVIOUS].to_numpy(), dict[str, Places]()
    for side, rows in members.items():
        groups[side] = np.where(rows.numbers <= previous[rows.window], rows.window, NO_GROUP)
        if panes is not None:
            groups[side] = of_merged(rows, groups[side], panes, windows.height)
    return groups
