"""Sums, differences and products of decimals in process, with the types that Spark gives to them."""

from collections.abc import Callable

import polars as pl

from panewise.standalone.streaming_sql.sql_typed import MAX_DIGITS, Typed, digits_of, refusal, wrong_types


def decimal_result(
    name: str, do: Callable[[pl.Expr, pl.Expr], pl.Expr], left: Typed, right: Typed
) -> pl.Expr:
    """Returns a result that has all its digits.

    Raises:
        SqlError: if its type would have more than 38 digits, as Spark then rounds, and beside other numbers.
    """
    first, second = digits_of(left.dtype), digits_of(right.dtype)
    if first is None or second is None:
        raise wrong_types(name, (left, right), "decimals are computed with decimals and whole numbers")
    p, s, q, t = *first, *second
    scale = s + t if name == "*" else max(s, t)
    precision = p + q + 1 if name == "*" else max(p - s, q - t) + scale + 1
    if precision > MAX_DIGITS:
        rule = f"in process a result has up to {MAX_DIGITS} digits, and the type of this one has {precision}"
        raise refusal(f"{name} of {left.dtype}, {right.dtype}", rule)
    # Polars multiplies in the scale of its operands, so these have that of the result.
    wide = pl.Decimal(MAX_DIGITS, scale)
    return do(left.expr.cast(wide), right.expr.cast(wide)).cast(pl.Decimal(precision, scale))
