"""Arrival order within a batch (semantics 3) and replays (semantics 4).

Each (source, partition) has a mark. A row is a replay if its offset is at or below the mark, or if an earlier
row of the batch has the same position. So a batch costs a join with the marks, and a sort unless it is in
order already. If offsets do not arrive in order, intervals of offsets take the place of the mark
(:mod:`panewise.engine.ingest.offsets`), and each row costs one bisection.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from panewise.engine.columns import PLACE, TIME
from panewise.engine.ingest.offsets import OffsetInterval, Offsets
from panewise.engine.kernels.small_frames import ordered
from panewise.errors import StateError
from panewise.spec import Entry, Position
from panewise.state.manifest import REMEDY

MARK = "__mark"
# With unordered positions: the first offset of the interval that ends at the mark. Null if the mark is the
# floor.
FROM = "__from"
_INTERVAL = "__interval"


def placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows with ``__place``, their places in the batch, which break ties."""
    return rows if PLACE in rows.columns else rows.with_row_index(PLACE)


def in_order(spec: Entry, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows in arrival order (semantics 3).

    If no column defines it, it is the order of the input. The rows are usually in that order already.
    """
    columns = spec.position.columns if spec.position else spec.order or ((TIME,) if spec.time_columns else ())
    if len(columns) < 2 and rows[PLACE].is_sorted():  # a sort by one column costs a third of one by two
        return ordered(rows, columns) if columns else rows
    return rows if rows.height < 2 else ordered(rows, [*columns, PLACE])


@dataclass(frozen=True)
class Marks:
    """The offsets received from each (source, partition).

    The table has the highest offset or, for positions that are not ordered, intervals of offsets. It is None
    before the first row.
    """

    table: pl.DataFrame | None = None

    @staticmethod
    def schema(position: Position, columns: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """Returns the columns of the table. `columns` are those of the input."""
        by = {name: columns[name] for name in position.columns[:-1]}
        own = {MARK: columns[position.offset]} if position.ordered else {FROM: pl.Int64(), MARK: pl.Int64()}
        return {**by, **own}

    @classmethod
    def from_header(cls, rows: list[Any], position: Position, schema: Mapping[str, pl.DataType]) -> "Marks":
        """Returns the marks that :meth:`rows` returned."""
        if not rows:
            return cls()
        try:
            return cls(pl.DataFrame(rows, schema=cls.schema(position, schema), orient="row"))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            rule = "a manifest is the JSON that panewise wrote"
            raise StateError(f"a header with marks={str(rows)[:40]!r}", rule, REMEDY) from error

    def rows(self) -> list[list[Any]]:
        """Returns the marks as JSON values."""
        return [] if self.table is None else [list(row) for row in self.table.rows()]

    def without_replays(self, spec: Entry, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows that are not replays. The given rows are in arrival order."""
        if spec.position is None or rows.is_empty():
            return rows
        fresh = rows.unique(list(spec.position.columns), keep="first", maintain_order=True)
        if self.table is None:
            return fresh
        by = list(spec.position.columns[:-1])
        if not spec.position.ordered:
            return self._unseen(spec.position, fresh)
        marked = fresh.join(self.table, on=by, how="left", nulls_equal=True, maintain_order="left")
        above = pl.col(MARK).is_null() | (pl.col(spec.position.offset) > pl.col(MARK))
        return marked.filter(above).drop(MARK)

    def after(self, spec: Entry, rows: pl.DataFrame) -> "Marks":
        """Returns the marks after the rows are received."""
        if spec.position is None or rows.is_empty():
            return self
        return self.advanced_by(spec.position, Marks.offsets_of(spec.position, rows))

    def advanced_by(self, position: Position, offsets: pl.DataFrame) -> "Marks":
        """Returns the marks after rows are received. `offsets` is the result of :meth:`offsets_of` for them.

        It may come from another process.
        """
        by = list(position.columns[:-1])
        if not position.ordered:
            return self._received(position, offsets)
        known = offsets if self.table is None else pl.concat([self.table, offsets])
        return Marks(known.group_by(by, maintain_order=True).agg(pl.col(MARK).max()).sort(by))

    @staticmethod
    def offsets_of(position: Position, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns what rows add to the marks.

        For each (source, partition) this is the highest offset or, for positions that are not ordered, the
        intervals of consecutive offsets.
        """
        by, offset = list(position.columns[:-1]), pl.col(position.offset)
        if position.ordered:
            return rows.group_by(by, maintain_order=True).agg(offset.max().alias(MARK))
        offsets = rows.select(*by, offset.cast(pl.Int64).alias(MARK)).unique().sort(*by, MARK)
        # An interval begins where the offset is not the one after that of the row before.
        begins = (pl.col(MARK) != pl.col(MARK).shift(1).over(by) + 1).fill_null(True)
        intervals = offsets.with_columns(begins.cum_sum().alias(_INTERVAL)).group_by(
            [*by, _INTERVAL], maintain_order=True
        )
        return intervals.agg(pl.col(MARK).first().alias(FROM), pl.col(MARK).last()).drop(_INTERVAL)

    def _unseen(self, position: Position, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows whose offsets are in no interval and above the floor."""
        by, known = list(position.columns[:-1]), self._offsets(position)
        origins, offsets = rows.select(by).rows(), rows[position.offset].to_list()
        none = Offsets(1)
        fresh = [
            not known.get(origin, none).has(offset) for origin, offset in zip(origins, offsets, strict=True)
        ]
        return rows.filter(pl.Series(fresh, dtype=pl.Boolean))

    def _received(self, position: Position, received: pl.DataFrame) -> "Marks":
        """Returns the marks after intervals of offsets are received, for positions that are not ordered."""
        known = self._offsets(position)
        arrived: dict[tuple[Any, ...], list[OffsetInterval]] = {}
        for *origin, first, last in received.rows():
            arrived.setdefault(tuple(origin), []).append((first, last))
        for of_source, intervals in arrived.items():
            known.setdefault(of_source, Offsets(position.remember or 1)).receive(intervals)
        rows = [(*origin, *interval) for origin, offsets in known.items() for interval in offsets.rows()]
        table = pl.DataFrame(rows, schema=received.schema, orient="row")
        return Marks(table.sort(*position.columns[:-1], FROM))

    def _offsets(self, position: Position) -> dict[tuple[Any, ...], Offsets]:
        """Returns the floor and the intervals of each (source, partition)."""
        by_origin: dict[tuple[Any, ...], Offsets] = {}
        for *origin, first, last in () if self.table is None else self.table.rows():
            by_origin.setdefault(tuple(origin), Offsets(position.remember or 1)).load(first, last)
        return by_origin
