"""Types of columns under their Spark names, and the types of the results of aggregates, as in Spark."""

from collections.abc import Mapping

import polars as pl

from panewise.engine.aggregate import user
from panewise.engine.kernels.column_types import NAMED, AnyDtype
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import LISTS
from panewise.spec.column_types import Type

_BOOLEAN = frozenset({"count_if", "bool_and", "bool_or"})
_COUNTS = frozenset({"count", "count_if", "count_distinct", "approx_count_distinct", "regr_count"})
_SAME = frozenset({"min", "max", "first", "last", "mode", "max_by", "min_by", "bit_and", "bit_or", "bit_xor"})


_NAMES: dict[AnyDtype, str] = {
    **{dtype.base_type(): name for name, dtype in NAMED.items()},
    pl.Null: "void",
}


def types_of(schema: Mapping[str, pl.DataType]) -> dict[str, Type]:
    """Returns the types of the columns under their Spark names, for the checks of specifications.

    >>> {name: str(kind) for name, kind in types_of({"v": pl.Decimal(10, 2),
    ...     "t": pl.Datetime("us", "UTC")}).items()}
    {'v': 'decimal(10,2)', 't': 'timestamp'}
    """
    return {name: Type(_name(dtype)) for name, dtype in schema.items()}


def _name(dtype: AnyDtype) -> str:
    match dtype:
        case pl.Decimal():
            return f"decimal({dtype.precision or 38},{dtype.scale})"
        case pl.Datetime():
            return "timestamp_ntz" if dtype.time_zone is None else "timestamp"
        case pl.Duration() if dtype.time_unit == "us":
            return "interval day to second"
        case pl.List() | pl.Array():
            return f"array<{_name(dtype.inner)}>"
        case pl.Struct():
            return f"struct<{','.join(f'{field.name}:{_name(field.dtype)}' for field in dtype.fields)}>"
    return _NAMES.get(dtype.base_type(), "bigint" if dtype.is_integer() else str(dtype).lower())


def result_type(aggregate: Aggregate, schema: dict[str, pl.DataType]) -> pl.DataType:
    """Returns the type of the result of an aggregate, as in Spark."""
    fn = aggregate.fn
    dtype = schema[aggregate.column] if aggregate.column is not None else pl.Int64()
    if fn in _COUNTS:
        return pl.Int64()
    if fn in LISTS:
        return pl.List(dtype)
    if aggregate.user is not None:
        return user.result_type(aggregate.user)
    if fn in _SAME or fn in _BOOLEAN:
        return dtype
    if fn in ("sum", "sum_distinct"):
        return total_type(dtype)
    return (
        mean_type(dtype) if fn in ("avg", "avg_distinct") and isinstance(dtype, pl.Decimal) else pl.Float64()
    )


def total_type(dtype: pl.DataType) -> pl.DataType:
    """Returns the type of a sum."""
    if not isinstance(dtype, pl.Decimal):
        return pl.Float64() if dtype.is_float() else pl.Int64()
    return pl.Decimal(min(38, (dtype.precision or 38) + 10), dtype.scale)


def mean_type(dtype: pl.Decimal) -> pl.Decimal:
    """Returns the type of a mean of decimals."""
    return pl.Decimal(min(38, (dtype.precision or 38) + 4), min(38, dtype.scale + 4))
