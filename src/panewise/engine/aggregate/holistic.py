"""Holistic aggregates (median, percentile, mode, distinct count) over contiguous index ranges.

Each piece has a list of values. The lists of all pieces, one after the other, are one sequence, and a range
of pieces is a range of this sequence. So the values of a range need not be copied: its bounds are enough.

A quantile or a distinct count takes time that grows with the logarithm of the number of values. A mode takes
time for each value that enters or leaves as the range moves on from the one before it.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeVar

import numpy as np
import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.kernels import wavelet
from panewise.engine.kernels.small_frames import Mask
from panewise.engine.kernels.sorting import Places
from panewise.spec import Aggregate

_Kind = TypeVar("_Kind", bound=Aggregation)
_LISTS = {"median": "list", "percentile": "list", "mode": "list", "count_distinct": "set"}


def range_aggregation(aggregation: _Kind) -> _Kind:
    """Returns the aggregation to use for ranges of the pieces of an aggregation.

    In it each holistic aggregate has a partial that already is the result. It replaces the partial with the
    values, unless another aggregate needs the values.
    """
    columns, results, needed = list[PartialColumn](), list[pl.Expr](), set[str]()
    own = {aggregate.name: aggregate for aggregate in aggregation.aggregates if aggregate.fn in _LISTS}
    for read in aggregation.results:
        name = read.meta.output_name()
        if name in own:
            columns.append(_result_partial(own[name], aggregation))
            results.append(pl.col(columns[-1].name).alias(name))
        else:
            results.append(read)
            needed.update(read.meta.root_names())
    replaced = {_values(aggregate) for aggregate in own.values()} - needed
    return aggregation.with_partials(
        [*(column for column in aggregation.partials if column.name not in replaced), *columns], results
    )


def _values(aggregate: Aggregate) -> str:
    return f"__{_LISTS[aggregate.fn]}:{aggregate.column}"


def _result_partial(aggregate: Aggregate, aggregation: Aggregation) -> PartialColumn:
    """Returns a partial that already is the result of a holistic aggregate. A later value overwrites it."""
    name, column = f"__result:{aggregate.name}", _values(aggregate)
    functions: dict[str, Callable[[pl.Series, Places, Places], pl.Series]] = {
        "median": lambda values, first, last: _quantile(values, first, last, 0.5),
        "percentile": lambda values, first, last: _quantile(values, first, last, aggregate.percentage or 0.0),
        "mode": _commonest,
        "count_distinct": _different,
    }

    def over_ranges(pieces: pl.DataFrame, first: Places, last: Places) -> pl.Series:
        lists = pieces[column]
        ends = np.append(0, np.cumsum(lists.list.len().to_numpy().astype(np.intp)))
        return functions[aggregate.fn](lists.explode(empty_as_null=False), ends[first], ends[last])

    latest, dtype = pl.col(name).last(), aggregation.result_types[aggregate.name]
    return PartialColumn(
        name, dtype, latest, latest, 0 if aggregate.fn == "count_distinct" else None, over_ranges=over_ranges
    )


def _quantile(values: pl.Series, first: Places, last: Places, fraction: float) -> pl.Series:
    """Returns the quantile of each range, with linear interpolation; null if the range has no values."""
    known, ranks = _ranked(values.cast(pl.Float64))
    not_empty = last > first
    low, high = first[not_empty], last[not_empty]
    at = fraction * (high - low - 1)
    down = np.floor(at).astype(np.intp)
    beside = np.flatnonzero(at > down)  # quantiles that lie between two values
    # One query for the lower value of each range, then one for the upper value where it is needed.
    skipped = np.append(down, down[beside] + 1)
    chosen = wavelet.smallest(ranks, np.append(low, low[beside]), np.append(high, high[beside]), skipped)
    values = known.gather(pl.Series(chosen.astype(np.uint32)))
    lower, upper = values.head(len(down)), values.head(len(down)).scatter(beside, values.slice(len(down)))
    between = lower + pl.Series(at - down) * (upper - lower)
    # Next to an infinite value the difference is infinite or NaN, and so may be what is computed with it.
    distant = (lower != upper) & ~(lower.is_infinite() & upper.is_finite())
    return _where(not_empty, between.zip_with(distant, lower))


def _different(values: pl.Series, first: Places, last: Places) -> pl.Series:
    """Counts the distinct values of each range: those without an equal value before them in the range."""
    # `after_like` is 1 plus the place of the equal value before, 0 if there is none. So a value has no
    # equal value before it in a range if and only if this number is less than the first place plus 1.
    rows = values.to_frame("value").with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("after"))
    after_like = (
        rows.select(pl.col("after").shift(fill_value=0).over("value")).to_series().to_numpy().astype(np.intp)
    )
    return pl.Series(wavelet.below(after_like, first, last, first + 1), dtype=pl.Int64)


def _commonest(values: pl.Series, first: Places, last: Places) -> pl.Series:
    """Returns the most frequent value of each range, the smallest of several; null if there is none."""
    known, ranks = _ranked(values)
    order = np.lexsort((last, first))  # neighbouring ranges overlap, so the range moves little
    moving, modes = _Moving(ranks.tolist(), known.len()), np.empty(len(first), dtype=np.intp)
    for place in order.tolist():
        modes[place] = moving.to(int(first[place]), int(last[place]))
    not_empty = modes >= 0
    return _where(not_empty, known.gather(pl.Series(modes[not_empty].astype(np.uint32))))


def _ranked(values: pl.Series) -> tuple[pl.Series, Places]:
    """Returns the distinct values in ascending order, NaN last, and the rank of each value among them."""
    order = values.arg_sort()
    ordered = values.gather(order)
    new = (
        ordered.to_frame("value")
        .select(pl.col("value").ne_missing(pl.col("value").shift()).alias("new"))
        .to_series()
    )
    new = new if new.is_empty() else new.scatter(0, True)
    ranks = np.empty(values.len(), dtype=np.intp)
    ranks[order.to_numpy()] = np.cumsum(new.to_numpy()) - 1
    return ordered.filter(new), ranks


def _where(mask: Mask, values: pl.Series) -> pl.Series:
    """Returns the values, in order, at the places where `mask` is true, and null at the others."""
    if mask.all():
        return values
    index = pl.Series((np.cumsum(mask) - 1).clip(0).astype(np.uint32)).zip_with(
        pl.Series(mask), pl.Series([None], dtype=pl.UInt32)
    )
    return values.gather(index)


class _Moving:
    """A range that moves along a sequence of numbers, and its most frequent number.

    Invariant: the heap of a count contains all numbers that have this count. It may also contain numbers that
    had this count earlier; these are removed when they reach the top. So a number that enters the range is
    pushed to one heap, and a number that leaves only changes its count.
    """

    def __init__(self, numbers: list[int], different: int) -> None:
        self._numbers = numbers
        self._counts = [0] * different
        self._by_count: list[list[int]] = [[]]  # for each count a heap of the numbers that have or had it
        self._first = self._last = 0

    def to(self, first: int, last: int) -> int:
        """Moves the range, and returns the smallest of its most frequent numbers, -1 if it is empty."""
        self._add(range(self._last, last))
        self._add(range(first, self._first))
        self._remove(range(self._first, first))
        self._remove(range(last, self._last))
        self._first, self._last = first, last
        return self._top()

    def _add(self, places: range) -> None:
        for number in map(self._numbers.__getitem__, places):
            count = self._counts[number] = self._counts[number] + 1
            if count == len(self._by_count):
                self._by_count.append([])
            heappush(self._by_count[count], number)

    def _remove(self, places: range) -> None:
        for number in map(self._numbers.__getitem__, places):
            self._counts[number] -= 1

    def _top(self) -> int:
        """Returns the smallest of the most frequent numbers, -1 if there is none."""
        while len(self._by_count) > 1:
            heap, count = self._by_count[-1], len(self._by_count) - 1
            while heap and self._counts[heap[0]] != count:
                heappop(heap)
            if heap:
                return heap[0]
            self._by_count.pop()
        return -1
