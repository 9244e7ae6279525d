"""The user's names of columns, in the place of inner names, in what operators emit (semantics 35.4)."""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl
from pyspark.sql.types import ArrayType, StructField, StructType

from panewise.engine.columns import REASON

_ROWS: Final = ("delta", "tuples")  # the columns of panes that contain rows


def rows_restored(target: StructType) -> list[pl.Expr]:
    """Returns the columns of panes that contain rows, with the names of the target in these."""
    return [
        pl.col(column.name).list.eval(pl.element().struct.rename_fields(_inside(column).names))
        for column in target.fields
        if _contains_rows(column)
    ]


def reason(restored: Mapping[str, str]) -> pl.Expr:
    """Returns the reasons of late and invalid rows, with the user's names."""
    text = pl.col(REASON)
    for own, name in restored.items():
        text = text.str.replace_all(rf"\b{pl.escape_regex(own)}\b", name.replace("$", "$$"))
    return text


def _contains_rows(field: StructField) -> bool:
    dtype = field.dataType
    return field.name in _ROWS and isinstance(dtype, ArrayType) and isinstance(dtype.elementType, StructType)


def _inside(field: StructField) -> StructType:
    dtype: Any = field.dataType
    rows: StructType = dtype.elementType
    return rows


def field_restored(field: StructField, names: Mapping[str, str]) -> StructField:
    """Returns a column of panes with the user's names, also in the rows that it contains."""
    dtype = field.dataType
    if _contains_rows(field):
        inside = [
            StructField(names.get(inner.name, inner.name), inner.dataType) for inner in _inside(field).fields
        ]
        dtype = ArrayType(StructType(inside))
    return StructField(names.get(field.name, field.name), dtype)
