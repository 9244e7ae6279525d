"""Writes frames as Arrow IPC streams that contain only the text of their own rows.

Polars shares the text of a string column between frames: a few rows gathered from a long frame refer to all
of its text. If the strings are in lists or structs, Polars also writes all of that text. So frames with such
columns are written by Arrow, whose plain string type contains only the text of the rows.
"""

from typing import Any, BinaryIO, Literal, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

StreamBytes: TypeAlias = bytes | memoryview
RunRows: TypeAlias = pl.DataFrame | pa.Table
Compression: TypeAlias = Literal["lz4", "uncompressed"]
_LONG = 1 << 22  # from this many bytes of a frame on, returning memory costs little compared with the copy


def write_stream(rows: RunRows, into: BinaryIO, compression: Compression = "uncompressed") -> None:
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
    """Returns a frame as a table with a copy of only its own text; None if no copy is needed.

    No copy is needed if Polars itself writes no other text. Arrow makes the copy, as its memory can be
    returned to the system at once (:func:`release_memory`). Memory of Polars stays with the process for a
    while.
    """
    if not shares_text(frame):
        return None
    whole = frame.rechunk()
    plain = whole.clear().to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    table = None
    if frame.estimated_size() >= _LONG:
        release_memory()  # frees the memory of earlier tables before this one needs more
        table = _with_views(whole)
    if table is None:
        table = whole.to_arrow(compat_level=pl.CompatLevel.oldest())
    if not whole.height:
        return plain.empty_table()
    columns = [
        _compact_copy(column.chunk(0)).cast(field.type)
        for column, field in zip(table.columns, plain, strict=True)
    ]
    return pa.table(columns, schema=plain)


def _with_views(frame: pl.DataFrame) -> pa.Table | None:
    """Returns a frame as a table that shares its text, which Polars then does not copy.

    Returns None if Arrow refuses the table. It refuses slices of list columns in which all lists are empty,
    as Polars gives these offsets beyond their end.
    """
    try:
        table = frame.to_arrow(compat_level=pl.CompatLevel.newest())
        table.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return table


def _compact_copy(column: pa.Array) -> pa.Array:
    """Returns a copy of a column in memory of its own, with offsets from 0.

    There are two reasons for a copy. A buffer of Polars keeps all text of its column in memory. And the empty
    children of a slice have offsets beyond the end of their buffers. Arrow would write a stream of these that
    cannot be read.
    """
    if len(column) == 0:
        return pa.nulls(0, column.type)
    if pa.types.is_large_list(column.type):
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()
        values = _compact_copy(column.values.slice(first, last - first))
        offsets = pc.subtract(column.offsets, first)
        return pa.LargeListArray.from_arrays(offsets, values, mask=column.is_null())
    if pa.types.is_struct(column.type):
        fields = [_compact_copy(column.field(place)) for place in range(column.type.num_fields)]
        names = [field.name for field in column.type]
        return pa.StructArray.from_arrays(fields, names, mask=column.is_null())
    return pa.concat_arrays([column, column.slice(0, 0)])


def shares_text(frame: pl.DataFrame) -> bool:
    """Returns whether a frame has strings or bytes in lists or structs."""
    return any(dtype.is_nested() and _has_text(dtype) for dtype in frame.dtypes)


def release_memory() -> None:
    """Returns unused memory of Arrow to the system. Do not call it if that memory is soon needed again."""
    pa.default_memory_pool().release_unused()


def table_of(stream: StreamBytes) -> pa.Table:
    """Returns an Arrow IPC stream as a table. If it is not compressed, the table uses its memory."""
    return pa.ipc.open_stream(pa.py_buffer(stream)).read_all()


def frame_of_table(table: pa.Table) -> pl.DataFrame:
    """Returns a table as a frame, which uses the memory of the table."""
    frame: Any = pl.from_arrow(table, rechunk=False)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _has_text(dtype: pl.DataType) -> bool:
    """Returns whether a column of this type contains strings or bytes, at any depth."""
    if isinstance(dtype, pl.List):
        return _has_text(as_instance(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return any(_has_text(as_instance(field.dtype)) for field in dtype.fields)
    return dtype in (pl.String, pl.Binary)


def as_instance(dtype: object) -> pl.DataType:
    """Returns a type as an instance. For a type without parameters Polars may give the class instead."""
    instance = dtype() if isinstance(dtype, type) else dtype
    assert isinstance(instance, pl.DataType)
    return instance
