"""Aggregates over many index ranges of one sequence of pieces.

Blocks of 1, 2, 4, ... pieces begin at every index. A block is merged from two blocks of half the length, for
all indexes at once. A range is merged from its first piece and, for each bit that is 1 in the number of its
other pieces, one block of that length. n pieces and q ranges of up to m pieces cost (n + q) log m.
Invariant: blocks are merged from left to right, so order-sensitive partials are merged in order.

Partials are only merged, never subtracted. So a minimum costs as much as a sum, no precision is lost by
cancellation, and a NaN affects only ranges that contain it. Holistic aggregates
(:mod:`panewise.engine.aggregate.holistic`) are computed for the whole range. Partials that contain all values
are merged from the pieces of the range, in time that is proportional to the size of the result.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation, columns_that_need_carries, exact_or_fitting
from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.kernels.small_frames import Mask, expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places

_LATER = "__later:"
_RANGE = "__span"
_STRETCH = 1 << 12  # pieces in a stretch: ranges of lists that begin in one stretch are computed together
_WORTH = 4  # pieces are condensed if there are at least 4 for each bound of a range
_SHORT = 1 << 7  # pieces in a range of lists, up to which a merge without blocks is faster
_TOGETHER = 1 << 21  # values that are merged at once, which bounds the memory


def aggregate_ranges(
    aggregation: Aggregation, pieces: pl.DataFrame, low: pl.Series, high: pl.Series
) -> pl.DataFrame:
    """Returns the partials of ranges of pieces.

    Args:
        aggregation: the aggregation whose partial columns the pieces have.
        pieces: partials in order, each of at least one row.
        low, high: the bounds of each range, as places in the pieces; half-open, and not empty.

    Returns:
        A row of partial columns for each range, in the order of the ranges.
    """
    first, last = low.to_numpy().astype(np.intp), high.to_numpy().astype(np.intp)
    longest = int((last - first).max()) if len(first) else 0
    # The sum of all pieces has to fit, because blocks may reach beyond the ranges.
    beyond = columns_that_need_carries(aggregation.partials, pieces, pieces.height)
    columns = [column for column in aggregation.partials if not _is_zero(column, beyond)]
    from_blocks = [column for column in columns if _joins(column, longest)]
    names = [column.name for column in from_blocks]
    merge = _Merge(from_blocks, beyond)
    merged = _from_blocks_in_stretches(merge, *_condensed(merge, pieces[names], first, last))
    rest = [column for column in columns if column.name not in names and column.over_ranges is None]
    with_lists = merged.hstack(_merged(rest, pieces, first, last)) if rest else merged
    computed = [
        column.over_ranges(pieces, first, last).alias(column.name)
        for column in columns
        if column.over_ranges is not None
    ]
    zeros = [pl.lit(0).alias(column.name) for column in aggregation.partials if _is_zero(column, beyond)]
    partials = with_lists.hstack(computed).with_columns(zeros)
    return partials.select(pl.col(column.name).cast(column.dtype) for column in aggregation.partials)


def over_any(aggregation: Aggregation, pieces: pl.DataFrame, low: Places, high: Places) -> pl.DataFrame:
    """Returns :func:`aggregate_ranges` for ranges that may be empty: these have the partials of no rows."""
    some = high > low
    partials = aggregate_ranges(aggregation, pieces, pl.Series(low[some]), pl.Series(high[some]))
    if some.all():
        return partials
    nothing = pl.DataFrame(
        [pl.Series(partial.name, [partial.empty], dtype=partial.dtype) for partial in aggregation.partials]
    )
    return take_rows(vstack_frames([partials, nothing]), np.where(some, np.cumsum(some) - 1, partials.height))


def _joins(column: PartialColumn, longest: int) -> bool:
    """Returns whether blocks of a column are computed. For short ranges of lists a direct merge is faster."""
    return column.merge_two is not None or (
        column.merge_operands is not None and not (column.dtype.is_nested() and longest <= _SHORT)
    )


def _is_zero(column: PartialColumn, beyond: Collection[str]) -> bool:
    """Returns whether a partial is a carry of sums that all fit their type."""
    return column.sums is not None and column.merge_two is None and column.sums not in beyond


@dataclass(frozen=True)
class _Merge:
    """The expressions that merge parts. Sums of the columns `beyond` may leave the range of their type."""

    partials: list[PartialColumn]
    beyond: Collection[str]

    @property
    def in_groups(self) -> list[pl.Expr]:
        """The expressions that merge the pieces of a group."""
        return [exact_or_fitting(column, self.beyond).merge.alias(column.name) for column in self.partials]

    @property
    def in_pairs(self) -> list[pl.Expr]:
        """The expressions that merge pieces with later ones, row by row."""
        return [self._pair(column).alias(column.name) for column in self.partials]

    def _pair(self, column: PartialColumn) -> pl.Expr:
        if column.merge_two is not None and column.sums not in self.beyond:
            return column.merge_two(pl.col(column.name), pl.col(_LATER + column.name))
        assert column.merge_operands is not None
        return column.merge_operands(pl.col, lambda name: pl.col(_LATER + name))


def _condensed(
    merge: _Merge, pieces: pl.DataFrame, first: Places, last: Places
) -> tuple[pl.DataFrame, Places, Places]:
    """Returns the same ranges over fewer pieces: pieces without a bound of a range between them are merged.

    If that would not save much, the pieces are returned as they are.
    """
    is_bound = np.zeros(pieces.height + 1, dtype=np.bool_)
    is_bound[first] = is_bound[last] = True
    number = np.cumsum(is_bound)
    count = int(number[-1])
    if count * _WORTH > pieces.height or not count:
        return pieces, first, last
    inside = (number > 0) & (number < count)  # not before the first bound or after the last one
    numbered = pieces.hstack([pl.Series(_RANGE, number[:-1])]).filter(pl.Series(inside[:-1]))
    merged = numbered.group_by(_RANGE, maintain_order=True).agg(merge.in_groups)
    return merged.drop(_RANGE).cast(pieces.schema), number[first] - 1, number[last] - 1


def _from_blocks_in_stretches(
    merge: _Merge, pieces: pl.DataFrame, first: Places, last: Places
) -> pl.DataFrame:
    """Returns the ranges of partials that are computed from blocks.

    Blocks of lists take much memory. So for lists only the blocks of one stretch of pieces are made at once.
    """
    longest = int((last - first).max()) if len(first) else 0
    stretch = first // max(
        1, longest, _STRETCH if any(column.dtype.is_nested() for column in merge.partials) else pieces.height
    )
    order = np.argsort(stretch, kind="stable")
    stretches = []
    for in_stretch in np.split(order, np.flatnonzero(np.diff(stretch[order])) + 1):
        low, high = (int(first[in_stretch].min()), int(last[in_stretch].max())) if len(in_stretch) else (0, 0)
        stretches.append(
            _from_blocks(
                merge, pieces.slice(low, high - low), first[in_stretch] - low, last[in_stretch] - low
            )
        )
    return stretches[0] if len(stretches) == 1 else take_rows(vstack_frames(stretches), np.argsort(order))


def _from_blocks(merge: _Merge, pieces: pl.DataFrame, first: Places, last: Places) -> pl.DataFrame:
    """Returns the merged pieces of each range, from blocks of 1, 2, 4, ... pieces.

    A round uses the blocks of one length for all ranges, and then makes the blocks of twice the length.
    """
    merges = merge.in_pairs
    # Invariant: row i of `ranges` has the merged pieces from first[i] up to at[i]: the first piece, and those
    # of the bits of left[i] below `size`. Row j of `blocks` has the pieces from j up to j + size.
    ranges, blocks = take_rows(pieces, first), pieces
    at, left, size = first + 1, last - first - 1, 1
    while True:
        uses = (left & size) > 0
        if uses.any():
            more = _both(ranges, take_rows(blocks, np.where(uses, at, 0)), merges)
            ranges = more if uses.all() else _chosen(uses, more, ranges)
            at = at + size * uses
        size *= 2
        if not (left >= size).any():
            return ranges
        half = size // 2
        blocks = _both(blocks.head(blocks.height - half), blocks.slice(half), merges)


def _both(earlier: pl.DataFrame, later: pl.DataFrame, merges: list[pl.Expr]) -> pl.DataFrame:
    return earlier.hstack([column.alias(_LATER + column.name) for column in later.get_columns()]).select(
        merges
    )


def _chosen(uses: Mask, more: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of `more` where the mask is true, and those of `ranges` elsewhere."""
    mask = pl.Series(uses)
    return pl.DataFrame(
        [
            column.zip_with(mask, other)
            for column, other in zip(more.get_columns(), ranges.get_columns(), strict=True)
        ]
    )


def _merged(columns: list[PartialColumn], pieces: pl.DataFrame, first: Places, last: Places) -> pl.DataFrame:
    """Returns the ranges of the partials that are not computed from blocks, merged from all their pieces.

    The ranges are merged in portions, so that long ranges cost time and not memory.
    """
    lengths = [
        pieces[column.name].list.len().to_numpy() for column in columns if isinstance(column.dtype, pl.List)
    ]
    before = np.append(0, np.cumsum(1 + sum(lengths, np.zeros(pieces.height, dtype=np.int64))))
    count = np.cumsum(before[last] - before[first])
    cuts = np.flatnonzero(np.diff(count // _TOGETHER)) + 1
    return vstack_frames(
        [
            _merged_at_once(columns, pieces, *portion)
            for portion in zip(np.split(first, cuts), np.split(last, cuts), strict=True)
        ]
    )


def _merged_at_once(
    columns: list[PartialColumn], pieces: pl.DataFrame, first: Places, last: Places
) -> pl.DataFrame:
    lengths = last - first
    ranges = pl.Series(_RANGE, np.repeat(np.arange(len(first)), lengths))
    members = take_rows(pieces, expand_ranges(first, lengths)).hstack([ranges])
    return (
        members.group_by(_RANGE, maintain_order=True)
        .agg(column.merge.alias(column.name) for column in columns)
        .drop(_RANGE)
    )
