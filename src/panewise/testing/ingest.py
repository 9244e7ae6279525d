"""Makes typed DataFrames from dict rows, with flags for values that do not fit their type (semantics 15)."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from panewise.engine.columns import ROW
from panewise.engine.ingest.validate import BAD_TIME, BAD_TYPE, FAULTS, OUT_OF_RANGE
from panewise.spec import Entry
from panewise.standalone.messages import fitted
from panewise.standalone.schema import dtype_of
from panewise.testing.columns import Row

FLAGS: Final = {ROW: pl.Int64(), BAD_TIME: pl.Boolean(), OUT_OF_RANGE: pl.Boolean(), BAD_TYPE: pl.String()}


def schema(types: Mapping[str, str]) -> dict[str, pl.DataType]:
    """Returns the columns of the DataFrame with their types, without the flags.

    >>> schema({"k": "string", "d": "decimal(10,2)"})
    {'k': String, 'd': Decimal(precision=10, scale=2)}
    """
    return {name: dtype_of(name, text) for name, text in types.items()}


def frame(spec: Entry, types: Mapping[str, str], rows: Sequence[Row]) -> pl.DataFrame:
    """Returns the rows as a DataFrame: the columns of `types`, then the flags."""
    rows_frame = fitted(spec, schema(types), rows).frame
    if BAD_TIME not in rows_frame.columns:
        rows_frame = rows_frame.with_columns(
            pl.lit(None if name == BAD_TYPE else False, FLAGS[name]).alias(name) for name in FAULTS
        )
    numbers = pl.Series(ROW, range(len(rows)), pl.Int64())
    return rows_frame.with_columns(numbers).select(*types, *FLAGS)
