"""Envelopes: the only rows that travel through Spark's shuffle and state operator.

One holds a whole frame as Arrow IPC streams (see :func:`encode`), or a JSON note.

On the way in: ``rows``, ``partials``, ``invalid``, ``marks``, ``seen`` (JSON: the highest event times of inputs), ``tick``
(there was a batch), ``control`` (JSON). On the way out: ``panes``, ``late``, ``invalid``, ``counts``, and in tests ``held``.
"""

import io
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import polars as pl
import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from panewise.state.streams import write_stream

IN = StructType([StructField("shard", IntegerType()), StructField("kind", StringType()), StructField("payload", BinaryType())])
OUT = StructType([StructField("kind", StringType()), StructField("payload", BinaryType())])
_ARROW_IN = pa.schema([("shard", pa.int32()), ("kind", pa.string()), ("payload", pa.binary())])
_LENGTH = struct.Struct("<I")
# Bytes of an envelope, roughly. Spark copies a value several times on its heap, and none can have more than 2 GB. Its cache cuts at 4 MB.
LARGEST = 4 << 20
_VIEW = 16  # bytes for each value of a text column besides the text; Polars' estimate of a size leaves them out
_LONG = 1 << 16  # bytes of a frame from which on it pays to make its columns narrow
_WIDTHS = ((8, pl.UInt8()), (16, pl.UInt16()), (32, pl.UInt32()))


def encode(frame: pl.DataFrame, alike: Mapping[str, int] | None = None) -> bytes:
    """A frame as a payload: a row with the least value of each column that was made narrow, its length before it, and the rows.

    `alike` are further columns, of 64 bits, with the one value that all rows have; they stand in the first row alone.

    A byte costs a core some 10 ns on its way from one stage to the next (docs/performance.md): numbers and
    instants of 64 bits travel as their distances from the least, in as many bits as the longest one needs.
    """
    widths = _widths(frame) if frame.estimated_size() >= _LONG else {}
    least = frame.select(pl.col(list(widths)).min())
    further = [pl.Series(name, [value], dtype=pl.Int64) for name, value in (alike or {}).items()]
    stream, head = io.BytesIO(), _stream(pl.DataFrame([*least.get_columns(), *further]))
    stream.write(_LENGTH.pack(len(head)))
    stream.write(head)
    far = ((pl.col(name).to_physical() - pl.lit(least[name].to_physical()[0])).cast(width) for name, width in widths.items())
    write_stream(frame.with_columns(far), stream)
    return stream.getvalue()


def pieces(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Returns the rows in pieces of about `LARGEST` bytes, in their order; mostly one piece. Of no rows there is none."""
    size = int(frame.estimated_size()) + _VIEW * sum(map(_texts, frame.iter_columns()))
    rows = frame.height if size <= LARGEST else frame.height * LARGEST // size
    return frame.iter_slices(max(1, rows))


def _texts(column: pl.Series) -> int:
    """Returns how many texts a column has, in lists and structs too."""
    match column.dtype:
        case pl.String() | pl.Binary():
            return column.len()
        case pl.List():
            return _texts(column.explode())
        case pl.Struct():
            return sum(map(_texts, column.struct.unnest().iter_columns()))
    return 0


_Envelope = TypeVar("_Envelope", bound=tuple[object, ...])


def groups(envelopes: Iterable[_Envelope]) -> Iterator[list[_Envelope]]:
    """Returns envelopes, whose last item is the payload, in lists of about `LARGEST` bytes; mostly one list. Of none there is none."""
    group: list[_Envelope] = []
    size = 0
    for envelope in envelopes:
        payload = envelope[-1]
        assert isinstance(payload, bytes)
        if group and size + len(payload) > LARGEST:
            yield group
            group, size = [], 0
        group.append(envelope)
        size += len(payload)
    if group:
        yield group


def decode(payload: bytes) -> pl.DataFrame:
    """A payload as a frame."""
    (length,) = _LENGTH.unpack_from(payload)
    body = memoryview(payload)[_LENGTH.size :]
    least, rows = (pl.read_ipc_stream(io.BytesIO(part)) for part in (body[:length], body[length:]))
    told = {name: pl.lit(least[name].to_physical()[0], dtype=pl.Int64) for name in least.columns}
    near = {name: value + pl.col(name).cast(pl.Int64) if name in rows.columns else value for name, value in told.items()}
    return rows.with_columns(value.cast(least.schema[name]).alias(name) for name, value in near.items())


def _widths(frame: pl.DataFrame) -> dict[str, pl.DataType]:
    """The narrow types of the columns that fit into one."""
    wide = [name for name, dtype in frame.schema.items() if dtype in (pl.Int64, pl.Datetime, pl.Duration)]
    whole = pl.col(wide).to_physical()
    lowest, highest = frame.select(whole.min()), frame.select(whole.max())
    spans = {name: highest[name][0] - lowest[name][0] for name in wide if lowest[name][0] is not None}
    fitting = {name: next((dtype for bits, dtype in _WIDTHS if span.bit_length() <= bits), None) for name, span in spans.items()}
    return {name: dtype for name, dtype in fitting.items() if dtype is not None}


def _stream(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def batch(envelopes: list[tuple[int, str, bytes]]) -> pa.RecordBatch:
    """Envelopes as the Arrow batch that Spark takes."""
    columns = zip(*envelopes, strict=True) if envelopes else ([], [], [])
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, _ARROW_IN, strict=True)], schema=_ARROW_IN)
