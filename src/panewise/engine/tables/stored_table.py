"""The windows that an operator stores: an immutable value, made of the newest rows and of runs.

A change adds rows to the newest rows. Sealing writes these as a run, and merges runs of similar length
(:mod:`panewise.engine.tables.compaction`). A look-up searches the newest rows, and then the runs, the
youngest first, and stops when each window is found. In a run it bisects by hash.

Invariant: of several rows of a window the newest is valid, and windows that end at the horizon or before it
have expired. A look-up of m windows costs m bisections for each run, and the number of runs grows with the
logarithm of the number of stored windows. A change costs as much as the windows that it changes, and the
newest rows.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar, Self, TypeAlias, TypeVar

import numpy as np
import polars as pl

from panewise.engine.columns import END, HASH, PENDING_DEADLINE_SUFFIX, START, TOMBSTONE
from panewise.engine.kernels.instants import lowest
from panewise.engine.kernels.small_frames import (
    constant_column,
    distinct,
    few_pairs,
    filter_rows,
    join_frames,
    semi_join,
    take_rows,
    vstack_frames,
    without,
)
from panewise.engine.tables import compaction
from panewise.engine.tables.compaction import Merge, allowance, next_merge
from panewise.engine.tables.run import (
    FoundRows,
    Library,
    MemoryLibrary,
    RunRows,
    Shape,
    Wanted,
    earliest_event_deadline,
    merge_rows,
    parted,
)
from panewise.state import Run

Stretches: TypeAlias = list[tuple[int, int]]  # ranges of time, closed at both ends; may be empty
_AT = "__at"  # the place of a window among those that are looked up
_PASSES = "__passes"


@dataclass(frozen=True)
class StoredTable:
    """The window table.

    Attributes:
        shape: the columns of the table.
        library: reads and writes the rows of the runs.
        newest: the rows that are in no run yet; with ``__dead``, which marks tombstones.
        runs: the runs in order of age, the oldest first.
        horizon: windows that end at it or before it have expired, even if runs still contain rows of them.
        optional: whether the states of earlier releases lack the table, which is then empty. The optional
            tables of an operator are its last ones.
    """

    LONG: ClassVar[int] = (
        1 << 16
    )  # with more newest rows than this, an operator in memory seals them in a run

    shape: Shape
    library: Library
    newest: pl.DataFrame
    runs: tuple[Run, ...] = ()
    horizon: int | None = None
    optional: bool = False

    @classmethod
    def nothing(cls, shape: Shape) -> Self:
        """Returns a table without windows, in memory."""
        return cls(shape, MemoryLibrary(), pl.DataFrame(schema={**shape.schema, TOMBSTONE: pl.Boolean()}))

    def find(self, wanted: pl.DataFrame) -> pl.DataFrame:
        """Returns the wanted windows that are stored.

        `wanted` has each window once, by the columns of the identity.
        """
        return self.look_up(wanted).rows

    def look_up(self, wanted: pl.DataFrame) -> FoundRows:
        """Returns the wanted windows that are stored, each with its place in `wanted`."""
        results = [self._found_in_newest(wanted)]
        if self._live_runs():
            left = Wanted.from_rows(wanted.select_seq(self.shape.identity), self.shape.by)
            results += self._found_in_runs(left.without(results[0].which) if len(results[0].which) else left)
        return self._all_alive(results)

    def of_keys(self, rows: pl.DataFrame, keys: list[str], starts: Stretches | None = None) -> pl.DataFrame:
        """Returns the stored windows of the keys of the rows. The table must be hashed by the keys alone.

        With `starts` these are only the windows that start in one of the given ranges.
        """
        different = distinct(rows, keys)
        newest = semi_join(self.newest, different, keys)
        frames = [newest if starts is None else newest.filter(_within(newest[START], starts))]
        if self._live_runs():
            wanted = Wanted.from_rows(different, self.shape.by)
            frames += [self._in_run(run, wanted, starts).rows for run in reversed(self._live_runs())]
        return self._alive_rows(reduce(self._with_older, frames))

    def of_wanted(self, wanted: Wanted) -> FoundRows:
        """Returns all stored rows of the wanted keys, the newest first, each with the place of its key.

        The result includes rows that a newer row of their window hides. `wanted` has the columns from which
        the hashes are made.
        """
        keys = self.shape.by
        requested = wanted.rows.select(keys).with_row_index(_AT)
        newest = self.newest if self.newest.is_empty() else join_frames(self.newest, requested, keys)
        which = newest[_AT].to_numpy().astype(np.intp) if newest.height else np.empty(0, dtype=np.intp)
        results = [FoundRows(newest.drop(_AT, strict=False), which)]
        results += [self._in_run(run, wanted) for run in reversed(self._live_runs())]
        return self._all_alive(results)

    def _with_older(self, newer: pl.DataFrame, older: pl.DataFrame) -> pl.DataFrame:
        if newer.is_empty() or older.is_empty():
            return older if newer.is_empty() else newer
        return pl.concat([newer, without(older, newer, self.shape.identity)])

    def select(self, test: pl.Expr, may: Callable[[Run], bool]) -> pl.DataFrame:
        """Returns the stored windows that pass a test. Only runs for which `may` returns true are read."""
        if self.horizon is not None:  # runs may still contain expired windows
            test = test & (pl.col(END) > self.horizon)
        frames = [_passing(self.newest, test)]
        runs = self._live_runs()
        for place, run in enumerate(runs):
            if may(run):
                rows = _passing(self.library.read(run, self.shape).frame, test)
                if rows.height:
                    frames.append(self._not_hidden(rows, runs[place + 1 :]))
        return self._alive_rows(vstack_frames(frames))

    def may_end_in(self, ends: Sequence[tuple[int | None, int]]) -> bool:
        """Returns whether a window can end in one of these ranges (low < end <= high; None: no bound)."""
        low, high = self.newest[END].min(), self.newest[END].max()
        if isinstance(low, int) and isinstance(high, int) and any_overlaps(low, high, ends):
            return True
        return any(any_overlaps(run.low, run.high, ends) for run in self._live_runs())

    def all(self) -> pl.DataFrame:
        """Returns all stored windows."""
        return self.select(pl.lit(True), lambda run: True)

    def next_end(self, after: int | None) -> int | None:
        """Returns a lower bound of the first window end after an instant, None if there is no such end."""
        ends = [_next_end(self.newest, after)]
        for run in self._live_runs():
            if after is None or run.low > after:
                ends.append(run.low)
            elif run.high > after:
                ends.append(_next_end(self.library.read(run, self.shape).frame, after))
        return lowest(ends)

    def next_event_deadline(self, after: int | None) -> int | None:
        """Returns a lower bound of the first watermark after an instant that a trigger waits for.

        None if no trigger waits for one.
        """
        deadline = earliest_event_deadline(self.shape.schema, after)
        if deadline is None:
            return None
        later = deadline.min().alias(PENDING_DEADLINE_SUFFIX)
        deadlines = [self.newest.select(later).item()]
        for run in self._live_runs():
            if run.mark is None or after is None or run.mark > after:
                deadlines.append(run.mark)
            else:
                deadlines.append(self.library.read(run, self.shape).frame.select(later).item())
        return lowest(deadlines)

    def changed(self, put: pl.DataFrame, deleted: pl.DataFrame | None = None) -> Self:
        """Returns the table with the windows `put` added or replaced, and without the windows `deleted`.

        A window in both is put.
        """
        deleted = self.shape.no_rows if deleted is None else deleted
        if put.is_empty() and deleted.is_empty():
            return self
        rows = put.hstack([constant_column(TOMBSTONE, False, pl.Boolean(), put.height)])
        # Without runs nothing older can reappear, so a deleted window needs no tombstone.
        if self.runs and not deleted.is_empty():
            rows = vstack_frames([rows, self._dead(put, deleted)])
        if self.newest.is_empty():
            return replace(self, newest=rows)
        identity = self.shape.identity
        touched = vstack_frames([put[identity], deleted[identity]])
        return replace(self, newest=vstack_frames([without(self.newest, touched, identity), rows]))

    def with_stored(self, rows: pl.DataFrame) -> Self:
        """Returns the table with rows that another state stored, tombstones included.

        They are newer than the rows of the table, and the later ones newer than the earlier ones.
        """
        both = vstack_frames([self.newest, rows.select(self.newest.columns)])
        return replace(self, newest=both.unique(self.shape.identity, keep="last", maintain_order=True))

    def _dead(self, put: pl.DataFrame, deleted: pl.DataFrame) -> pl.DataFrame:
        """Returns tombstones for deleted windows that runs may contain. Expired windows need none."""
        left = without(self._unexpired(deleted), put, self.shape.identity)
        return left.with_columns_seq(pl.lit(True).alias(TOMBSTONE))

    def expired(self, horizon: int | None) -> Self:
        """Returns the table without the windows that end at the horizon or before it."""
        return self if horizon == self.horizon else replace(self, horizon=horizon)

    def sealed(self) -> Self:
        """Returns the table with the newest rows in a run, after the merges that are due.

        The stored windows are the same as before.
        """
        runs = self._live_runs()
        newest = self._unexpired(self.newest)
        # Not newest.clear(): a cleared column of one row keeps its value, which may be long.
        table = replace(self, newest=pl.DataFrame(schema=newest.schema), runs=runs)
        if not runs and newest[TOMBSTONE].any():
            newest = filter_rows(newest, ~newest[TOMBSTONE])
        if newest.is_empty():
            return table
        added = table.write_run(RunRows.sorted_by_hash(newest, self.shape))
        before = [run for run in runs if not self._hides(added, run)]
        return replace(table, runs=(*before, added)).compacted(newest.height)

    def compacted(self, written: int) -> Self:
        """Returns the table after the merges that are due in a step that wrote so many rows.

        The first merge is always made, so runs cannot accumulate. Further ones are left to later steps
        if there are many rows.
        """
        table, spent = self, 0
        while len(table.runs) >= compaction.FAN_IN and (merge := next_merge(table.runs)) is not None:
            if spent and spent + merge.rows > allowance(written):
                break
            table, spent = table._merged(merge), spent + merge.rows
        self.library.keep(table.runs)
        return table

    def _hides(self, newest: Run, run: Run) -> bool:
        """Returns whether a run can be deleted because the newest run hides all its rows.

        Only tables with nested columns are checked, because their rows may be long.
        """
        nested = any(dtype.is_nested() for dtype in self.shape.schema.values())
        if not nested or run.rows > newest.rows or run.low < newest.low or run.high > newest.high:
            return False
        rows = self.library.read(run, self.shape).frame
        # The run is hidden if a look-up of all its rows in the newest run finds each of them.
        wanted = Wanted(rows[self.shape.identity], np.arange(rows.height), rows[HASH].to_numpy())
        _, which = wanted.places_in(newest, self.library.read(newest, self.shape))
        return len(np.unique(which)) == run.rows  # the newest run may contain a tombstone twice

    def _live_runs(self) -> tuple[Run, ...]:
        """Returns the runs that may contain windows that have not expired."""
        return (
            self.runs if self.horizon is None else tuple(run for run in self.runs if run.high > self.horizon)
        )

    def _unexpired(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self.horizon is None or not _some_until(rows, self.horizon):
            return rows
        return filter_rows(rows, rows[END] > self.horizon)

    def _alive(self, rows_found: FoundRows) -> FoundRows:
        """Returns the rows that are neither tombstones nor expired, with the columns of the table."""
        rows, which = rows_found.rows, rows_found.which
        alive = ~rows[TOMBSTONE]
        if self.horizon is not None and _some_until(rows, self.horizon):
            alive &= rows[END] > self.horizon
        if not alive.all():
            rows, which = filter_rows(rows, alive), which[alive.to_numpy()]
        return FoundRows(rows[list(self.shape.schema)], which)

    def _all_alive(self, results: Iterable[FoundRows]) -> FoundRows:
        alive = [self._alive(rows) for rows in results]
        frames, places = [rows.rows for rows in alive], [rows.which for rows in alive]
        return FoundRows(vstack_frames(frames), np.concatenate(places))

    def _alive_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        return self._alive(FoundRows(rows, np.arange(rows.height))).rows

    def _found_in_newest(self, wanted: pl.DataFrame) -> FoundRows:
        if self.newest.is_empty():
            return FoundRows(self.newest, np.empty(0, dtype=np.intp))
        identity = self.shape.identity
        at_and_which = few_pairs(self.newest, wanted, identity)
        if at_and_which is not None:
            return FoundRows(take_rows(self.newest, at_and_which[0]), at_and_which[1])
        requested = wanted.select(identity).with_row_index(_AT)
        pairs = join_frames(self.newest, requested, identity)
        return FoundRows(pairs.drop(_AT), pairs[_AT].to_numpy().astype(np.intp))

    def _found_in_runs(self, wanted: Wanted) -> Iterable[FoundRows]:
        """Yields the newest rows of the wanted windows, including tombstones."""
        for run in reversed(self._live_runs()):
            if not len(wanted.hashes):
                return
            rows_found = self._in_run(run, wanted)
            if len(rows_found.which):
                wanted = wanted.without(rows_found.which)
                yield rows_found

    def _in_run(self, run: Run, wanted: Wanted, starts: Stretches | None = None) -> FoundRows:
        """Returns the rows of a run that match a wanted row.

        If `starts` is given, the rows also start in one of these ranges.
        """
        indexed = self.library.read(run, self.shape)
        at, which = wanted.places_in(run, indexed)
        if starts is not None:
            inside = _within(indexed.frame[START].gather(at), starts).to_numpy()
            at, which = at[inside], which[inside]
        return FoundRows(take_rows(indexed.bare, at) if len(at) else self.newest.clear(), which)

    def _not_hidden(self, rows: pl.DataFrame, newer: tuple[Run, ...]) -> pl.DataFrame:
        """Returns the rows of a run that no newer row hides. `newer` are the newer runs."""
        identity = self.shape.identity
        rows = without(rows, self.newest, identity)
        remaining = Wanted(rows[identity], np.arange(rows.height), rows[HASH].to_numpy())
        for run in newer:
            _, which = remaining.places_in(run, self.library.read(run, self.shape))
            remaining = remaining.without(which) if len(which) else remaining
        return take_rows(rows.drop(HASH), remaining.places)

    def write_run(self, rows: RunRows, part: int | None = None) -> Run:
        """Stores rows in a new run, and returns it. `part` is the part of the hashes that they have."""
        run = rows.described(self.library.new_name(), part)
        self.library.add(run, rows)
        return run

    def _merged(self, merge: Merge) -> Self:
        frames = [self.library.read(run, self.shape).frame for run in reversed(merge.runs)]
        return self._with_merged(merge, merge_rows(frames, self.shape, self.horizon, bottom=merge.bottom))

    def _with_merged(self, merge: Merge, rows: pl.DataFrame) -> Self:
        """Returns the table with the rows of a merge in place of its runs.

        The new runs take the place of the youngest merged run. Invariant: the runs of parts come before all
        undivided runs, which are younger.
        """
        pieces = list(enumerate(parted(rows))) if merge.cut else [(merge.runs[0].part, rows)]
        new_runs = [self.write_run(RunRows(piece), part) for part, piece in pieces if not piece.is_empty()]
        at = self.runs.index(merge.runs[-1])
        before = [run for run in self.runs[:at] if run not in merge.runs]
        return replace(self, runs=(*before, *new_runs, *self.runs[at + 1 :]))


def any_overlaps(low: int, high: int, ends: Iterable[tuple[int | None, int]]) -> bool:
    """Returns whether ends from `low` to `high` can be in one of these ranges."""
    return any(low <= until and (after is None or high > after) for after, until in ends)


def _within(times: pl.Series, stretches: Stretches) -> pl.Series:
    inside = [pl.col("at").is_between(low, high) for low, high in stretches]
    return times.to_frame("at").select(pl.any_horizontal(*inside, pl.lit(False)).alias("at")).to_series()


def _passing(rows: pl.DataFrame, test: pl.Expr) -> pl.DataFrame:
    """Returns the rows that pass a test. The usual case, in which no row passes, costs one column."""
    if rows.is_empty():
        return rows
    passes = rows.with_columns_seq(test.alias(_PASSES))[_PASSES]
    return filter_rows(rows, passes) if passes.any() else rows.clear()


def _some_until(rows: pl.DataFrame, instant: int) -> bool:
    first = rows[END].min()
    return isinstance(first, int) and first <= instant


def _next_end(rows: pl.DataFrame, after: int | None) -> int | None:
    ends = rows[END]
    first = (ends if after is None else ends.filter(ends > after)).min()
    return first if isinstance(first, int) else None


Table = TypeVar("Table", bound=StoredTable)


def sealed_if_long(table: Table) -> Table:
    """Returns the table, with its changed rows sealed in a run if there are many.

    A table in memory would otherwise copy them in every step.
    """
    return table.sealed() if table.newest.height > table.LONG else table


@dataclass(frozen=True)
class AddedRows(StoredTable):
    """A table of rows that are only added, and expire. They are in the order of their arrival in `newest`."""

    def put(self, rows: pl.DataFrame) -> Self:
        """Returns the table with more rows."""
        marked = rows[list(self.shape.schema)].hstack(
            [constant_column(TOMBSTONE, False, pl.Boolean(), rows.height)]
        )
        return replace(self, newest=vstack_frames([self.newest, marked]))

    def with_stored(self, rows: pl.DataFrame) -> Self:
        """Returns the table with rows that another state stored, after its own."""
        return replace(self, newest=vstack_frames([self.newest, rows.select(self.newest.columns)]))

    def _merging(self, rows: pl.DataFrame, *, bottom: bool) -> pl.DataFrame:
        """Returns the rows that a new run stores, out of its unexpired rows: here all of them.

        `bottom` says that no older run has rows with these hashes.
        """
        return rows
