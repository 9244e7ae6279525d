"""Rows of one step put into sequences: for each key what is kept of it, then its rows that pass, then what it has waiting (semantics 29).

All keys stand one after the other, so that a frame is a span of positions, and what is next to a row is next to it in memory.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.engine.columns import RANK, ROW_COUNT, ROW_NUMBER, STORED_TIME, TIME_COUNT
from panewise.engine.kernels.small_frames import gathered, joined, ordered, picked, spread, stacked
from panewise.engine.kernels.sorting import Places
from panewise.engine.over.plan import TIME, FramePlan

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
_CODE = "__code"
_ANY = "__any"  # a column that is there whatever functions read: frames without columns have no rows


@dataclass(frozen=True)
class Step:
    """What a step works on: rows that pass, rows that still wait (of the same keys, as far as frames look at them), and what was kept.

    With `finished` nothing comes after.
    """

    rows: pl.DataFrame
    after: pl.DataFrame
    kept: pl.DataFrame
    running: pl.DataFrame
    finished: bool


class Layout:
    """Sequences of rows, one for each key.

    Arrays by key: `start` of its sequence, where its rows `passed` end, how many of them are new, and `number`, that of its first row among
    all of the key. Arrays by position: `code`, the key; `source`, the row's place in `stack`, in which kept rows come first.
    """

    def __init__(self, plan: FramePlan, step: Step) -> None:
        self.plan, self.step = plan, step
        groups, order, counts = _grouped(plan, step)
        self.keys = groups
        known = ordered(_coded(groups, step.kept, plan.keys), [_CODE, ROW_NUMBER]) if step.kept.height else step.kept
        later = ordered(_coded(groups, step.after, plan.keys), [_CODE]) if step.after.height else step.after
        sizes = [_sizes(known, len(groups)), counts, _sizes(later, len(groups))]
        self.kept_count, self.new_count, self.later = sizes[0], counts, later.height
        total = sizes[0] + sizes[1] + sizes[2]
        self.start: Numbers = np.cumsum(total) - total
        self.first_new: Numbers = self.start + sizes[0]
        self.passed: Numbers = self.first_new + counts
        self.code: Numbers = np.repeat(np.arange(len(groups)), total)
        self.stack = _stack(plan, known, step.rows, later)
        self.kept_ends = np.append(
            known[TIME].to_numpy(), np.zeros(step.rows.height + later.height, dtype=np.int64)
        )  # by place in the stack
        self.source = self._source(order, sizes)

    def _source(self, order: Places, sizes: list[Numbers]) -> Numbers:
        """Which row of the stack stands at each position."""
        kept, new = int(sizes[0].sum()), len(order)
        source = np.empty(len(self.code), dtype=np.int64)
        source[spread(self.first_new, sizes[1])] = kept + order
        if kept:
            source[spread(self.start, sizes[0])] = np.arange(kept)
        if len(source) > kept + new:
            source[spread(self.passed, sizes[2])] = np.arange(kept + new, len(source))
        return source

    @cached_property
    def running(self) -> pl.DataFrame:
        """What is remembered of each key, in their order; nulls for a new one."""
        known = self.step.running.drop(TIME)
        return joined(self.keys, known, self.plan.keys, "left")

    @cached_property
    def count_before(self) -> Numbers:
        """How many rows of each key had passed before; without a memory of it, as many as the kept rows tell."""
        if self.plan.runs:
            return self.running[ROW_COUNT].fill_null(0).to_numpy()
        before = np.zeros(len(self.keys), dtype=np.int64)
        some = self.kept_count > 0
        if not some.any():
            return before
        before[some] = self.stack[ROW_NUMBER].to_numpy()[self.source[self.first_new[some] - 1]] + 1
        return before

    @cached_property
    def count(self) -> Numbers:
        """How many rows of each key have passed now."""
        return self.count_before + self.new_count

    @cached_property
    def number(self) -> Numbers:
        """The number of each position's row among all of its key, from 0."""
        return np.arange(len(self.code)) + np.repeat(self.count_before - self.kept_count - self.start, self.total)

    @property
    def total(self) -> Numbers:
        """The length of each sequence."""
        return np.diff(np.append(self.start, len(self.code)))

    @cached_property
    def times(self) -> Numbers:
        """The time of each position's row."""
        times: Numbers = self.column(STORED_TIME).to_numpy()
        return times

    def column(self, name: str) -> pl.Series:
        """A column by position."""
        return self.stack[name].gather(pl.Series(self.source.astype(np.uint32)))

    @cached_property
    def values(self) -> pl.DataFrame:
        """The columns that functions read, by position."""
        return picked(self.stack.select(list(self.plan.read) or [_ANY]), self.source)

    @cached_property
    def first_unsent(self) -> Numbers:
        """The first position of each key that was not sent before."""
        first: Numbers = self.first_new - np.minimum(self.plan.ahead, self.kept_count)
        return first

    @cached_property
    def sent_until(self) -> Numbers:
        """Where those that can be sent now end."""
        if self.step.finished:
            return self.passed
        until: Numbers = np.maximum(self.passed - self.plan.ahead, self.first_unsent)
        return until

    @cached_property
    def targets(self) -> Numbers:
        """The positions of the rows that are sent now."""
        return spread(self.first_unsent, self.sent_until - self.first_unsent)

    @cached_property
    def peers_begin(self) -> Numbers:
        """The first position of the rows that are equal in the order, for each position."""
        firsts = np.flatnonzero(self._begins)
        begin: Numbers = firsts[np.cumsum(self._begins) - 1]
        return begin

    @cached_property
    def peers_end(self) -> Numbers:
        """Where they end."""
        firsts = np.append(np.flatnonzero(self._begins), len(self.code))
        end: Numbers = firsts[np.cumsum(self._begins)]
        return end

    @cached_property
    def _begins(self) -> Flags:
        """Whether a position's row differs in the order, or in its key, from the one before it."""
        begins = np.zeros(len(self.code), dtype=np.bool_)
        begins[self.start[self.total > 0]] = True
        begins[1:] |= self.times[1:] != self.times[:-1]
        for name in self.plan.spec.order:
            values = self.column(name)
            begins |= values.ne_missing(values.shift(1)).to_numpy()
        return begins

    @cached_property
    def ranks(self) -> tuple[Numbers, Numbers]:
        """For each position, how many rows, and how many different times, of its key come before its time.

        Rows of equal time pass together; so this is worked out when they pass, and kept with rows that wait for others.
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
        kept = [self.column(name).fill_null(0).to_numpy() for name in (RANK, "__dense")]
        return np.where(new, rank, kept[0]), np.where(new, dense, kept[1])


def _grouped(plan: FramePlan, step: Step) -> tuple[pl.DataFrame, Places, Numbers]:
    """The keys; the places of the rows, key by key; and how many each has."""
    keys, order, counts = gathered(step.rows, plan.keys)
    if step.finished and step.kept.height:  # rows of other keys may wait for the end
        others = step.kept.select(plan.keys).unique(maintain_order=True).join(keys, on=plan.keys, how="anti", nulls_equal=True)
        keys = pl.concat([keys, others.select(pl.col(name).cast(dtype) for name, dtype in keys.schema.items())])
        counts = np.append(counts, np.zeros(others.height, dtype=np.int64))
    return keys, order, counts


def _coded(groups: pl.DataFrame, rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Rows with the place of their key among the groups."""
    return joined(rows, groups.with_row_index(_CODE), keys)


def _sizes(coded: pl.DataFrame, groups: int) -> Numbers:
    if _CODE not in coded.columns:
        return np.zeros(groups, dtype=np.int64)
    return np.bincount(coded[_CODE].to_numpy(), minlength=groups).astype(np.int64)


def _stack(plan: FramePlan, kept: pl.DataFrame, rows: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """The columns that are needed of all rows, kept ones first."""
    told = plan.payload if plan.ahead else {name: plan.schema[name] for name in (*plan.read, *plan.spec.order)}
    timed = [pl.col(TIME).alias(STORED_TIME)] if plan.spec.event_time is not None else []
    some = pl.lit(0, dtype=pl.Int8).alias(_ANY)
    came = [frame.with_columns(some).select(*told, *timed, _ANY) for frame in (rows, after)]
    if not kept.height:
        return stacked(came)
    return pl.concat([kept.drop(TIME), *came], how="diagonal")
