"""Partials of the third and fourth powers of deviations from the mean, for skewness and kurtosis.

With d = mean - total mean, the sum of the third powers of the deviations from the total mean is the sum over
all partials of m3 + 3 d m2 + n d^3. That of the fourth powers is the sum of m4 + 4 d m3 + 6 d^2 m2 + n d^4.
"""

from collections.abc import Callable

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn, Side


def deviation_partials(column: str) -> list[PartialColumn]:
    """Returns the partials with the sums of the third and fourth powers of the deviations from the mean."""
    value = pl.col(column).cast(pl.Float64)
    return [_partial(column, value, power, moved) for power, moved in ((3, _third), (4, _fourth))]


def _partial(
    column: str, value: pl.Expr, power: int, moved: Callable[[Side, str, pl.Expr], pl.Expr]
) -> PartialColumn:
    def total_mean(*sides: Side) -> pl.Expr:
        weighted = [side(f"__n:{column}") * side(f"__mean:{column}") for side in sides]
        return pl.sum_horizontal(weighted) / pl.sum_horizontal(side(f"__n:{column}") for side in sides)

    def merge_sides(this: Side, other: Side) -> pl.Expr:
        mean = total_mean(this, other)
        merged = moved(this, column, mean) + moved(other, column, mean)
        return pl.when(this(f"__n:{column}") + other(f"__n:{column}") > 0).then(merged).otherwise(0.0)

    n = pl.col(f"__n:{column}")
    mean = (n * pl.col(f"__mean:{column}")).sum() / n.sum()
    return PartialColumn(
        f"__m{power}:{column}",
        pl.Float64(),
        ((value - value.mean()) ** power).sum(),
        pl.when(n.sum() > 0).then(moved(pl.col, column, mean).sum()).otherwise(0.0),
        0.0,
        merge_sides=merge_sides,
        single=(value - value).fill_null(0.0),  # NaN for an infinite value
    )


def _third(side: Side, column: str, mean: pl.Expr) -> pl.Expr:
    n, m2, m3 = (side(f"__{name}:{column}") for name in ("n", "m2", "m3"))
    d = side(f"__mean:{column}") - mean
    return m3 + 3 * d * m2 + n * d**3


def _fourth(side: Side, column: str, mean: pl.Expr) -> pl.Expr:
    n, m2, m3, m4 = (side(f"__{name}:{column}") for name in ("n", "m2", "m3", "m4"))
    d = side(f"__mean:{column}") - mean
    return m4 + 4 * d * m3 + 6 * d**2 * m2 + n * d**4
