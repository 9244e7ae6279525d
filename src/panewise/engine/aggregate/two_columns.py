"""Partials of aggregates of two columns: the covariance, the correlation and the regression line.

A row counts if neither value is null. A partial has the number n of these rows, the means of both columns,
and sums c of products of deviations from the means. Such sums merge as sums of squares do (Chan's formula):
the merged sum is the sum of c + n d d' over the partials, where d and d' are the distances of the means of
the partial from the merged means.

Invariant: only deviations are multiplied, so values that are large but near each other keep their digits.
Cost: two passes over the rows of a group, one for the means and one for the products, and so over partials.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

import polars as pl

from panewise.engine.aggregate.partials import (
    Operand,
    PartialColumn,
    additive_partial,
    extreme,
    mean_of_operands,
    mean_partial,
    merged_mean,
    of_deviations,
    of_own,
)
from panewise.spec import Aggregate

Columns: TypeAlias = Mapping[str, pl.Expr]
_PRODUCTS: Final = {"yy": ("y", "y"), "xx": ("x", "x"), "xy": ("x", "y")}


def pair_partials(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> list[PartialColumn]:
    """Returns the partials of an aggregate of two columns, which is the `index`-th of its specification."""
    assert aggregate.column is not None
    assert aggregate.by is not None
    columns = {"y": aggregate.column, "x": aggregate.by}
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in columns.values())
    values = {side: pl.col(name).filter(known).cast(pl.Float64) for side, name in columns.items()}
    each = {side: pl.when(known).then(pl.col(name).cast(pl.Float64)) for side, name in columns.items()}
    n = _name("n", index)
    partials = [additive_partial(n, pl.Int64(), known.sum().cast(pl.Int64), known.cast(pl.Int64))]
    partials += [mean_partial(_name(side, index), n, values[side], each[side]) for side in columns]
    partials += [_products(name, index, values, each) for name in _PRODUCTS]
    partials += [
        _extreme(fn, side, index, values[side], each[side]) for side in columns for fn in ("min", "max")
    ]
    return partials


def _name(what: str, index: int) -> str:
    return f"__pairs_{what}{index}"


def _products(name: str, index: int, values: Columns, each: Columns) -> PartialColumn:
    """Returns the partial with the sum of products of deviations, such as "xy", from the means."""
    (first, second), n, own = _PRODUCTS[name], _name("n", index), _name(name, index)
    sides = {side: _name(side, index) for side in (first, second)}

    def moved(of: Operand, means: dict[str, pl.Expr]) -> pl.Expr:
        distances = [of(sides[side]) - means[side] for side in (first, second)]
        return of(own) + of(n) * distances[0] * distances[1]

    def of_operands(this: Operand, other: Operand) -> pl.Expr:
        means = {side: mean_of_operands(n, mean, this, other) for side, mean in sides.items()}
        return moved(this, means) + moved(other, means)

    merged = moved(pl.col, {side: merged_mean(n, mean) for side, mean in sides.items()}).sum()
    deviations = [values[side] - values[side].mean() for side in (first, second)]
    alone = (each[first] - each[first]) * (each[second] - each[second])  # NaN for an infinite value
    return of_deviations(own, n, (deviations[0] * deviations[1]).sum(), merged, of_operands, alone)


def _extreme(fn: str, side: str, index: int, values: pl.Expr, each: pl.Expr) -> PartialColumn:
    name, dtype = _name(f"{fn}_{side}", index), pl.Float64()
    horizontal = pl.min_horizontal if fn == "min" else pl.max_horizontal
    lift, merge = extreme(fn, values, dtype), extreme(fn, pl.col(name), dtype)
    return PartialColumn(name, dtype, lift, merge, None, merge_operands=of_own(name, horizontal), single=each)


def pair_result(aggregate: Aggregate, index: int) -> pl.Expr:
    """Returns the expression of the result.

    A column whose values are all equal leaves the correlation, or the line, undefined. Then it is null.
    """
    column = {what: pl.col(_name(what, index)) for what in ("n", "y", "x", *_PRODUCTS)}
    n, fn = column["n"].cast(pl.Float64), aggregate.fn
    if fn == "regr_count":
        return column["n"]
    if fn == "covar_samp":
        return pl.when(n > 1).then(column["xy"] / (n - 1))
    flat_x, flat_y = _is_flat("x", index), _is_flat("y", index)
    if fn == "corr":
        return pl.when((n > 1) & ~flat_x & ~flat_y).then(column["xy"] / (column["xx"] * column["yy"]).sqrt())
    slope = column["xy"] / column["xx"]
    if fn in ("regr_slope", "regr_intercept", "regr_r2"):
        fit = pl.when(flat_y).then(1.0).otherwise(column["xy"] ** 2 / (column["xx"] * column["yy"]))
        lines = {"regr_slope": slope, "regr_intercept": column["y"] - slope * column["x"], "regr_r2": fit}
        return pl.when((n > 0) & ~flat_x).then(lines[fn])
    what = {"regr_avgy": "y", "regr_avgx": "x", "regr_syy": "yy", "regr_sxx": "xx"}.get(fn, "xy")
    return pl.when(n > 0).then(column[what] / n if fn == "covar_pop" else column[what])


def _is_flat(side: str, index: int) -> pl.Expr:
    """Returns whether all values are equal. Rounding may leave a sum of squares above 0."""
    equal = pl.col(_name(f"min_{side}", index)) == pl.col(_name(f"max_{side}", index))
    return equal & pl.col(_name(side * 2, index)).is_finite()
