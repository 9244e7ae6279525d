"""Envelopes: the only rows that travel through Spark's shuffle and state operator.

One holds a whole frame as an Arrow IPC stream, or a JSON note.

On the way in: ``rows``, ``partials``, ``invalid``, ``marks``, ``seen`` (JSON: the highest event times of inputs), ``tick``
(there was a batch), ``control`` (JSON). On the way out: ``panes``, ``late``, ``invalid``, ``counts``, and in tests ``held``.
"""

import io

import polars as pl
import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

IN = StructType([StructField("shard", IntegerType()), StructField("kind", StringType()), StructField("payload", BinaryType())])
OUT = StructType([StructField("kind", StringType()), StructField("payload", BinaryType())])
_ARROW_IN = pa.schema([("shard", pa.int32()), ("kind", pa.string()), ("payload", pa.binary())])


def encode(frame: pl.DataFrame) -> bytes:
    """A frame as a payload."""
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def decode(payload: bytes) -> pl.DataFrame:
    """A payload as a frame."""
    return pl.read_ipc_stream(io.BytesIO(payload))


def batch(envelopes: list[tuple[int, str, bytes]]) -> pa.RecordBatch:
    """Envelopes as the Arrow batch that Spark takes."""
    columns = zip(*envelopes, strict=True) if envelopes else ([], [], [])
    return pa.RecordBatch.from_arrays([pa.array(c, f.type) for c, f in zip(columns, _ARROW_IN, strict=True)], schema=_ARROW_IN)
