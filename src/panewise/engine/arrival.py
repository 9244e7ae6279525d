"""Arrival order within a batch (semantics 3) and replays (semantics 4)."""

from dataclasses import dataclass

import polars as pl

from panewise.engine.frames import ordered
from panewise.engine.validity import TIME
from panewise.spec import Entry

MARK = "__mark"
PLACE = "__place"


def placed(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their place in the input, which breaks ties."""
    return rows if PLACE in rows.columns else rows.with_row_index(PLACE)


def in_order(spec: Entry, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in arrival order. Without any column that tells it, they mostly stand so."""
    columns = spec.position.columns if spec.position else spec.order or ((TIME,) if spec.time_columns else ())
    if len(columns) < 2 and rows[PLACE].is_sorted():  # a stable sort by one column costs a third of one by two
        return ordered(rows, columns) if columns else rows
    return rows if rows.height < 2 else ordered(rows, [*columns, PLACE])


@dataclass(frozen=True)
class Marks:
    """Highest offset received from each (source, partition)."""

    table: pl.DataFrame | None = None

    def without_replays(self, spec: Entry, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows (in arrival order) that are not replays."""
        if spec.position is None or rows.is_empty():
            return rows
        fresh = rows.unique(list(spec.position.columns), keep="first", maintain_order=True)
        if self.table is None:
            return fresh
        by = list(spec.position.columns[:-1])
        marked = fresh.join(self.table, on=by, how="left", nulls_equal=True, maintain_order="left")
        above = pl.col(MARK).is_null() | (pl.col(spec.position.offset) > pl.col(MARK))
        return marked.filter(above).drop(MARK)

    def after(self, spec: Entry, rows: pl.DataFrame) -> "Marks":
        """The marks once the rows are received."""
        if spec.position is None or rows.is_empty():
            return self
        by = list(spec.position.columns[:-1])
        seen = rows.group_by(by, maintain_order=True).agg(pl.col(spec.position.offset).max().alias(MARK))
        known = seen if self.table is None else pl.concat([self.table, seen])
        return Marks(known.group_by(by, maintain_order=True).agg(pl.col(MARK).max()))
