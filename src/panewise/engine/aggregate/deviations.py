"""Partials of the third and fourth powers of deviations from the mean, for skewness and kurtosis.

With d = mean - total mean, the sum of the third powers of the deviations from the total mean is the sum over
all partials of m3 + 3 d m2 + n d^3. That of the fourth powers is the sum of m4 + 4 d m3 + 6 d^2 m2 + n d^4.
"""

from collections.abc import Callable

import polars as pl

from panewise.engine.aggregate.partials import (
    Operand,
    PartialColumn,
    mean_of_operands,
    merged_mean,
    of_deviations,
)


def deviation_partials(column: str) -> list[PartialColumn]:
    """Returns the partials with the sums of the third and fourth powers of the deviations from the mean."""
    value = pl.col(column).cast(pl.Float64)
    return [_partial(column, value, power, moved) for power, moved in ((3, _third), (4, _fourth))]


def _partial(
    column: str, value: pl.Expr, power: int, moved: Callable[[Operand, str, pl.Expr], pl.Expr]
) -> PartialColumn:
    n, mean = f"__n:{column}", f"__mean:{column}"

    def of_operands(this: Operand, other: Operand) -> pl.Expr:
        center = mean_of_operands(n, mean, this, other)
        return moved(this, column, center) + moved(other, column, center)

    lift = ((value - value.mean()) ** power).sum()
    merged = moved(pl.col, column, merged_mean(n, mean)).sum()
    single = value - value  # NaN for an infinite value
    return of_deviations(f"__m{power}:{column}", n, lift, merged, of_operands, single)


def _third(side: Operand, column: str, mean: pl.Expr) -> pl.Expr:
    n, m2, m3 = (side(f"__{name}:{column}") for name in ("n", "m2", "m3"))
    d = side(f"__mean:{column}") - mean
    return m3 + 3 * d * m2 + n * d**3


def _fourth(side: Operand, column: str, mean: pl.Expr) -> pl.Expr:
    n, m2, m3, m4 = (side(f"__{name}:{column}") for name in ("n", "m2", "m3", "m4"))
    d = side(f"__mean:{column}") - mean
    return m4 + 4 * d * m3 + 6 * d**2 * m2 + n * d**4
