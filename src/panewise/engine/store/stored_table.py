"""The windows that an operator holds: a value, made of the newest rows and of runs.

Looking up windows, and changing them, costs in proportion to how many they are, not to how many are held.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import END, HASH, MARK_SUFFIX, PENDING, START, TOMBSTONE
from panewise.engine.kernels.small_frames import distinct, joined, kept, picked, stacked, without
from panewise.engine.store.compaction import Merge, allowance, next_merge
from panewise.engine.store.lookup import Found, Wanted
from panewise.engine.store.run import Indexed, Library, Shape, merged, parted
from panewise.engine.store.statistics import earliest
from panewise.state import Run

Stretches: TypeAlias = list[tuple[int, int]]  # of time, closed; there may be none
_AT = "__at"  # the place of a window among those asked for
_PASSES = "__passes"


@dataclass(frozen=True)
class StoredTable:
    """The window table.

    `newest` are rows with ``__dead`` that are in no run yet; `runs` are in order of age, the oldest first; windows
    that end at `horizon` or earlier are gone, wherever there are rows of them.
    """

    shape: Shape
    library: Library
    newest: pl.DataFrame
    runs: tuple[Run, ...] = ()
    horizon: int | None = None

    @classmethod
    def nothing(cls, shape: Shape, library: Library) -> "StoredTable":
        """No windows."""
        return cls(shape, library, pl.DataFrame(schema={**shape.schema, TOMBSTONE: pl.Boolean()}))

    def find(self, wanted: pl.DataFrame) -> pl.DataFrame:
        """The windows held among these, which are told by the columns of the identity, each once."""
        return self.look_up(wanted).rows

    def look_up(self, wanted: pl.DataFrame) -> Found:
        """The same, and which of the wanted each is."""
        found = [self._found_in_newest(wanted)]
        if self._living():
            left = Wanted.of(wanted.select_seq(self.shape.identity), self.shape.by)
            found += self._found_in_runs(left.without(found[0].which) if len(found[0].which) else left)
        held = [self._alive(one) for one in found]
        return Found(stacked([one.rows for one in held]), np.concatenate([one.which for one in held]))

    def of_keys(self, rows: pl.DataFrame, keys: list[str], starts: Stretches | None = None) -> pl.DataFrame:
        """All windows held of the rows' keys, or those that start at some times. Only where the hash is made of the keys alone."""
        different = distinct(rows, keys)
        mine = self.newest.join(different, on=keys, how="semi", nulls_equal=True, maintain_order="left")
        found = [mine if starts is None else mine.filter(_within(mine[START], starts))]
        if self._living():
            wanted = Wanted.of(different, self.shape.by)
            found += [self._in_run(run, wanted, starts).rows for run in reversed(self._living())]
        return self._shown(reduce(self._with_older, found))

    def _with_older(self, newer: pl.DataFrame, older: pl.DataFrame) -> pl.DataFrame:
        """Rows, and those of older ones that they do not hide."""
        if newer.is_empty() or older.is_empty():
            return older if newer.is_empty() else newer
        return pl.concat([newer, without(older, newer, self.shape.identity)])

    def concerned(self, test: pl.Expr, may: Callable[[Run], bool]) -> pl.DataFrame:
        """The windows held that pass a test; `may` tells which runs can have any."""
        if self.horizon is not None:  # runs still have rows that expired long ago
            test = test & (pl.col(END) > self.horizon)
        found = [_passing(self.newest, test)]
        living = self._living()
        for place, run in enumerate(living):
            if may(run):
                rows = _passing(self.library.read(run, self.shape).frame, test)
                if rows.height:
                    found.append(self._not_hidden(rows, living[place + 1 :]))
        return self._shown(stacked(found))

    def all(self) -> pl.DataFrame:
        """Every window held."""
        return self.concerned(pl.lit(True), lambda run: True)

    def next_end(self, after: int | None) -> int | None:
        """A time at or before the first window end after that instant; None if there is none."""
        ends = [_next_end(self.newest, after)]
        for run in self._living():
            if after is None or run.low > after:
                ends.append(run.low)
            elif run.high > after:
                ends.append(_next_end(self.library.read(run, self.shape).frame, after))
        return min((end for end in ends if end is not None), default=None)

    def next_mark(self, after: int | None) -> int | None:
        """A time at or before the first watermark above that instant that a window's trigger waits for; None if there is none."""
        mark = earliest(self.shape.schema, MARK_SUFFIX)
        if mark is None:
            return None
        waits = (pl.col(PENDING) > 0) & (mark > (MIN_INSTANT if after is None else after))
        later = mark.filter(waits).min().alias(MARK_SUFFIX)
        marks = [self.newest.select(later).item()]
        for run in self._living():
            if run.mark is None or after is None or run.mark > after:
                marks.append(run.mark)
            else:
                marks.append(self.library.read(run, self.shape).frame.select(later).item())
        return min((at for at in marks if isinstance(at, int)), default=None)

    def changed(self, put: pl.DataFrame, gone: pl.DataFrame) -> "StoredTable":
        """The table with the windows `put` as they are there, and without those `gone`; a window in both is put."""
        news = put.with_columns_seq(pl.lit(False).alias(TOMBSTONE))
        if self.runs and not gone.is_empty():
            news = stacked([news, self._dead(put, gone)])
        if self.newest.is_empty():
            return replace(self, newest=news)
        identity = self.shape.identity
        touched = pl.concat([put.select(identity), gone.select(identity)])
        return replace(self, newest=pl.concat([without(self.newest, touched, identity), news]))

    def _dead(self, put: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame:
        """What tells that windows are gone which runs may have. Of those that have expired nobody has to be told."""
        left = self._unexpired(gone)
        if not left.is_empty():
            left = without(left, put, self.shape.identity)
        return left.with_columns_seq(pl.lit(True).alias(TOMBSTONE))

    def expired(self, horizon: int | None) -> "StoredTable":
        """The table without the windows that end at the horizon or earlier."""
        return self if horizon == self.horizon else replace(self, horizon=horizon)

    def sealed(self) -> "StoredTable":
        """The same table with the newest rows in a run, and runs merged as far as is their turn."""
        runs = self._living()
        newest = self._unexpired(self.newest)
        # A new frame: a column of one row that is cleared keeps its value, which may be long.
        table = replace(self, newest=pl.DataFrame(schema=newest.schema), runs=runs)
        if not runs and newest[TOMBSTONE].any():
            newest = kept(newest, ~newest[TOMBSTONE])
        if newest.is_empty():
            return table
        added = table._added(Indexed.of(newest, self.shape), None)
        table = replace(table, runs=(*(run for run in runs if not self._hides(added, run)), added))
        may, spent = allowance(newest.height), 0
        while (merge := next_merge(table.runs)) is not None and (spent == 0 or spent + merge.rows <= may):
            table, spent = table._merged(merge), spent + merge.rows
        self.library.keep(table.runs)
        return table

    def _hides(self, newest: Run, run: Run) -> bool:
        """Whether a run can be dropped, as the newest has all its windows again. Only asked where rows may be long."""
        nested = any(dtype.is_nested() for dtype in self.shape.schema.values())
        if not nested or run.rows > newest.rows or run.low < newest.low or run.high > newest.high:
            return False
        rows = self.library.read(run, self.shape).frame
        mine = Wanted(rows[self.shape.identity], np.arange(rows.height), rows[HASH].to_numpy())
        _, which = mine.places_in(newest, self.library.read(newest, self.shape))
        return len(np.unique(which)) == run.rows  # the newest run may have a tombstone twice

    def _living(self) -> tuple[Run, ...]:
        """The runs that may have windows which have not expired."""
        return self.runs if self.horizon is None else tuple(run for run in self.runs if run.high > self.horizon)

    def _unexpired(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self.horizon is None or not _some_until(rows, self.horizon):
            return rows
        return kept(rows, rows[END] > self.horizon)

    def _alive(self, found: Found) -> Found:
        """Those that are neither dead nor expired, in the table's columns."""
        rows, which = found.rows, found.which
        alive = ~rows[TOMBSTONE]
        if self.horizon is not None and _some_until(rows, self.horizon):
            alive &= rows[END] > self.horizon
        if not alive.all():
            rows, which = kept(rows, alive), which[alive.to_numpy()]
        return Found(rows[list(self.shape.schema)], which)

    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        return self._alive(Found(rows, np.arange(rows.height))).rows

    def _found_in_newest(self, wanted: pl.DataFrame) -> Found:
        if self.newest.is_empty():
            return Found(self.newest, np.empty(0, dtype=np.intp))
        identity = self.shape.identity
        asked = wanted.select(identity).with_row_index(_AT)
        found = joined(self.newest, asked, identity)
        return Found(found.drop(_AT), found[_AT].to_numpy().astype(np.intp))

    def _found_in_runs(self, wanted: Wanted) -> Iterable[Found]:
        """The newest rows of the windows, dead ones too."""
        for run in reversed(self._living()):
            if not len(wanted.hashes):
                return
            found = self._in_run(run, wanted)
            if len(found.which):
                wanted = wanted.without(found.which)
                yield found

    def _in_run(self, run: Run, wanted: Wanted, starts: Stretches | None = None) -> Found:
        """The rows of a run that equal one of the wanted in its columns, and start at these times."""
        indexed = self.library.read(run, self.shape)
        at, which = wanted.places_in(run, indexed)
        if starts is not None:
            some = _within(indexed.frame[START].gather(at), starts).to_numpy()
            at, which = at[some], which[some]
        return Found(picked(indexed.bare, at) if len(at) else self.newest.clear(), which)

    def _not_hidden(self, rows: pl.DataFrame, newer: tuple[Run, ...]) -> pl.DataFrame:
        """Rows of a run without those that a newer one has again."""
        identity = self.shape.identity
        if not self.newest.is_empty():
            rows = without(rows, self.newest, identity)
        told = Wanted(rows[identity], np.arange(rows.height), rows[HASH].to_numpy())
        for run in newer:
            _, which = told.places_in(run, self.library.read(run, self.shape))
            told = told.without(which) if len(which) else told
        return picked(rows.drop(HASH), told.places)

    def _added(self, rows: Indexed, part: int | None) -> Run:
        run = rows.described(self.library.new_name(), part)
        self.library.add(run, rows)
        return run

    def _merged(self, merge: Merge) -> "StoredTable":
        """The table after one merge; what comes of it stands where the youngest of its runs stood, parts before the undivided."""
        frames = [self.library.read(run, self.shape).frame for run in reversed(merge.runs)]
        both = merged(frames, self.shape, self.horizon, bottom=merge.bottom)
        pieces = list(enumerate(parted(both))) if merge.cut else [(merge.runs[0].part, both)]
        made = [self._added(Indexed(piece), part) for part, piece in pieces if not piece.is_empty()]
        at = self.runs.index(merge.runs[-1])
        before = [run for run in self.runs[:at] if run not in merge.runs]
        return replace(self, runs=(*before, *made, *self.runs[at + 1 :]))


def _within(times: pl.Series, stretches: Stretches) -> pl.Series:
    """Whether times are in one of some stretches."""
    inside = [pl.col("at").is_between(low, high) for low, high in stretches]
    return times.to_frame("at").select(pl.any_horizontal(*inside, pl.lit(False)).alias("at")).to_series()


def _passing(rows: pl.DataFrame, test: pl.Expr) -> pl.DataFrame:
    """The rows that pass a test; nearly always there is none."""
    if rows.is_empty():
        return rows
    passes = rows.with_columns_seq(test.alias(_PASSES))[_PASSES]
    return kept(rows, passes) if passes.any() else rows.clear()


def _some_until(rows: pl.DataFrame, instant: int) -> bool:
    first = rows[END].min()
    return isinstance(first, int) and first <= instant


def _next_end(rows: pl.DataFrame, after: int | None) -> int | None:
    ends = rows[END]
    first = (ends if after is None else ends.filter(ends > after)).min()
    return first if isinstance(first, int) else None
