"""Choices between values in process, such as CASE: results have the type that the values have in common."""

from collections.abc import Callable, Sequence

import polars as pl

from panewise.standalone.streaming_sql.sql_typed import Function, Typed, check_types_of, common_type


def case(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns CASE: the value of the first condition that is true."""
    *branches, default = arguments
    accepted = all(isinstance(condition.dtype, (pl.Boolean, pl.Null)) for condition in branches[::2])
    check_types_of(name, branches[::2], accepted=accepted, rule="a choice has conditions")
    dtype = _one_type(name, [*branches[1::2], default])
    choice = default.expr.cast(dtype)
    for condition, value in reversed([*zip(branches[::2], branches[1::2], strict=True)]):
        choice = pl.when(condition.expr.cast(pl.Boolean)).then(value.expr.cast(dtype)).otherwise(choice)
    return choice


def if_else(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns IF, whose last value is null if there is none."""
    condition, *values = arguments
    default = values[1] if len(values) > 1 else Typed(pl.lit(None), pl.Null())
    return case(name, [condition, values[0], default])


def nvl2(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns one value if the first one is not null, and another one if it is."""
    first, *values = arguments
    return case(name, [Typed(first.expr.is_not_null(), pl.Boolean()), values[0], values[1]])


def _one_type(name: str, values: Sequence[Typed]) -> pl.DataType:
    """Returns the type that values have in common.

    Raises:
        SqlError: if there is none.
    """
    dtype: pl.DataType = pl.Null()
    for value in values:
        both = common_type(dtype, value.dtype)
        rule = "all results of CASE, IF and COALESCE have one type, or are numbers, not DECIMAL and DOUBLE"
        check_types_of(name, values, accepted=both is not None, rule=rule)
        assert both is not None, "which is checked"
        dtype = both
    return dtype


def coalesce(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns the first value that is not null."""
    dtype = _one_type(name, arguments)
    return pl.coalesce([argument.expr.cast(dtype) for argument in arguments])


def extreme(do: Callable[..., pl.Expr]) -> Function:
    """Returns the least or the greatest value of those that are not null."""

    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        accepted = len(arguments) > 1 and not any(argument.is_float for argument in arguments)
        check_types_of(
            name, arguments, accepted=accepted, rule="whole numbers, texts and instants are compared"
        )
        dtype = _one_type(name, arguments)
        return do(*(argument.expr.cast(dtype) for argument in arguments))

    return function
