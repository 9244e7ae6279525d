"""Frames as Arrow IPC streams that hold what the rows use, and no more.

Polars shares the text of a string column between frames: a few rows gathered from a long frame refer to all of its text.
Where the strings are in lists or structs, Polars also writes all of that text. So such columns are written through Arrow,
whose plain string type has the text of the rows alone.
"""

from typing import Any, BinaryIO, Literal, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

Buffer: TypeAlias = bytes | memoryview
Rows: TypeAlias = pl.DataFrame | pa.Table
Compression: TypeAlias = Literal["lz4", "uncompressed"]
_LONG = 1 << 22  # bytes of a frame from which giving back memory costs next to nothing beside the copy


def write_stream(rows: Rows, into: BinaryIO, compression: Compression = "uncompressed") -> None:
    """Writes rows as one Arrow IPC stream.

    >>> import io
    >>> texts = pl.DataFrame({"texts": [["a" * 1000], ["b" * 1000]]})
    >>> into = io.BytesIO()
    >>> write_stream(texts.head(1), into)
    >>> len(into.getvalue()) < 2000
    True
    """
    table = own_text(rows) if isinstance(rows, pl.DataFrame) else rows
    if table is None:
        assert isinstance(rows, pl.DataFrame)
        rows.rechunk().write_ipc_stream(into, compression=compression)
        return
    options = pa.ipc.IpcWriteOptions(compression=None if compression == "uncompressed" else compression)
    with pa.ipc.new_stream(into, table.schema, options=options) as writer:
        writer.write_table(table)


def own_text(frame: pl.DataFrame) -> pa.Table | None:
    """A frame as a table with a copy of its own text, and no other; None if Polars writes no other text either.

    Arrow makes the copy. Its memory can be given back at once (:func:`give_back`), that of Polars stays with the
    process for a while.
    """
    if not shares_text(frame):
        return None
    whole = frame.rechunk()
    plain = whole.clear().to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    table = None
    if frame.estimated_size() >= _LONG:
        give_back()  # what an earlier table needed does not stay beside this one
        table = _with_views(whole)
    if table is None:
        table = whole.to_arrow(compat_level=pl.CompatLevel.oldest())
    if not whole.height:
        return plain.empty_table()
    columns = [_apart(column.chunk(0)).cast(field.type) for column, field in zip(table.columns, plain, strict=True)]
    return pa.table(columns, schema=plain)


def _with_views(frame: pl.DataFrame) -> pa.Table | None:
    """A frame as a table that shares its text, as Polars makes no copy of it then; None if Arrow refuses the table.

    Arrow refuses columns of lists that are all empty where they are slices: Polars gives them offsets beyond their end.
    """
    try:
        table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return table


def _apart(column: pa.Array) -> pa.Array:
    """A column in memory of its own, with offsets from 0.

    A buffer that belongs to Polars keeps all text of its column in memory. The empty children of a slice, as Polars
    makes them, have offsets beyond the end of their buffers: Arrow then writes a stream that cannot be read.
    """
    if len(column) == 0:
        return pa.nulls(0, column.type)
    if pa.types.is_large_list(column.type):
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        values = _apart(column.values.slice(first, last - first))
        offsets = pc.subtract(column.offsets, first)
        return pa.LargeListArray.from_arrays(offsets, values, mask=column.is_null())
    if pa.types.is_struct(column.type):
        fields = [_apart(column.field(place)) for place in range(column.type.num_fields)]
        names = [field.name for field in column.type]
        return pa.StructArray.from_arrays(fields, names, mask=column.is_null())
    return pa.concat_arrays([column, column.slice(0, 0)])


def shares_text(frame: pl.DataFrame) -> bool:
    """Whether a frame has text in lists or structs."""
    return any(dtype.is_nested() and _has_text(dtype) for dtype in frame.dtypes)


def give_back() -> None:
    """Returns the memory that tables needed to the system. What is about to be used again is better kept."""
    pa.default_memory_pool().release_unused()


def table_of(stream: Buffer) -> pa.Table:
    """An Arrow IPC stream as a table, which uses the memory of `stream` where that is not compressed."""
    return pa.ipc.open_stream(pa.py_buffer(stream)).read_all()


def frame_of_table(table: pa.Table) -> pl.DataFrame:
    """A table as a frame, which uses the memory of the table."""
    frame: Any = pl.from_arrow(table, rechunk=False)
    assert isinstance(frame, pl.DataFrame)
    return frame


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
