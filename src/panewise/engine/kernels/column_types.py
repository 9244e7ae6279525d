"""The Polars types of column types that have names, such as `array<bigint>`."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

import polars as pl
from polars.datatypes import DataTypeClass

from panewise.spec.column_values import ColumnType

Dtypes: TypeAlias = dict[str, pl.DataType]  # of the columns of a table or a frame, in their order
AnyDtype: TypeAlias = pl.DataType | DataTypeClass  # that of values in lists and structs

NAMED: Final[Mapping[str, pl.DataType]] = {
    "tinyint": pl.Int8(),
    "smallint": pl.Int16(),
    "int": pl.Int32(),
    "bigint": pl.Int64(),
    "float": pl.Float32(),
    "double": pl.Float64(),
    "string": pl.String(),
    "boolean": pl.Boolean(),
    "binary": pl.Binary(),
    "date": pl.Date(),
    "timestamp": pl.Datetime("us", "UTC"),
    "timestamp_ntz": pl.Datetime("us"),
}


def polars_type(kind: ColumnType) -> pl.DataType:
    """Returns the Polars type of a column type. A map is a list of its entries (semantics 31.20).

    >>> polars_type(ColumnType.parse("map<string,decimal(10,2)>"))
    List(Struct({'key': String, 'value': Decimal(precision=10, scale=2)}))
    """
    inner = {name: polars_type(part) for name, part in kind.fields}
    match kind.name:
        case "array":
            return pl.List(inner["element"])
        case "struct":
            return pl.Struct(inner)
        case "map":
            return pl.List(pl.Struct(inner))
        case "decimal":
            return pl.Decimal(kind.precision, kind.scale)
    return NAMED[kind.name]


def without_maps(dtype: AnyDtype) -> pl.DataType:
    """Returns the type with lists of structs of `key` and `value` in the place of maps.

    >>> without_maps(pl.List(pl.Map(pl.String, pl.Int64)))
    List(List(Struct({'key': String, 'value': Int64})))
    """
    return with_leaves(dtype, lambda leaf: leaf)


def whole_instants(dtype: AnyDtype) -> pl.DataType:
    """Returns the type with whole numbers in place of instants.

    >>> whole_instants(pl.List(pl.Datetime("us", "UTC")))
    List(Int64)
    """
    return with_leaves(dtype, lambda leaf: pl.Int64() if isinstance(leaf, pl.Datetime) else leaf)


def with_leaves(dtype: AnyDtype, change: Callable[[pl.DataType], pl.DataType]) -> pl.DataType:
    """Returns a type with other types of its values, however deep they are nested, and without maps.

    >>> with_leaves(pl.Struct({"a": pl.List(pl.Int8)}), lambda leaf: pl.Int64())
    Struct({'a': List(Int64)})
    """
    match dtype:
        case pl.Map():
            entry = {"key": with_leaves(dtype.key, change), "value": with_leaves(dtype.value, change)}
            return pl.List(pl.Struct(entry))
        case pl.Array():
            return pl.Array(with_leaves(dtype.inner, change), dtype.size)
        case pl.List():
            return pl.List(with_leaves(dtype.inner, change))
        case pl.Struct():
            return pl.Struct({field.name: with_leaves(field.dtype, change) for field in dtype.fields})
    return change(cast(pl.DataType, dtype))
