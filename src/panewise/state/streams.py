"""Frames as Arrow IPC streams that hold what the rows use, and no more.

Polars shares the text of a string column between frames: a few rows gathered from a long frame refer to all of its text.
Where the strings are in lists or structs, Polars also writes all of that text. So such columns are written through Arrow,
whose plain string type has the text of the rows alone.
"""

import io
from typing import Literal, TypeAlias

import polars as pl
import pyarrow as pa

Compression: TypeAlias = Literal["lz4", "uncompressed"]


def write_stream(frame: pl.DataFrame, into: io.BytesIO, compression: Compression = "uncompressed") -> None:
    """Writes a frame as one Arrow IPC stream.

    >>> texts = pl.DataFrame({"texts": [["a" * 1000], ["b" * 1000]]})
    >>> into = io.BytesIO()
    >>> write_stream(texts.head(1), into)
    >>> len(into.getvalue()) < 2000
    True
    """
    if not any(dtype.is_nested() and _has_text(dtype) for dtype in frame.dtypes):
        frame.write_ipc_stream(into, compression=compression)
        return
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    options = pa.ipc.IpcWriteOptions(compression=None if compression == "uncompressed" else compression)
    with pa.ipc.new_stream(into, table.schema, options=options) as writer:
        writer.write_table(table)


def _has_text(dtype: pl.DataType) -> bool:
    """Whether a column of this type has strings or bytes, at any depth."""
    if isinstance(dtype, pl.List):
        return _has_text(_made(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return any(_has_text(_made(field.dtype)) for field in dtype.fields)
    return dtype in (pl.String, pl.Binary)


def _made(dtype: object) -> pl.DataType:
    """A type as an instance of its class."""
    made = dtype() if isinstance(dtype, type) else dtype
    assert isinstance(made, pl.DataType)
    return made
