"""The rows of one step as sequences, one for each key (semantics 29).

The sequence of a key contains the stored rows that have passed, then the rows that pass in this step, then
the rows that still wait. The sequences of all keys follow each other in one array of positions. Invariant:
within a key, positions are in the order of semantics 29.1. So each frame is a range of positions, and the row
before or after a row is at the position before or after it.

The columns are not copied into this order: `source` maps a position to a row of `stack`, which contains the
stored rows, the rows that pass and the rows that wait, each as they come. They cost one grouping of the
rows that pass, one sort of the stored rows of their keys, and one sort of the waiting rows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.engine.columns import (
    DENSE_RANK,
    END,
    RANK,
    ROW_COUNT,
    ROW_NUMBER,
    STORED_TIME,
    TIME_COUNT,
    UNEMITTED,
)
from panewise.engine.kernels.small_frames import (
    constant_column,
    expand_ranges,
    group_places,
    join_frames,
    ordered,
    take_rows,
    vstack_frames,
)
from panewise.engine.kernels.sorting import Places
from panewise.engine.over.plan import OverPlan
from panewise.spec import RowFunction

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
_CODE = "__code"
_ANY = "__any"  # a column that is always selected, as a frame without columns would have no rows


@dataclass(frozen=True)
class CountedRows:
    """Some of the positions.

    Attributes:
        positions: these positions, in order.
        before: by position, and one more at the end, how many of these positions are before it.
    """

    positions: Numbers
    before: Numbers

    @classmethod
    def where(cls, counted: Flags) -> "CountedRows":
        """Returns the positions at which a flag is true."""
        return cls(np.flatnonzero(counted), np.append(0, np.cumsum(counted)))


@dataclass(frozen=True)
class PassingRows:
    """The input of a step.

    Attributes:
        rows: the rows that pass, in order.
        after: the rows that still wait, as far as ranges of the rows that pass reach ahead to them.
        stored: the stored rows that have passed in earlier steps.
        running: the rows of the table `running` for the keys.
        finished: whether this is the end of input, so that no row follows.
    """

    rows: pl.DataFrame
    after: pl.DataFrame
    stored: pl.DataFrame
    running: pl.DataFrame
    finished: bool


class Sequences:
    """Sequences of rows, one for each key.

    Attributes:
        keys: the keys, in the order of their sequences.
        start: by key, the position at which its sequence begins.
        first_new: by key, the position of the first row that passes in this step.
        passed: by key, the position after the last row that passes in this step.
        stored_count: by key, the number of stored rows.
        new_count: by key, the number of rows that pass in this step.
        later: the number of rows in `stack` that still wait.
        code: by position, the place of the key in `keys`.
        source: by position, the place of the row in `stack`.
        stack: the needed columns of all rows: stored rows, then rows that pass, then rows that wait.
        stored_ends: by place in `stack`, the time with which the table stores the row, 0 if it does not.
    """

    def __init__(self, plan: OverPlan, step: PassingRows) -> None:
        self.plan, self.step = plan, step
        groups, order, counts = _grouped(plan, step)
        self.keys = groups
        known = step.stored
        if known.height:
            known = ordered(_coded(groups, known, plan.keys), [_CODE, ROW_NUMBER])
        later = ordered(_coded(groups, step.after, plan.keys), [_CODE]) if step.after.height else step.after
        sizes = [_sizes(known, len(groups)), counts, _sizes(later, len(groups))]
        self.stored_count, self.new_count, self.later = sizes[0], counts, later.height
        total = sizes[0] + sizes[1] + sizes[2]
        self.start: Numbers = np.cumsum(total) - total
        self.first_new: Numbers = self.start + sizes[0]
        self.passed: Numbers = self.first_new + counts
        self.code: Numbers = np.repeat(np.arange(len(groups)), total)
        self.stack = _stack(plan, known, step.rows, later)
        self.stored_ends = np.append(
            known[END].to_numpy(), np.zeros(step.rows.height + later.height, dtype=np.int64)
        )
        self.source = self._source(order, sizes)

    def _source(self, order: Places, sizes: list[Numbers]) -> Numbers:
        """Returns, for each position, the place of its row in the stack."""
        stored, new = int(sizes[0].sum()), len(order)
        source = np.empty(len(self.code), dtype=np.int64)
        source[expand_ranges(self.first_new, sizes[1])] = stored + order
        if stored:
            source[expand_ranges(self.start, sizes[0])] = np.arange(stored)
        if len(source) > stored + new:
            source[expand_ranges(self.passed, sizes[2])] = np.arange(stored + new, len(source))
        return source

    @cached_property
    def running(self) -> pl.DataFrame:
        """The row of each key in the table `running`, in the order of the keys; nulls if it has none."""
        known = self.step.running.drop(END)
        return join_frames(self.keys, known, self.plan.keys, "left")

    @cached_property
    def count_before(self) -> Numbers:
        """By key, the number of rows that passed before this step.

        Without a table `running` the count begins anew when a key has no stored row: it is the number of the
        last stored row plus 1, or 0.
        """
        if self.plan.has_running:
            return self.running[ROW_COUNT].fill_null(0).to_numpy()
        before = np.zeros(len(self.keys), dtype=np.int64)
        some = self.stored_count > 0
        if not some.any():
            return before
        before[some] = self.stack[ROW_NUMBER].to_numpy()[self.source[self.first_new[some] - 1]] + 1
        return before

    @cached_property
    def count(self) -> Numbers:
        """By key, the number of rows that have passed, including those of this step."""
        return self.count_before + self.new_count

    @cached_property
    def number(self) -> Numbers:
        """By position, the number of the row among all rows of its key, from 0."""
        return np.arange(len(self.code)) + np.repeat(
            self.count_before - self.stored_count - self.start, self.total
        )

    @property
    def total(self) -> Numbers:
        """The length of each sequence."""
        return np.diff(np.append(self.start, len(self.code)))

    @cached_property
    def times(self) -> Numbers:
        """By position, the time of the row."""
        return self.column(STORED_TIME).to_numpy()

    def column(self, name: str) -> pl.Series:
        """Returns a column of the stack by position."""
        return self.stack[name].gather(pl.Series(self.source.astype(np.uint32)))

    @cached_property
    def values(self) -> pl.DataFrame:
        """The columns that functions read, by position."""
        return take_rows(self.stack.select(list(self.plan.read) or [_ANY]), self.source)

    @cached_property
    def first_unemitted(self) -> Numbers:
        """By key, the position of its first row that earlier steps have not emitted."""
        if self.plan.waiting_for_values:
            unemitted: Numbers = self.running[UNEMITTED].fill_null(0).to_numpy()
        else:
            unemitted = np.minimum(self.plan.ahead, self.stored_count)
        return self.first_new - unemitted

    @cached_property
    def emitted_until(self) -> Numbers:
        """By key, the position after the last row that this step emits."""
        if self.step.finished:
            return self.passed
        until: Numbers = self.passed - self.plan.ahead
        for what in self.plan.waiting_for_values:
            until = np.minimum(until, self._values_until(what))
        return np.maximum(until, self.first_unemitted)

    def _values_until(self, what: RowFunction) -> Numbers:
        """Returns, by key, the position of the n-th last value. Rows before it have n values after them."""
        values = self.counted_positions(what)
        nth_last = values.before[self.passed] - min(what.n or 0, len(self.code) + 1)
        some = nth_last >= values.before[self.start]
        until: Numbers = np.where(some, 0, self.start)
        until[some] = values.positions[nth_last[some]]
        return until

    def counted_positions(self, what: RowFunction, rows: Flags | None = None) -> CountedRows:
        """Returns the positions that a function counts, out of these rows: without ignored nulls."""
        counted = np.ones(len(self.code), dtype=np.bool_) if rows is None else rows
        if what.ignorenulls:
            counted = counted & self.values[what.columns[0]].is_not_null().to_numpy()
        return CountedRows.where(counted)

    @cached_property
    def covered_before(self) -> Numbers:
        """By key, how many rows the stored partials and lists cover.

        These are rows that the frames of all rows not yet emitted contain.
        """
        return self._covered(self.count_before, self.first_new, self.first_unemitted)

    @cached_property
    def covered(self) -> Numbers:
        """By key, how many rows the partials and lists cover that this step stores."""
        return self._covered(self.count, self.passed, self.emitted_until)

    def _covered(self, count: Numbers, end: Numbers, unemitted: Numbers) -> Numbers:
        """Returns, by key, the number of rows to cover, if `count` rows have passed.

        The last of these is before the position `end`, and the first that is not emitted at `unemitted`.
        """
        covered: Numbers = np.maximum(0, count - (end - unemitted) + self.plan.covers_to)
        waits = unemitted < end
        if self.plan.lacks_peers and waits.any():
            first = self.peers_begin[np.where(waits, unemitted, 0)]
            covered = np.where(waits, np.minimum(covered, count - (end - first)), covered)
        return covered

    @cached_property
    def targets(self) -> Numbers:
        """The positions of the rows that this step emits."""
        return expand_ranges(self.first_unemitted, self.emitted_until - self.first_unemitted)

    @cached_property
    def peers_begin(self) -> Numbers:
        """By position, the position of the first peer of the row."""
        firsts = np.flatnonzero(self._begins)
        begin: Numbers = firsts[np.cumsum(self._begins) - 1]
        return begin

    @cached_property
    def peers_end(self) -> Numbers:
        """By position, the position after the last peer of the row."""
        firsts = np.append(np.flatnonzero(self._begins), len(self.code))
        return firsts[np.cumsum(self._begins)]

    @cached_property
    def _begins(self) -> Flags:
        """By position, whether the row is the first of its peers."""
        begins = np.zeros(len(self.code), dtype=np.bool_)
        begins[self.start[self.total > 0]] = True
        begins[1:] |= self.times[1:] != self.times[:-1]
        for name in self.plan.spec.order:
            values = self.column(name)
            begins |= values.ne_missing(values.shift(1)).to_numpy()
        return begins

    @cached_property
    def ranks(self) -> tuple[Numbers, Numbers]:
        """By position, the number of rows, and of groups of peers, of the key before the peers of the row.

        Peers pass in the same step, so both numbers are final when a row passes. A row that is emitted later
        stores them.
        """
        new = np.arange(len(self.code)) >= np.repeat(self.first_new, self.total)
        rank = self.number - (np.arange(len(self.code)) - self.peers_begin)
        peers = self.running[TIME_COUNT].fill_null(0).to_numpy()
        counted = np.cumsum(self._begins)
        inside = self.new_count > 0
        before = np.zeros(len(self.keys), dtype=np.int64)
        before[inside] = counted[self.first_new[inside]]
        dense = counted - np.repeat(before - peers, self.total)
        if RANK not in self.stack.columns:
            return rank, dense
        stored = [self.column(name).fill_null(0).to_numpy() for name in (RANK, DENSE_RANK)]
        return np.where(new, rank, stored[0]), np.where(new, dense, stored[1])


def _grouped(plan: OverPlan, step: PassingRows) -> tuple[pl.DataFrame, Places, Numbers]:
    """Returns the keys, the places of the rows that pass, key by key, and their number for each key."""
    keys, order, counts = group_places(step.rows, plan.keys)
    # At the end of input all rows are emitted, also those of keys without a row that passes now.
    if step.finished and step.stored.height:
        stored = step.stored.select(plan.keys).unique(maintain_order=True)
        others = stored.join(keys, on=plan.keys, how="anti", nulls_equal=True)
        keys = pl.concat(
            [keys, others.select(pl.col(name).cast(dtype) for name, dtype in keys.schema.items())]
        )
        counts = np.append(counts, np.zeros(others.height, dtype=np.int64))
    return keys, order, counts


def _coded(groups: pl.DataFrame, rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the rows whose keys are among the groups, each with the place of its key in ``__code``."""
    return join_frames(rows, groups.with_row_index(_CODE), keys)


def _sizes(coded: pl.DataFrame, groups: int) -> Numbers:
    if _CODE not in coded.columns:
        return np.zeros(groups, dtype=np.int64)
    return np.bincount(coded[_CODE].to_numpy(), minlength=groups).astype(np.int64)


def _stack(plan: OverPlan, stored: pl.DataFrame, rows: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Returns the needed columns of all rows: stored rows, then rows that pass, then rows that wait."""
    columns = (
        plan.payload if plan.ahead else {name: plan.schema[name] for name in (*plan.read, *plan.spec.order)}
    )
    names, timed = list(columns), plan.spec.event_time is not None

    def needed(frame: pl.DataFrame) -> pl.DataFrame:
        own = [frame[END].alias(STORED_TIME)] if timed else []
        some = constant_column(_ANY, 0, pl.Int8(), frame.height)
        return pl.DataFrame([*(frame.get_column(name) for name in names), *own, some])

    arrived = [needed(rows), needed(after)]
    if not stored.height:
        return vstack_frames(arrived)
    return pl.concat([stored.drop(END), *arrived], how="diagonal")
