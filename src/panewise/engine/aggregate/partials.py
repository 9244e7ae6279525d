"""Partials of aggregates: how rows become partials, and how partials merge.

An aggregate is compiled into *partial columns*, which are columns of the window table. Aggregates share those
that they have in common: count, avg and stddev of a column share the count of its non-null values. A partial
column has these expressions:

- ``lift``: rows of one group -> partial, in a ``group_by().agg`` over rows in arrival order;
- ``merge``: partials of one group -> partial, in a ``group_by().agg`` over partials in arrival order;
- ``empty``: the partial of no rows;
- ``single`` (if it is simple): the partial of each row alone, as an expression over rows;
- ``merge_two`` (if it is simple): the merge of an earlier and a later partial, row by row;
- ``merge_operands``: as ``merge_two``, for two partials of at least one row each. It may also read other
  columns of the two partials. Only columns that grow with their rows have neither ``merge_two`` nor
  ``merge_operands``.

Invariant: merging is associative, and the partial of no rows is its neutral element. So the result does not
depend on where batches are cut.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import add, and_, mul, or_, xor
from typing import Any, TypeAlias

import polars as pl

from panewise.engine.aggregate import sketch, user
from panewise.engine.columns import ROWS
from panewise.engine.kernels.sorting import Places
from panewise.spec import Aggregate

MergeOfTwo: TypeAlias = Callable[[pl.Expr, pl.Expr], pl.Expr]
Operand: TypeAlias = Callable[[str], pl.Expr]  # returns a partial of one of two partials, by its name
OperandMerge: TypeAlias = Callable[[Operand, Operand], pl.Expr]
RangeFunction: TypeAlias = Callable[[pl.DataFrame, Places, Places], pl.Series]


@dataclass(frozen=True)
class Fitting:
    """The plain lift and merge of a sum, or of its carry, for when no sum leaves the range of its type."""

    lift: pl.Expr
    merge: pl.Expr


@dataclass(frozen=True)
class PartialColumn:
    """One partial column."""

    name: str
    dtype: pl.DataType
    lift: pl.Expr
    merge: pl.Expr
    empty: Any
    sums: str | None = (
        None  # the input column, if the partial is a sum of integers, or the carry of such a sum
    )
    limit: int = 0  # of such a partial: sums with a smaller absolute value fit its type, unscaled if decimal
    fitting: Fitting | None = None  # of such a partial: a faster lift and merge for sums that fit their type
    merge_two: MergeOfTwo | None = None  # as `merge`, for an earlier and a later partial
    merge_operands: OperandMerge | None = (
        None  # as `merge_two`, for partials that contain rows; used if `merge_two` is None
    )
    single: pl.Expr | None = None  # as `lift`, for each row alone
    over_ranges: RangeFunction | None = None  # computes the partial over ranges of pieces, without merging
    since_firing: bool = False  # of rows since the last firing only: emptied at each firing, in any mode


def additive_partial(name: str, dtype: pl.DataType, lift: pl.Expr, single: pl.Expr) -> PartialColumn:
    """Returns a partial whose partials are added, 0 without rows."""
    empty = 0.0 if dtype.is_float() else 0
    return PartialColumn(name, dtype, lift, pl.col(name).sum(), empty, merge_two=add, single=single)


def rows_partial() -> PartialColumn:
    """Returns the partial with the number of rows."""
    return additive_partial(ROWS, pl.Int64(), pl.len().cast(pl.Int64), pl.repeat(1, pl.len(), dtype=pl.Int64))


def count_partial(column: str) -> PartialColumn:
    """Returns the partial with the number of non-null values."""
    value = pl.col(column)
    return additive_partial(
        f"__n:{column}", pl.Int64(), value.count().cast(pl.Int64), value.is_not_null().cast(pl.Int64)
    )


def true_partial(column: str) -> PartialColumn:
    """Returns the partial with the number of rows in which a Boolean column is true."""
    value = pl.col(column)
    return additive_partial(
        f"__true:{column}", pl.Int64(), value.sum().cast(pl.Int64), value.fill_null(False).cast(pl.Int64)
    )


def float_sum_partial(column: str) -> PartialColumn:
    """Returns the partial with the sum as double, which cannot overflow. It is for means, not of decimals."""
    value = pl.col(column).cast(pl.Float64)
    return additive_partial(f"__fsum:{column}", pl.Float64(), value.sum(), value.fill_null(0.0))


def product_partial(column: str) -> PartialColumn:
    """Returns the partial with the product as double, which is null without values."""
    value = pl.col(column).cast(pl.Float64)
    return _folded(f"__product:{column}", pl.Float64(), value, pl.Expr.product, mul)


def bits_partial(fn: str, column: str, dtype: pl.DataType) -> PartialColumn:
    """Returns the partial with the bitwise AND, OR or XOR of the values, which is null without values."""
    total, combine = {
        "bit_and": (pl.Expr.bitwise_and, and_),
        "bit_or": (pl.Expr.bitwise_or, or_),
        "bit_xor": (pl.Expr.bitwise_xor, xor),
    }[fn]
    return _folded(f"__{fn}:{column}", dtype, pl.col(column), total, combine)


def _folded(
    name: str, dtype: pl.DataType, value: pl.Expr, total: Callable[[pl.Expr], pl.Expr], combine: MergeOfTwo
) -> PartialColumn:
    """Returns a partial that combines values with each other, and is null without values."""
    lift, merge = (null_if_none(values, total(values.drop_nulls())) for values in (value, pl.col(name)))
    return PartialColumn(name, dtype, lift, merge, None, merge_two=either(combine), single=value)


def null_if_none(values: pl.Expr, total: pl.Expr) -> pl.Expr:
    """Returns the total of values, null if there are none."""
    return pl.when(values.count() > 0).then(total)


def either(both: MergeOfTwo) -> MergeOfTwo:
    """Returns a merge that returns the other partial if one is null, and otherwise merges both."""
    return lambda earlier, later: pl.coalesce(both(earlier, later), earlier, later)


def extreme_partial(fn: str, column: str, dtype: pl.DataType) -> PartialColumn:
    """Returns the partial with the minimum or maximum. NaN is above every number (semantics 24.2)."""
    name = f"__{fn}:{column}"
    horizontal: MergeOfTwo = pl.min_horizontal if fn == "min" else pl.max_horizontal
    merge_two = horizontal if dtype.is_integer() or dtype.is_temporal() else None
    merge_operands = of_own(
        name, lambda this, other: pl.when(ahead(fn, this, other)).then(this).otherwise(other)
    )
    value = pl.col(column)
    lift, merge = extreme(fn, value, dtype), extreme(fn, pl.col(name), dtype)
    return PartialColumn(
        name, dtype, lift, merge, None, merge_two=merge_two, merge_operands=merge_operands, single=value
    )


def ahead(fn: str, earlier: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Returns whether an earlier value is the extreme of two values.

    Either may be null. NaN is above every number.
    """
    return other.is_null() | (earlier <= other if fn == "min" else earlier >= other)


def extreme(fn: str, values: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Returns the minimum or maximum of the values, null if there are none."""
    if fn == "min":
        return values.min()
    return values.nan_max() if dtype.is_float() else values.max()


def edge_partial(fn: str, column: str, dtype: pl.DataType, *, ignorenulls: bool) -> PartialColumn:
    """Returns the partial of first or last.

    Without ignorenulls a null counts as a value. So the row count must distinguish partials of no rows from
    partials of a null.
    """
    name, column_values = f"__{fn}{'_value' if ignorenulls else ''}:{column}", pl.col(column)
    rows, partials = column_values, pl.col(name).filter(pl.col(ROWS) > 0)
    if ignorenulls:
        rows, partials = rows.drop_nulls(), pl.col(name).drop_nulls()

    def both(earlier: pl.Expr, later: pl.Expr) -> pl.Expr:
        chosen, other = (earlier, later) if fn == "first" else (later, earlier)
        return pl.coalesce(chosen, other) if ignorenulls else chosen

    edge = pl.Expr.first if fn == "first" else pl.Expr.last
    merge_operands = of_own(name, both)
    return PartialColumn(
        name, dtype, edge(rows), edge(partials), None, merge_operands=merge_operands, single=column_values
    )


def of_deviations(
    name: str, n: str, lift: pl.Expr, merged: pl.Expr, of_operands: OperandMerge, single: pl.Expr
) -> PartialColumn:
    """Returns a partial of means or of deviations from them, as double; 0 without values.

    `n` is the partial with the number of values. `merged` and `of_operands` merge a group of partials, or two
    of them, if there are values.
    """

    def merge_operands(this: Operand, other: Operand) -> pl.Expr:
        return pl.when(this(n) + other(n) > 0).then(of_operands(this, other)).otherwise(0.0)

    merge, each = pl.when(pl.col(n).sum() > 0).then(merged).otherwise(0.0), single.fill_null(0.0)
    return PartialColumn(name, pl.Float64(), lift, merge, 0.0, merge_operands=merge_operands, single=each)


def mean_partial(name: str, n: str, values: pl.Expr, single: pl.Expr) -> PartialColumn:
    """Returns the partial with the mean of values. `n` is the partial with their number."""
    of_operands = partial(mean_of_operands, n, name)
    return of_deviations(name, n, values.mean().fill_null(0.0), merged_mean(n, name), of_operands, single)


def merged_mean(n: str, mean: str) -> pl.Expr:
    """Returns the mean of the values of a group of partials."""
    return (pl.col(n) * pl.col(mean)).sum() / pl.col(n).sum()


def mean_of_operands(n: str, mean: str, this: Operand, other: Operand) -> pl.Expr:
    """Returns the mean of the values of two partials."""
    return (this(n) * this(mean) + other(n) * other(mean)) / (this(n) + other(n))


def moment_partials(column: str) -> tuple[PartialColumn, PartialColumn]:
    """Returns the partials with the mean and with the sum of squared deviations from it.

    They are merged by Chan's formula, which avoids cancellation.
    """
    n, mean, m2 = f"__n:{column}", f"__mean:{column}", f"__m2:{column}"
    value, apart = pl.col(column).cast(pl.Float64), pl.col(mean) - merged_mean(n, mean)

    def of_operands(this: Operand, other: Operand) -> pl.Expr:
        center = mean_of_operands(n, mean, this, other)
        spreads = [of(n) * (of(mean) - center) ** 2 for of in (this, other)]
        return this(m2) + other(m2) + spreads[0] + spreads[1]

    # Not var(ddof=0): Polars 2.1 returns 0 for a single NaN if it knows that the keys are sorted.
    lift, merged = ((value - value.mean()) ** 2).sum(), pl.col(m2).sum() + (pl.col(n) * apart**2).sum()
    single = value - value  # NaN for an infinite value, as its variance is
    return mean_partial(mean, n, value, value), of_deviations(m2, n, lift, merged, of_operands, single)


def list_partial(column: str, dtype: pl.DataType) -> PartialColumn:
    """Returns the partial with all non-null values, in arrival order."""
    name = f"__list:{column}"
    lift, merge = pl.col(column).drop_nulls(), pl.col(name).explode().drop_nulls()
    return PartialColumn(name, pl.List(dtype), lift, merge, [], single=alone(column, dtype))


def alone(column: str, dtype: pl.DataType) -> pl.Expr | None:
    """Returns each value as a list of one element, and a null as an empty list.

    None for nested types, because `concat_list` would concatenate values that are lists.
    """
    return None if dtype.is_nested() else pl.concat_list(column).list.drop_nulls()


def set_partial(column: str, dtype: pl.DataType) -> PartialColumn:
    """Returns the partial with each distinct non-null value once, in the order of first arrival."""
    name = f"__set:{column}"
    lift = pl.col(column).drop_nulls().unique(maintain_order=True)
    merge = pl.col(name).explode().drop_nulls().unique(maintain_order=True)
    return PartialColumn(name, pl.List(dtype), lift, merge, [], single=alone(column, dtype))


def sketch_partial(column: str, dtype: pl.DataType, rsd: float) -> PartialColumn:
    """Returns the partial with the smallest hashes of values (:mod:`panewise.engine.aggregate.sketch`)."""
    size = sketch.size_for(rsd)
    name = f"__kmv{size}:{column}"
    different = pl.col(column).drop_nulls().unique()
    hashed = different.map_batches(sketch.hash_values, return_dtype=pl.UInt64, returns_scalar=False)
    lift, merge = sketch.smallest(hashed, size), sketch.smallest(pl.col(name).explode().drop_nulls(), size)
    merge_operands = of_own(
        name, lambda earlier, other: pl.concat_list(earlier, other).list.unique().list.sort().list.head(size)
    )
    single = pl.concat_list(
        pl.col(column).map_batches(sketch.hash_values, return_dtype=pl.UInt64, is_elementwise=True)
    ).list.drop_nulls()
    return PartialColumn(
        name, pl.List(pl.UInt64), lift, merge, [], merge_operands=merge_operands, single=single
    )


def user_partial(aggregate: Aggregate, index: int) -> PartialColumn:
    """Returns the partial with the state of a user-defined aggregate, as JSON text."""
    assert aggregate.user is not None and aggregate.column is not None
    name, columns = f"__user{index}", (aggregate.column, *aggregate.more)
    several = len(columns) > 1
    rows = pl.col(aggregate.column)
    if several:
        rows = pl.struct(pl.col(column).alias(f"{place}") for place, column in enumerate(columns))
    if aggregate.condition is not None:
        rows = rows.filter(pl.col(aggregate.condition))
    lifter = user.lifter(aggregate.user, several=several)
    lift = rows.implode().map_batches(lifter, return_dtype=pl.String, returns_scalar=True)
    merger = user.merger(aggregate.user)
    merge = pl.col(name).implode().map_batches(merger, return_dtype=pl.String, returns_scalar=True)

    def both(this: pl.Expr, other: pl.Expr) -> pl.Expr:
        states = pl.concat_list(this, other)
        return states.map_batches(merger, return_dtype=pl.String, is_elementwise=True)

    empty = user.empty(aggregate.user)
    return PartialColumn(name, pl.String(), lift, merge, empty, merge_operands=of_own(name, both))


def of_own(name: str, both: MergeOfTwo) -> OperandMerge:
    """Returns a merge that reads no partial but the named one."""
    return lambda earlier, other: both(earlier(name), other(name))
