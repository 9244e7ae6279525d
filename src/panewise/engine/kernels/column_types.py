"""The Polars types of column types that have names, such as `array<bigint>`."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from panewise.spec.column_values import ColumnType

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

    >>> polars_type(ColumnType.of("map<string,decimal(10,2)>"))
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
