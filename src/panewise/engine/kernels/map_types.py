"""Nested column types with other leaves, and without maps: Polars works with lists of their entries."""

from collections.abc import Callable
from typing import Any

import polars as pl


def without_maps(dtype: Any) -> pl.DataType:
    """Returns the type with lists of structs of `key` and `value` in the place of maps.

    >>> without_maps(pl.List(pl.Map(pl.String, pl.Int64)))
    List(List(Struct({'key': String, 'value': Int64})))
    """
    return with_leaves(dtype, lambda leaf: leaf)


def whole_instants(dtype: Any) -> pl.DataType:
    """Returns the type with whole numbers in place of instants.

    >>> whole_instants(pl.List(pl.Datetime("us", "UTC")))
    List(Int64)
    """
    return with_leaves(dtype, lambda leaf: pl.Int64() if isinstance(leaf, pl.Datetime) else leaf)


def with_leaves(dtype: Any, change: Callable[[pl.DataType], pl.DataType]) -> pl.DataType:
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
    return change(dtype)
