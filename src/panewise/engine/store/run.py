"""Runs: immutable pieces of a window table, sorted by a hash so that the rows of a few windows are found among millions.

A run holds the newest rows of its time: a row hides the rows of the same window in older runs, and one that is
``__dead`` says that the window is gone. What a run must tell without being read stands in its :class:`Run`: how many
rows, between which window ends, since when one waits for a processing-time trigger, and which part of the hashes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, cast

import numpy as np
import polars as pl

from panewise.engine.columns import BORN, CLOSED, DEADLINE_SUFFIX, END, FIRED, HASH, MARK_SUFFIX, PENDING, TOMBSTONE
from panewise.engine.kernels.hashing import Hashes, row_hashes
from panewise.engine.kernels.small_frames import kept, picked
from panewise.engine.kernels.sorting import Places
from panewise.engine.store.statistics import earliest
from panewise.state import Run

_OPEN = ~pl.col(CLOSED) & ~pl.col(TOMBSTONE)
_PART_BITS = 4
PARTS = 1 << _PART_BITS  # a long table is cut by its hashes, so that no merge has to read all of it


@dataclass(frozen=True)
class Shape:
    """How the rows of one operator are told apart (`identity`), and what their hash is made of (`by`)."""

    schema: dict[str, pl.DataType]
    identity: list[str]
    by: list[str]


@dataclass(frozen=True)
class Indexed:
    """The rows of a run, sorted by ``__hash``, with ``__dead``."""

    frame: pl.DataFrame

    @classmethod
    def of(cls, rows: pl.DataFrame, shape: Shape) -> "Indexed":
        """Sorts rows into a run."""
        hashes = row_hashes(rows, shape.by)
        order = np.argsort(hashes, kind="stable")
        return cls(picked(rows, order).hstack([pl.Series(HASH, hashes[order])]))

    @classmethod
    def again(cls, rows: pl.DataFrame, shape: Shape) -> "Indexed":
        """A run of its rows in their order, without the hashes."""
        return cls(rows.hstack([pl.Series(HASH, row_hashes(rows, shape.by))]))

    @property
    def bare(self) -> pl.DataFrame:
        """The rows in their order, without the hashes, which take much of a stored run and are soon made again."""
        return self.frame[[name for name in self.frame.columns if name != HASH]]

    @property
    def hashes(self) -> Hashes:
        """The hash of each row, ascending."""
        return self.frame[HASH].to_numpy()

    def at(self, wanted: Hashes) -> tuple[Places, Places]:
        """Places of the rows with these hashes, and for each of them which of the hashes it was."""
        hashes = self.hashes
        low = np.searchsorted(hashes, wanted)
        inside = np.flatnonzero(low < len(hashes))
        which = inside[hashes[low[inside]] == wanted[inside]]
        low = low[which]
        if not (hashes[np.minimum(low + 1, len(hashes) - 1)] == wanted[which])[low + 1 < len(hashes)].any():
            return low, which  # no hash stands twice
        counts = np.searchsorted(hashes, wanted[which], side="right") - low
        first = np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(low, counts) + np.arange(counts.sum()) - first, np.repeat(which, counts)

    def described(self, name: str, part: int | None) -> Run:
        """The run's description."""
        ends, waiting = self.frame[END], None
        if PENDING in self.frame.columns and self.frame[PENDING].max():  # the tables of following stages wait for nothing
            waits = pl.coalesce(FIRED, BORN).filter((pl.col(PENDING) > 0) & _OPEN)
            waiting = self.frame.select_seq(waits.min()).item()
        low, high = cast(int, ends.min()), cast(int, ends.max())
        # Nothing waits for a mark where no rows are pending.
        deadline, mark = self._earliest(DEADLINE_SUFFIX, _OPEN), self._earliest(MARK_SUFFIX, _OPEN & (pl.col(PENDING) > 0))
        return Run(name, self.frame.height, low, high, waiting, part, deadline, mark)

    def _earliest(self, kind: str, where: pl.Expr) -> int | None:
        """The earliest such time of the windows that pass a test."""
        told = earliest(self.frame.columns, kind)
        return None if told is None else cast(int | None, self.frame.select_seq(told.filter(where).min()).item())


class Library(Protocol):
    """Where the rows of runs are."""

    def read(self, run: Run, shape: Shape) -> Indexed:
        """The rows of a run."""
        ...

    def new_name(self) -> str:
        """A name that no run has. The same step from the same state gives the same names."""
        ...

    def add(self, run: Run, rows: Indexed) -> None:
        """Takes a new run."""
        ...

    def keep(self, runs: Sequence[Run]) -> None:
        """Forgets all runs but these, as far as it is the only one that has them."""
        ...


class MemoryLibrary:
    """Runs in this process."""

    def __init__(self) -> None:
        self._runs: dict[str, Indexed] = {}
        self._named = 0

    def read(self, run: Run, shape: Shape) -> Indexed:
        """The rows of a run."""
        return self._runs[run.name]

    def new_name(self) -> str:
        """The next number."""
        self._named += 1
        return str(self._named)

    def add(self, run: Run, rows: Indexed) -> None:
        """Takes a new run."""
        self._runs[run.name] = rows

    def keep(self, runs: Sequence[Run]) -> None:
        """Forgets all others."""
        self._runs = {run.name: self._runs[run.name] for run in runs}


def merged(newest_first: Sequence[pl.DataFrame], shape: Shape, horizon: int | None, *, bottom: bool) -> pl.DataFrame:
    """Sorted runs as one. `bottom`: there is nothing older, so dead rows have nothing left to hide."""
    together = pl.concat(newest_first)
    together = picked(together, np.argsort(together[HASH].to_numpy(), kind="stable"))
    hashes = together[HASH].to_numpy()
    again = np.concatenate([[False], hashes[1:] == hashes[:-1]])
    if again.any():
        several = again | np.concatenate([again[1:], [False]])
        newest = kept(together.with_row_index("__at"), pl.Series(several)).unique(shape.identity, keep="first", maintain_order=True)
        chosen = ~several
        chosen[newest["__at"].to_numpy()] = True
        together = kept(together, pl.Series(chosen))
    if horizon is not None:
        together = kept(together, together[END] > horizon)
    return kept(together, ~together[TOMBSTONE]) if bottom else together


def parted(rows: pl.DataFrame) -> list[pl.DataFrame]:
    """A sorted frame cut into the parts of the hashes."""
    firsts = np.arange(1, PARTS, dtype=np.uint64) << np.uint64(64 - _PART_BITS)
    cuts = [0, *np.searchsorted(rows[HASH].to_numpy(), firsts).tolist(), rows.height]
    return [rows[low:high] for low, high in pairwise(cuts)]


def part_range(part: int | None, hashes: Hashes) -> slice:
    """Where the hashes of a part are among sorted ones."""
    if part is None:
        return slice(0, len(hashes))
    low = np.searchsorted(hashes, np.uint64(part << (64 - _PART_BITS)))
    high = len(hashes) if part == PARTS - 1 else np.searchsorted(hashes, np.uint64((part + 1) << (64 - _PART_BITS)))
    return slice(int(low), int(high))
