"""The slices of sliding windows and, where windows contain many slices, blocks of slices.

The windows of one step differ only at their ends: a later window has lost slices at its start, and has gained
slices at its end. The slices between are in all windows that the step completes, makes or adds rows to. To
avoid reading these one by one, the slices are stored a second time in blocks. A block has the merged partials
of the slices of a key in one interval of time; 64 blocks are as long as a window. A step then reads the
slices at both ends, and at most about 64 blocks for each key, whatever the number of slices in a window.

Blocks are made once a step has read many times as many slices as it would have read blocks. From then on each
row is added to its slice and to its block, however late it is. Invariant: either each slice is also in a
block, or there are no blocks.
"""

from dataclasses import dataclass, replace

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.columns import END, IS_BLOCK, START, TIME
from panewise.engine.kernels.instants import shifted
from panewise.engine.tables.stored_table import StoredTable, Stretches
from panewise.engine.windowing.plan import WindowPlan

SLICES, BLOCKS = "slices", "blocks"  # the names of the tables
_MANY = 1 << 14  # blocks are made only if a step reads at least this many slices
_TIMES = 8  # and at least this many times as many slices as blocks


@dataclass(frozen=True)
class Slices:
    """The two tables of an operator with sliding windows.

    Attributes:
        by_time: the slices.
        blocks: the blocks.
        in_blocks: whether all slices are also in blocks. Otherwise there are no blocks.
    """

    by_time: StoredTable
    blocks: StoredTable
    in_blocks: bool = False

    @property
    def tables(self) -> dict[str, StoredTable]:
        """Both tables by name."""
        return {SLICES: self.by_time, BLOCKS: self.blocks}

    def expired(self, horizon: int | None) -> "Slices":
        """Returns the tables without the slices and blocks that end at the horizon or before it."""
        return replace(self, by_time=self.by_time.expired(horizon), blocks=self.blocks.expired(horizon))

    def without(self, removed: pl.DataFrame) -> "Slices":
        """Returns the tables without these slices, which are in no block as keys have own watermarks."""
        return replace(self, by_time=self.by_time.changed(removed.clear(), removed))

    def added(self, plan: WindowPlan, new_slices: pl.DataFrame, near: pl.DataFrame | None = None) -> "Slices":
        """Adds the slices of new rows.

        `near` are the stored slices at these keys and times, among others; None if they have not been read.
        """
        more = replace(self, by_time=_with(plan, self.by_time, new_slices, near))
        return more._blocks_added(plan, new_slices) if self.in_blocks else more

    def near(self, plan: WindowPlan, rows: pl.DataFrame, time: str) -> pl.DataFrame:
        """Returns the slices of the keys of rows, within reach of the earliest or the latest of these."""
        first, last = rows.select(pl.col(time).min().alias("first"), pl.col(time).max().alias("last")).row(0)
        near = self.between(plan, first - plan.slide.reach, last + plan.slide.reach)
        return near.join(rows, on=plan.keys, how="semi", nulls_equal=True, maintain_order="left")

    def between(self, plan: WindowPlan, first: int | None, last: int | None) -> pl.DataFrame:
        """Returns the slices with times from `first` to `last`, both included; None: no bound."""
        return _between(plan, self.by_time, [(first, last)])

    def of_move(self, plan: WindowPlan, before: int, now: int) -> tuple[pl.DataFrame, "Slices"]:
        """Returns the pieces of the windows that a move of the watermark completes, and the tables.

        Blocks take the place of slices that all these windows contain. If there are no blocks yet, and they
        would save enough, they are made.
        """
        first, last = before - plan.slide.reach, now
        low, high = plan.slide.inside(before, now)
        if low >= high or plan.by_key or plan.by_row_number:
            return as_pieces(self.between(plan, first, last)), self
        if not self.in_blocks:
            slices = self.between(plan, first, last)
            return as_pieces(slices), self._in_blocks(plan) if _is_worth_it(plan, slices) else self
        ends = _between(plan, self.by_time, [(first, low - 1), (high, last)])
        blocks = _between(plan, self.blocks, [(low, high - 1)]).join(
            ends, on=plan.keys, how="semi", nulls_equal=True
        )
        return pl.concat([as_pieces(ends), as_pieces(blocks, blocks=True)]), self

    def of_rows(
        self, plan: WindowPlan, rows: pl.DataFrame, *, in_time: bool
    ) -> tuple[pl.DataFrame, "Slices"]:
        """Returns the pieces of the windows that rows make or are added to, and the tables.

        It is used if windows are made with their first row. As in :meth:`of_move`, blocks take the place of
        slices that all these windows contain. `in_time` says that no row can be late for a window. Otherwise
        all slices of the keys of the rows are read.
        """
        if not self.in_blocks or not in_time:
            slices = self.by_time.of_keys(rows, plan.keys)
            never = plan.by_key or plan.by_row_number or self.in_blocks
            able = plan.slide.window.anchor == "end" and not never
            makes = able and _is_worth_it(plan, slices)
            return as_pieces(slices), self._in_blocks(plan) if makes else self
        first, last = rows.select(pl.col(TIME).min().alias("first"), pl.col(TIME).max().alias("last")).row(0)
        # All windows of the rows contain the slices from `low` up to `high`. Only these may be read as
        # blocks.
        _, high = plan.slide.inside(first, last)
        newest = self.by_time.of_keys(rows, plan.keys, [(high, MAX_INSTANT)])
        latest = newest[START].max()
        # The last slice that can make a window with one of the rows.
        latest = min(max(latest, last), last + plan.slide.size) if isinstance(latest, int) else last
        low, _ = plan.slide.inside(first, latest)
        oldest = self.by_time.of_keys(
            rows, plan.keys, _clipped([(first - plan.slide.reach, min(low, high) - 1)])
        )
        blocks = self.blocks.of_keys(rows, plan.keys, _clipped([(low, high - 1)]))
        return pl.concat([as_pieces(oldest), as_pieces(blocks, blocks=True), as_pieces(newest)]), self

    def _in_blocks(self, plan: WindowPlan) -> "Slices":
        return replace(self, in_blocks=True)._blocks_added(plan, self.by_time.all())

    def _blocks_added(self, plan: WindowPlan, new_slices: pl.DataFrame) -> "Slices":
        return replace(self, blocks=_with(plan, self.blocks, _in_stretches(plan, new_slices)))


def as_pieces(lines: pl.DataFrame, *, blocks: bool = False) -> pl.DataFrame:
    """Returns lines of one of the tables as pieces, marked as slices or as blocks."""
    return lines.with_columns(pl.lit(blocks).alias(IS_BLOCK))


def _is_worth_it(plan: WindowPlan, slices: pl.DataFrame) -> bool:
    if slices.height < _MANY:
        return False
    blocks = slices.select(*plan.keys, plan.slide.block(pl.col(START))).unique()
    return blocks.height * _TIMES <= slices.height


def _in_stretches(plan: WindowPlan, slices: pl.DataFrame) -> pl.DataFrame:
    """Returns the blocks that contain the slices, with the merged partials of these slices."""
    placed = slices.with_columns(plan.slide.block(pl.col(START)).alias(START))
    return _merged(plan, placed.with_columns(shifted(pl.col(START), plan.slide.block_lasts).alias(END)))


def _with(
    plan: WindowPlan, table: StoredTable, new_slices: pl.DataFrame, near: pl.DataFrame | None = None
) -> StoredTable:
    if near is not None:
        known = near.join(
            new_slices, on=plan.slice_shape.identity, how="semi", nulls_equal=True, maintain_order="left"
        )
    elif plan.slice_shape.by == plan.keys:
        # All slices of a key have one hash, so a look-up would compare each new line with every slice of its
        # key.
        known = table.of_keys(new_slices.select(plan.keys).unique(maintain_order=True), plan.keys)
        known = known.join(
            new_slices, on=plan.slice_shape.identity, how="semi", nulls_equal=True, maintain_order="left"
        )
    else:
        known = table.find(new_slices)
    return table.changed(new_slices if known.is_empty() else _merged(plan, pl.concat([known, new_slices])))


def _merged(plan: WindowPlan, lines: pl.DataFrame) -> pl.DataFrame:
    groups = lines.group_by(plan.slice_shape.identity, maintain_order=True)
    merged = groups.agg(plan.slice_aggregation.merging(lines))
    return merged.select(pl.col(name).cast(dtype) for name, dtype in plan.slice_shape.schema.items())


def _clipped(stretches: Stretches) -> Stretches:
    """Clips intervals of time to 64 bits, and drops empty ones."""
    return [(max(MIN_INSTANT, low), min(MAX_INSTANT, high)) for low, high in stretches if low <= high]


def _between(
    plan: WindowPlan, table: StoredTable, stretches: list[tuple[int | None, int | None]]
) -> pl.DataFrame:
    """Returns the lines of a table that begin in one of the intervals, which may be empty."""
    bounds = _clipped(
        [
            (MIN_INSTANT if low is None else low, MAX_INSTANT if high is None else high)
            for low, high in stretches
        ]
    )
    if not bounds:
        return table.shape.no_rows
    test = pl.any_horizontal(pl.col(START).is_between(low, high) for low, high in bounds)
    ends = plan.slide.lasts, plan.slide.block_lasts
    needed = [tuple(map(saturating_add, bound, ends)) for bound in bounds]
    return table.select(
        test, lambda run: any(run.high >= least and run.low <= most for least, most in needed)
    )
