"""Runs: immutable pieces of a table, sorted by hash.

Bisection finds a few rows among millions: first by hash, then by the columns that identify them. Equal
rows have equal hashes, so rows with other hashes need no comparison. A look-up of m rows in a run of n rows
costs m bisections in n hashes, and one comparison for each row with an equal hash.

Invariant: a row hides the rows of the same identity in older runs. A tombstone (a row whose ``__dead`` is
true) hides them, too: the row is deleted.

The description of a run, a :class:`Run`, shows without a read whether the run may contain rows that a step
needs. It has the number of rows, the range of their ends, the earliest times that triggers wait for, and
the part of the hashes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, cast

import numpy as np
import polars as pl

from panewise.engine.columns import (
    BORN,
    CARRY,
    CLOSED,
    DEADLINE_SUFFIX,
    END,
    EVENT_DEADLINE_SUFFIX,
    FIRED,
    HASH,
    PENDING,
    PENDING_DEADLINE_SUFFIX,
    TOMBSTONE,
)
from panewise.engine.kernels.hashing import Hashes, hash_order, row_hashes
from panewise.engine.kernels.small_frames import equal, filter_rows, no_rows, take_rows
from panewise.engine.kernels.sorting import Places
from panewise.errors import StateError
from panewise.state import Run
from panewise.state.manifest import REMEDY

_OPEN = ~pl.col(CLOSED) & ~pl.col(TOMBSTONE)
_PART_BITS = 4
PARTS = 1 << _PART_BITS  # a long table is divided by hash, so that no merge has to read all of it


@dataclass(frozen=True)
class Shape:
    """The columns of a table.

    `identity` are the columns that identify a row, and `by` those from which its hash is made.
    """

    schema: dict[str, pl.DataType]
    identity: list[str]
    by: list[str]

    @property
    def no_rows(self) -> pl.DataFrame:
        """A frame with the columns of the table, and without rows."""
        return no_rows(self.schema)

    def with_nulls(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns rows with the columns of the table that they lack, as nulls."""
        lacking = {name: dtype for name, dtype in self.schema.items() if name not in rows.columns}
        return rows.with_columns(pl.lit(None, dtype=dtype).alias(name) for name, dtype in lacking.items())

    def with_carries(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns rows of the table, with carries of 0 if an older release, which had none, wrote them.

        >>> shape = Shape({"__sum:v": pl.Int64(), "__carry:v": pl.Int64()}, [], [])
        >>> shape.with_carries(pl.DataFrame({"__sum:v": [5]})).row(0, named=True)
        {'__sum:v': 5, '__carry:v': 0}
        """
        missing = [name for name in self.schema if CARRY in name and name not in rows.columns]
        if not missing:
            return rows
        return self.in_order(rows.with_columns(pl.lit(0, dtype=pl.Int64).alias(name) for name in missing))

    def in_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns rows with the columns of the table in its order, and other columns after them.

        >>> shape = Shape({"k": pl.String(), "v": pl.Int64()}, [], [])
        >>> shape.in_order(pl.DataFrame({"v": [5], "k": ["a"]})).columns
        ['k', 'v']
        """
        names = [name for name in self.schema if name in rows.columns]
        return rows[[*names, *(name for name in rows.columns if name not in self.schema)]]

    def checked_rows(self, rows: pl.DataFrame, name: str) -> pl.DataFrame:
        """Returns the rows of a stored run, :meth:`with_carries`, after checking their columns."""
        rows = self.with_carries(rows)
        if list(rows.schema.items()) != [*self.schema.items(), (TOMBSTONE, pl.Boolean())]:
            raise StateError(f"run {name} with other columns", "a run has the columns of its table", REMEDY)
        return rows


@dataclass(frozen=True)
class RunRows:
    """The rows of a run with ``__dead`` and ``__hash``, sorted by hash."""

    frame: pl.DataFrame

    @classmethod
    def sorted_by_hash(cls, rows: pl.DataFrame, shape: Shape) -> "RunRows":
        """Returns the rows as a run. They may be in any order."""
        hashes = row_hashes(rows, shape.by)
        order = hash_order(hashes)
        return cls(take_rows(rows, order).hstack([pl.Series(HASH, hashes[order])]))

    @classmethod
    def with_hashes(cls, rows: pl.DataFrame, shape: Shape) -> "RunRows":
        """Returns the run with these :attr:`bare` rows. Their hashes are computed again."""
        return cls(rows.hstack([pl.Series(HASH, row_hashes(rows, shape.by))]))

    @property
    def bare(self) -> pl.DataFrame:
        """The rows in their order, without the hashes.

        Hashes would take much of the size of a stored run, and are computed again quickly.
        """
        return self.frame[[name for name in self.frame.columns if name != HASH]]

    @property
    def hashes(self) -> Hashes:
        """The hash of each row, ascending."""
        return self.frame[HASH].to_numpy()

    def at(self, wanted: Hashes) -> tuple[Places, Places]:
        """Returns the places of the rows with these hashes, and for each the place in `wanted`."""
        hashes = self.hashes
        # The usual case first: if no hash occurs twice in the run, one bisection for each hash is enough.
        low = np.searchsorted(hashes, wanted)
        inside = np.flatnonzero(low < len(hashes))
        which = inside[hashes[low[inside]] == wanted[inside]]
        low = low[which]
        if not (hashes[np.minimum(low + 1, len(hashes) - 1)] == wanted[which])[low + 1 < len(hashes)].any():
            return low, which  # no hash occurs twice
        counts = np.searchsorted(hashes, wanted[which], side="right") - low
        first = np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(low, counts) + np.arange(counts.sum()) - first, np.repeat(which, counts)

    def described(self, name: str, part: int | None) -> Run:
        """Returns the description of the run."""
        ends, since = self.frame[END], None
        if PENDING in self.frame.columns and self.frame[PENDING].max():  # tables of stages have no triggers
            of_windows = pl.coalesce(FIRED, BORN).filter((pl.col(PENDING) > 0) & _OPEN)
            since = self.frame.select_seq(of_windows.min()).item()
        low, high = cast(int, ends.min()), cast(int, ends.max())
        deadline = self._earliest(earliest_deadline(self.frame.columns))
        event_deadline = self._earliest(earliest_event_deadline(self.frame.columns))
        return Run(name, self.frame.height, low, high, since, part, deadline, event_deadline)

    def _earliest(self, instant: pl.Expr | None) -> int | None:
        """Returns the earliest of these instants among the open windows."""
        if instant is None:
            return None
        return cast(int | None, self.frame.select_seq(instant.filter(_OPEN).min()).item())


class Library(Protocol):
    """Reads and writes the rows of runs."""

    def read(self, run: Run, shape: Shape) -> RunRows:
        """Returns the rows of a run."""

    def new_name(self) -> str:
        """Returns a name that no run has. A step that is repeated from the same state gets the same names."""

    def add(self, run: Run, rows: RunRows) -> None:
        """Adds a new run."""

    def keep(self, runs: Sequence[Run]) -> None:
        """Removes all other runs from memory. Runs that are stored elsewhere stay there."""


class MemoryLibrary:
    """A library in the memory of this process."""

    def __init__(self) -> None:
        self._runs: dict[str, RunRows] = {}
        self._named = 0

    def read(self, run: Run, shape: Shape) -> RunRows:
        """Returns the rows of a run."""
        return self._runs[run.name]

    def new_name(self) -> str:
        """Returns the next number."""
        self._named += 1
        return str(self._named)

    def add(self, run: Run, rows: RunRows) -> None:
        """Adds a new run."""
        self._runs[run.name] = rows

    def keep(self, runs: Sequence[Run]) -> None:
        """Removes all other runs."""
        self._runs = {run.name: self._runs[run.name] for run in runs}


def merge_rows(
    newest_first: Sequence[pl.DataFrame], shape: Shape, horizon: int | None, *, bottom: bool
) -> pl.DataFrame:
    """Merges sorted runs into one, with the newest row of each identity that has not expired.

    `bottom` says that no older run has rows with these hashes. Then tombstones hide nothing, and are removed.
    """
    # The sort is stable, so of equal hashes the newest row comes first. Only rows whose hash occurs more than
    # once are compared by the columns that identify a row.
    together = pl.concat(newest_first)
    together = take_rows(together, np.argsort(together[HASH].to_numpy(), kind="stable"))
    hashes = together[HASH].to_numpy()
    again = np.concatenate([[False], hashes[1:] == hashes[:-1]])
    if again.any():
        several = again | np.concatenate([again[1:], [False]])
        newest = filter_rows(together.with_row_index("__at"), pl.Series(several)).unique(
            shape.identity, keep="first", maintain_order=True
        )
        chosen = ~several
        chosen[newest["__at"].to_numpy()] = True
        together = filter_rows(together, pl.Series(chosen))
    if horizon is not None:
        together = filter_rows(together, together[END] > horizon)
    return filter_rows(together, ~together[TOMBSTONE]) if bottom else together


def parted(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """Divides a sorted frame into the parts of the hashes."""
    firsts = np.arange(1, PARTS, dtype=np.uint64) << np.uint64(64 - _PART_BITS)
    cuts = [0, *np.searchsorted(rows[HASH].to_numpy(), firsts).tolist(), rows.height]
    return [rows[low:high] for low, high in pairwise(cuts)]


def part_range(part: int | None, hashes: Hashes) -> slice:
    """Returns where the hashes of a part are among sorted hashes; all of them for the part None."""
    if part is None:
        return slice(0, len(hashes))
    low, last = part << (64 - _PART_BITS), ((part + 1) << (64 - _PART_BITS)) - 1
    start = np.searchsorted(hashes, np.uint64(low))
    return slice(int(start), int(np.searchsorted(hashes, np.uint64(last), side="right")))


def earliest_deadline(columns: Iterable[str]) -> pl.Expr | None:
    """Returns an expression for the earliest processing time that the triggers of a window wait for.

    It is None if no trigger of the table waits for one. `columns` are the columns of the table.
    """
    deadlines = _instants(columns, DEADLINE_SUFFIX)
    return pl.min_horizontal(deadlines) if deadlines else None


def earliest_event_deadline(columns: Iterable[str], after: int | None = None) -> pl.Expr | None:
    """Returns an expression for the earliest watermark that the triggers of a window wait for.

    Watermarks up to `after` do not count. Each column is compared with `after`, not only the earliest: one
    part of an `AfterAll` may be ready while another part waits for a later watermark.

    It is None if no trigger of the table waits for a watermark.
    """
    names, pending = list(columns), pl.col(PENDING) > 0
    deadlines: list[pl.Expr] = [pl.when(pending).then(at) for at in _instants(names, PENDING_DEADLINE_SUFFIX)]
    deadlines += _instants(names, EVENT_DEADLINE_SUFFIX)
    if after is not None:
        deadlines = [pl.when(at > after).then(at) for at in deadlines]
    return pl.min_horizontal(deadlines) if deadlines else None


def _instants(columns: Iterable[str], suffix: str) -> list[pl.Expr]:
    return [pl.col(name) for name in columns if name.startswith("__trigger") and name.endswith(suffix)]


@dataclass(frozen=True)
class FoundRows:
    """The rows that a look-up found, and for each the place of the matching wanted row (`which`)."""

    rows: pl.DataFrame
    which: Places


@dataclass(frozen=True)
class WantedRows:
    """The rows to look up, and which of them are still wanted.

    Attributes:
        rows: all rows of the look-up, with the columns by which rows are compared.
        places: the places of the rows that are still wanted, in the order of their hashes.
        hashes: the hashes of these rows, ascending.
    """

    rows: pl.DataFrame
    places: Places
    hashes: Hashes

    @classmethod
    def from_rows(cls, rows: pl.DataFrame, by: list[str]) -> "WantedRows":
        """Returns a look-up of all rows. `by` are the columns from which hashes are made."""
        hashes = row_hashes(rows, by)
        order = np.argsort(hashes)
        return cls(rows, order, hashes[order])

    def without(self, which: Places) -> "WantedRows":
        """Returns the look-up without the rows that were found, which are given by their places."""
        left = np.ones(self.rows.height, dtype=np.bool_)
        left[which] = False
        left = left[self.places]
        return WantedRows(self.rows, self.places[left], self.hashes[left])

    def places_in(self, run: Run, indexed: RunRows) -> tuple[Places, Places]:
        """Looks the wanted rows up in a run.

        Returns:
            The places of the matching rows of the run, and for each the place of the wanted row. Two
            rows match if they are equal in all columns of the wanted row.
        """
        in_part = part_range(run.part, self.hashes)
        at, which_hash = indexed.at(self.hashes[in_part])
        which = self.places[in_part][which_hash]
        if not len(at):
            return at, which
        same = equal(indexed.frame, at, self.rows, which, self.rows.columns)
        return (at, which) if same.all() else (at[same], which[same])
