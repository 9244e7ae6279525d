"""The windows that an operator holds: a value, made of the newest rows and of runs.

Looking up windows, and changing them, costs in proportion to how many they are, not to how many are held.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.assign import END
from panewise.engine.compaction import Merge, allowance, next_merge
from panewise.engine.hashing import Hashes, row_hashes
from panewise.engine.runs import HASH, Indexed, Library, Places, Shape, merged, part_range, parted
from panewise.engine.table import DEAD
from panewise.engine.trigger_leaves import MARK, earliest
from panewise.state import Run


@dataclass(frozen=True)
class Held:
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
    def nothing(cls, shape: Shape, library: Library) -> "Held":
        """No windows."""
        return cls(shape, library, pl.DataFrame(schema={**shape.schema, DEAD: pl.Boolean()}))

    def find(self, wanted: pl.DataFrame) -> pl.DataFrame:
        """The windows held among these, which are told by the columns of the identity, each once."""
        identity = self.shape.identity
        found = [self.newest.join(wanted, on=identity, how="semi", nulls_equal=True, maintain_order="left")]
        if self._living():
            left = wanted.select(identity)
            if not self.newest.is_empty():
                left = left.join(self.newest, on=identity, how="anti", nulls_equal=True, maintain_order="left")
            found += self._found_in_runs(left)
        return self._alive(pl.concat(found))

    def of_keys(self, rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
        """All windows held of the rows' keys. Only where the hash is made of the keys alone."""
        found = [self.newest.join(rows, on=keys, how="semi", nulls_equal=True, maintain_order="left")]
        if self._living():
            left, hashes = self._by_hash(rows.select(keys).unique(maintain_order=True))
            for run in reversed(self._living()):
                mine = part_range(run.part, hashes)
                found.append(self._in_run(run, left[mine], hashes[mine])[0])
        together = pl.concat(found)
        return self._alive(together.unique(self.shape.identity, keep="first", maintain_order=True) if len(found) > 1 else together)

    def concerned(self, test: pl.Expr, may: Callable[[Run], bool]) -> pl.DataFrame:
        """The windows held that pass a test; `may` tells which runs can have any."""
        found = [self.newest.filter(test)]
        living = self._living()
        for place, run in enumerate(living):
            if may(run):
                rows = self.library.read(run, self.shape).frame.filter(test)
                found.append(self._not_hidden(rows, living[place + 1 :]))
        return self._alive(pl.concat(found))

    def all(self) -> pl.DataFrame:
        """Every window held."""
        return self.concerned(pl.lit(True), lambda run: True)

    def next_end(self, after: int | None) -> int | None:
        """A time at or before the first window end after that instant; None if there is none."""
        later = pl.lit(True) if after is None else pl.col(END) > after
        ends = [self.newest.filter(later)[END].min()]
        for run in self._living():
            if after is None or run.low > after:
                ends.append(run.low)
            elif run.high > after:
                ends.append(self.library.read(run, self.shape).frame.filter(later)[END].min())
        return min((end for end in ends if isinstance(end, int)), default=None)

    def next_mark(self, after: int | None) -> int | None:
        """A time at or before the first watermark above that instant that a window's trigger waits for; None if there is none."""
        if not any(name.endswith(MARK) for name in self.shape.schema):
            return None
        mark = earliest(self.shape.schema, MARK)
        later = mark.filter(mark > (MIN_INSTANT if after is None else after)).min().alias(MARK)
        marks = [self.newest.select(later).item()]
        for run in self._living():
            if run.mark is None or after is None or run.mark > after:
                marks.append(run.mark)
            else:
                marks.append(self.library.read(run, self.shape).frame.select(later).item())
        return min((at for at in marks if isinstance(at, int)), default=None)

    def changed(self, put: pl.DataFrame, gone: pl.DataFrame) -> "Held":
        """The table with the windows `put` as they are there, and without those `gone`; a window in both is put."""
        identity = self.shape.identity
        left = gone.join(put, on=identity, how="anti", nulls_equal=True, maintain_order="left")
        dead = self._alive(left.with_columns(pl.lit(False).alias(DEAD))) if self.runs else left.clear()
        news = pl.concat([put.with_columns(pl.lit(False).alias(DEAD)), dead.with_columns(pl.lit(True).alias(DEAD))])
        if self.newest.is_empty():
            return replace(self, newest=news)
        touched = pl.concat([put.select(identity), left.select(identity)])
        kept = self.newest.join(touched, on=identity, how="anti", nulls_equal=True, maintain_order="left")
        return replace(self, newest=pl.concat([kept, news]))

    def expired(self, horizon: int | None) -> "Held":
        """The table without the windows that end at the horizon or earlier."""
        return self if horizon == self.horizon else replace(self, horizon=horizon)

    def sealed(self) -> "Held":
        """The same table with the newest rows in a run, and runs merged as far as is their turn."""
        runs = self._living()
        newest = self._unexpired(self.newest)
        table = replace(self, newest=newest.clear(), runs=runs)
        if not runs:
            newest = newest.filter(~pl.col(DEAD))
        if newest.is_empty():
            return table
        table = replace(table, runs=(*runs, table._added(Indexed.of(newest, self.shape), None)))
        may, spent = allowance(newest.height), 0
        while (merge := next_merge(table.runs)) is not None and (spent == 0 or spent + merge.rows <= may):
            table, spent = table._merged(merge), spent + merge.rows
        self.library.keep(table.runs)
        return table

    def _living(self) -> tuple[Run, ...]:
        """The runs that may have windows which have not expired."""
        return self.runs if self.horizon is None else tuple(run for run in self.runs if run.high > self.horizon)

    def _unexpired(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows if self.horizon is None else rows.filter(pl.col(END) > self.horizon)

    def _alive(self, rows: pl.DataFrame) -> pl.DataFrame:
        return self._unexpired(rows).filter(~pl.col(DEAD)).select(*self.shape.schema)

    def _by_hash(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, Hashes]:
        """Rows in the order of their hashes, in which they are looked up."""
        hashes = row_hashes(rows, self.shape.by)
        order = np.argsort(hashes)
        return rows[order], hashes[order]

    def _found_in_runs(self, wanted: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """The newest rows of the windows, dead ones too."""
        left, hashes = self._by_hash(wanted)
        for run in reversed(self._living()):
            if not len(hashes):
                return
            mine = part_range(run.part, hashes)
            rows, which = self._in_run(run, left[mine], hashes[mine])
            if len(which):
                others = np.ones(len(hashes), dtype=np.bool_)
                others[mine.start + which] = False
                left, hashes = left.filter(pl.Series(others)), hashes[others]
                yield rows

    def _in_run(self, run: Run, wanted: pl.DataFrame, hashes: Hashes) -> tuple[pl.DataFrame, Places]:
        """The rows of a run that equal one of the wanted in its columns, and which of them each is."""
        indexed = self.library.read(run, self.shape)
        places, which = indexed.at(hashes)
        if not len(places):
            return self.newest.clear(), which
        rows = indexed.frame[places]
        same = _same(rows, wanted[which])
        return (rows.drop(HASH), which) if same.all() else (rows.filter(same).drop(HASH), which[same.to_numpy()])

    def _not_hidden(self, rows: pl.DataFrame, newer: tuple[Run, ...]) -> pl.DataFrame:
        """Rows of a run without those that a newer one has again."""
        identity = self.shape.identity
        if not self.newest.is_empty():
            rows = rows.join(self.newest, on=identity, how="anti", nulls_equal=True, maintain_order="left")
        for run in newer:
            if rows.is_empty():
                break
            rows = rows.filter(self._absent(run, rows))
        return rows.drop(HASH)

    def _absent(self, run: Run, rows: pl.DataFrame) -> pl.Series:
        """For each row, whether a run lacks its window."""
        absent, hashes = np.ones(rows.height, dtype=np.bool_), rows[HASH].to_numpy()
        mine = part_range(run.part, hashes)
        indexed, told = self.library.read(run, self.shape), rows.select(self.shape.identity)[mine]
        places, which = indexed.at(hashes[mine])
        if len(places):
            same = _same(indexed.frame.select(self.shape.identity)[places], told[which])
            absent[mine.start + which[same.to_numpy()]] = False
        return pl.Series(absent)

    def _added(self, rows: Indexed, part: int | None) -> Run:
        run = rows.described(self.library.new_name(), part)
        self.library.add(run, rows)
        return run

    def _merged(self, merge: Merge) -> "Held":
        """The table after one merge; what comes of it stands where the youngest of its runs stood, parts before the undivided."""
        frames = [self.library.read(run, self.shape).frame for run in reversed(merge.runs)]
        both = merged(frames, self.shape, self.horizon, bottom=merge.bottom)
        pieces = list(enumerate(parted(both))) if merge.cut else [(merge.runs[0].part, both)]
        made = [self._added(Indexed(piece), part) for part, piece in pieces if not piece.is_empty()]
        at = self.runs.index(merge.runs[-1])
        before = [run for run in self.runs[:at] if run not in merge.runs]
        return replace(self, runs=(*before, *made, *self.runs[at + 1 :]))


def _same(rows: pl.DataFrame, asked: pl.DataFrame) -> pl.Series:
    """For each pair of rows, whether they are equal in the columns of the second."""
    return pl.DataFrame([rows[name].eq_missing(asked[name]) for name in asked.columns]).select(pl.all_horizontal(pl.all())).to_series()
