"""Maps in the types of columns: all of Polars works with lists of their entries."""

from typing import Any

import polars as pl


def without_maps(dtype: Any) -> pl.DataType:
    """Returns the type with lists of structs of `key` and `value` in the place of maps.

    >>> without_maps(pl.List(pl.Map(pl.String, pl.Int64)))
    List(List(Struct({'key': String, 'value': Int64})))
    """
    made: pl.DataType = dtype
    match dtype:
        case pl.Map():
            made = pl.List(pl.Struct({"key": without_maps(dtype.key), "value": without_maps(dtype.value)}))
        case pl.List():
            made = pl.List(without_maps(dtype.inner))
        case pl.Struct():
            made = pl.Struct({field.name: without_maps(field.dtype) for field in dtype.fields})
    return made
