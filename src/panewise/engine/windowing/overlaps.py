"""Slices that are in many windows each, such as those of `Hopping("1 day", "1 second")`.

The windows of a slice are a range of window numbers. Invariant: both ends of the range rise with the slice,
so the slices of a window are contiguous. Windows contain the same slices if no range begins or ends between
their numbers. Such windows form a *class*. m slices of a key have at most 2 m classes, however many windows
there are.

Partials are merged once for each class. Each window is then made once, with the partials of its class. So m
slices with w windows cost a sort of m slices, up to 2 m range aggregates, and w rows.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.aggregate import range_aggregate
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.columns import ALL_WINDOWS, END, EXPIRED_WINDOWS, KEY_WATERMARK, SLICE, START
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import expand_ranges, grouped, join_frames, take_rows
from panewise.engine.kernels.sorting import Places, codes, order
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.slicing import NumberedWindows
from panewise.spec import WindowOperator

_CLASS, _AT, _NUMBER = "__class", "__at", "__number"
_LOWEST = -(2**63)


@dataclass(frozen=True)
class Classes:
    """Classes of windows: `length` window numbers from `first` on, which contain the slices `low` to `high`.

    `low` and `high` are half-open places among the sorted slices.
    """

    first: Instants
    length: Places
    low: Places
    high: Places

    @classmethod
    def from_slices(cls, code: Instants, first: Instants, stop: Instants) -> "Classes":
        """Returns the classes of slices, which are sorted by the code of their key and by time.

        The windows of a slice have the numbers first <= number < stop. Each slice has at least one window.
        """
        # Sweep over the bounds of all ranges: `started` and `ended` count the ranges that have started and
        # ended up to each bound. As both bounds rise with the slice, the open ranges are those of the slices
        # [ended, started). They are the same until the next bound with another number.
        count = len(code)
        numbers, key = np.concatenate([first, stop]), np.concatenate([code, code])
        at = order([key, numbers])
        numbers, key = numbers[at], key[at]
        started, ended = np.cumsum(at < count, dtype=np.intp), np.cumsum(at >= count, dtype=np.intp)
        last = np.flatnonzero(
            np.append((numbers[1:] != numbers[:-1]) | (key[1:] != key[:-1]), True) if count else []
        )
        low, high = ended[last], started[last]
        length = np.append(np.diff(numbers[last]), 0)
        some = high > low  # a range is open, so the next bound, which gives the length, is of the same key
        return cls(numbers[last][some], length[some], low[some], high[some])

    @property
    def members(self) -> tuple[Places, Places]:
        """The places of the slices of each class, class by class, and the class of each place."""
        counts = self.high - self.low
        return expand_ranges(self.low, counts), np.repeat(np.arange(len(counts)), counts)


@dataclass(frozen=True)
class Overlaps:
    """The windows of the slices of a batch, as ranges of window numbers.

    It has the methods of :class:`panewise.engine.windowing.windows_of_slices.SliceTable`, which lists each
    window of each slice.
    """

    numbered: NumberedWindows
    slices: Instants
    horizon: int | None  # windows that end here or earlier have expired

    @property
    def disjoint(self) -> bool:
        """Always true: :meth:`pieces` returns each window once, however many slices it contains."""
        return True

    @property
    def any_expired(self) -> bool:
        """Whether a row can be late because its window has expired."""
        first, _ = self.numbered.ranges(self.slices)
        return self.horizon is not None and bool((first < self._first_alive()).any())

    def windows_of(self, keys: list[str], rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the windows of the rows' keys and slices that have not expired, each once."""
        pieces = rows.select(*keys, SLICE).unique(maintain_order=True)
        ordered, classes = self._classes(keys, pieces)
        return self._windows(ordered.select(keys), classes)

    def pieces(self, keys: list[str], aggregation: Aggregation, partials: pl.DataFrame) -> pl.DataFrame:
        """Returns the partials of each unexpired window, each window once, given those of keys and slices."""
        ordered, classes = self._classes(keys, partials)
        if not aggregation.transient:
            merged = range_aggregate.aggregate_ranges(
                aggregation, ordered, pl.Series(classes.low), pl.Series(classes.high)
            )
        else:
            places, number = classes.members
            members = take_rows(ordered, places).hstack([pl.Series(_CLASS, number)])
            merged = grouped(members, [_CLASS], aggregation.merging(members)).drop(_CLASS)
        return self._windows(ordered.select(keys), classes, merged)

    def pieces_in_order(self, keys: list[str], aggregation: Aggregation, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the partials of each unexpired window, each window once, of rows in arrival order.

        Unlike :meth:`pieces` it combines the rows of a window in arrival order, whatever their slices are.
        """
        slices = rows.select(*keys, SLICE).with_row_index(_AT)
        ordered, classes = self._classes(keys, slices)
        places, number = classes.members
        members = ordered.select(_AT).to_series().to_numpy()[places]
        by = order([number, members])
        expanded = take_rows(rows, members[by]).hstack([pl.Series(_CLASS, number[by])])
        lifted = aggregation.lift(expanded, [_CLASS]).drop(_CLASS)
        return self._windows(ordered.select(keys), classes, lifted)

    def lost(
        self,
        slices: pl.DataFrame,
        keys: list[str],
        closed: pl.DataFrame,
        spec: WindowOperator,
        clocks: Clocks,
    ) -> pl.DataFrame:
        """Returns the windows for which rows of these keys and slices are late.

        ``__expired_windows`` is true for windows that have expired, and false for closed ones.
        ``__all_windows`` is the number of all windows of the slice.
        """
        first, stop = self.numbered.ranges(slices[SLICE].to_numpy())
        expired = np.clip(self._alive_of_rows(slices, spec, clocks), first, stop) - first
        where = np.repeat(np.arange(slices.height), expired)
        late = [self._missed(slices, keys, where, expand_ranges(first, expired), stop - first, expired=True)]
        if closed.height:
            numbers = pl.Series(
                _NUMBER, self.numbered.starting_at(closed[START].to_numpy(), closed[END].to_numpy())
            )
            bounds = pl.DataFrame({"low": first + expired, "high": stop}).with_row_index(_AT)
            pairs = join_frames(
                slices.select(keys).hstack(bounds), closed.select(keys).hstack([numbers]), keys
            )
            pairs = pairs.filter((pl.col(_NUMBER) >= pl.col("low")) & (pl.col(_NUMBER) < pl.col("high")))
            places, number = pairs[_AT].to_numpy().astype(np.intp), pairs[_NUMBER].to_numpy()
            late.append(self._missed(slices, keys, places, number, stop - first, expired=False))
        return pl.concat(late)

    def listed(self, slices: pl.Series) -> pl.DataFrame:
        """Returns slice, start and end of all windows of the given slices."""
        at = slices.unique().sort().to_numpy()
        first, stop = self.numbered.ranges(at)
        start, end = self.numbered.bounds(expand_ranges(first, stop - first))
        return pl.DataFrame({SLICE: np.repeat(at, stop - first), START: start, END: end})

    def _missed(
        self,
        slices: pl.DataFrame,
        keys: list[str],
        places: Places,
        numbers: Instants,
        counts: Instants,
        *,
        expired: bool,
    ) -> pl.DataFrame:
        start, end = self.numbered.bounds(numbers)
        bounds = pl.DataFrame({START: start, END: end, ALL_WINDOWS: counts[places]})
        return (
            take_rows(slices.select(*keys, SLICE), places)
            .hstack(bounds)
            .with_columns(pl.lit(expired).alias(EXPIRED_WINDOWS))
        )

    def _alive_of_rows(self, slices: pl.DataFrame, spec: WindowOperator, clocks: Clocks) -> Instants | int:
        """Returns the number of the first unexpired window; for each row, if keys have own watermarks."""
        if KEY_WATERMARK not in slices.columns:
            return self._first_alive()
        horizons = slices.select(clocks.horizon_of_row(spec)).to_series().fill_null(_LOWEST)
        return self.numbered.first_after(horizons.to_numpy())

    def _first_alive(self) -> int:
        low = _LOWEST if self.horizon is None else self.horizon
        return int(self.numbered.first_after(np.asarray([low], dtype=np.int64))[0])

    def _classes(self, keys: list[str], pieces: pl.DataFrame) -> tuple[pl.DataFrame, Classes]:
        """Returns the pieces that are in an unexpired window, sorted by key and slice, and their classes."""
        code = codes(pieces, keys)
        at = order([code, pieces[SLICE].to_numpy()])
        first, stop = self.numbered.ranges(pieces[SLICE].to_numpy()[at])
        first = np.maximum(first, self._first_alive())
        some = first < stop
        return take_rows(pieces, at[some]), Classes.from_slices(code[at[some]], first[some], stop[some])

    def _windows(
        self, of: pl.DataFrame, classes: Classes, partials: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """Returns each window once, with the partials of its class.

        `of` has the keys of the slices, in the same order.
        """
        start, end = self.numbered.bounds(expand_ranges(classes.first, classes.length))
        of_classes = take_rows(of, classes.low)
        of_classes = of_classes if partials is None else of_classes.hstack(partials)
        repeated = take_rows(of_classes, np.repeat(np.arange(of_classes.height), classes.length))
        return repeated.hstack([pl.Series(START, start), pl.Series(END, end)])


def first_many(numbered: NumberedWindows, slices: Instants, many: int) -> bool:
    """Returns whether a slice is in more than `many` windows."""
    first, stop = numbered.ranges(slices)
    return bool((stop - first > many).any())
