"""Envelopes: the only rows that cross Spark's shuffle, and that the state operator takes.

The payload of an envelope is a frame of rows as Arrow IPC streams (see :func:`encode`), or JSON text.

Kinds of envelopes on the way in: ``rows``, ``partials``, ``invalid``, ``marks``, ``seen`` (JSON: the highest
event times of inputs), ``tick`` (empty: there is a micro-batch) and ``control`` (JSON: a control note).

If the operator has several inputs, the kind of an envelope ends in ``@`` and the name of the port.

An output of an earlier operator of the query (semantics 42.9) passes through those after it unopened. On the
way out its kind begins with the number of its operator and ``/``. On the way in it begins with ``carried:``
and its place among those of its task.

Kinds on the way out: ``panes``, ``late``, ``invalid``, ``counts``, in tests ``live`` (the live windows), and
``metrics`` (empty: carries the metrics column if a step has no other output).
"""

import io
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

import polars as pl
import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from panewise.families import INPUT
from panewise.state.arrow_streams import write_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

IN = StructType(
    [
        StructField("shard", IntegerType()),
        StructField("kind", StringType()),
        StructField("payload", BinaryType()),
    ]
)
OUT = StructType([StructField("kind", StringType()), StructField("payload", BinaryType())])
_ARROW_IN = pa.schema([("shard", pa.int32()), ("kind", pa.string()), ("payload", pa.binary())])
_LENGTH = struct.Struct("<I")
CARRIED = "carried:"
# The approximate maximum of the bytes of an envelope. Spark copies a value several times on its heap, and no
# value can have more than 2 GB. Spark's cache cuts its batches at 4 MB.
LARGEST = 4 << 20
_VIEW = 16  # bytes of each value of a text column besides its text, which Polars' estimated size leaves out
_LONG = 1 << 16  # bytes of a frame from which on delta encoding is worth its time
_WIDTHS = ((8, pl.UInt8()), (16, pl.UInt16()), (32, pl.UInt32()))


def labelled(kind: str, port: str) -> str:
    """Returns the kind of an envelope of a port.

    >>> labelled("late", "input"), labelled("late", "left")
    ('late', 'late@left')
    """
    return kind if port == INPUT else f"{kind}@{port}"


def kind_of_output(kind: str, number: int) -> str:
    """Returns the kind of an output of an earlier operator of the query.

    >>> kind_of_output("late@left", 0)
    '0/late@left'
    """
    return f"{number}/{kind}"


def carried(kind: str, number: int) -> str:
    """Returns the kind of an output of an earlier operator on its way in, with its place in its task.

    >>> carried("0/late@left", 3)
    'carried:3:0/late@left'
    """
    return f"{CARRIED}{number}:{kind}"


def order_and_kind(label: str) -> tuple[int, str]:
    """Returns the arguments of :func:`carried`, the place first.

    >>> order_and_kind("carried:3:0/late@left")
    (3, '0/late@left')
    """
    number, _, kind = label.removeprefix(CARRIED).partition(":")
    return int(number), kind


def is_numbered(label: str) -> bool:
    """Returns whether an output is one of an earlier operator of the query."""
    return "/" in label


def kind_of(label: str) -> str:
    """Returns the kind without the port, and without the number of the operator.

    >>> kind_of("late@left"), kind_of("late"), kind_of("0/late@left")
    ('late', 'late', 'late')
    """
    return label.rpartition("/")[2].partition("@")[0]


def port_of(label: str) -> str:
    """Returns the port of an envelope.

    >>> port_of("late@left"), port_of("late")
    ('left', 'input')
    """
    return label.partition("@")[2] or INPUT


def encode(frame: pl.DataFrame, alike: Mapping[str, int] | None = None) -> bytes:
    """Encodes a frame as a payload: the length of a header (u32), the header, and the rows.

    Header and rows are Arrow IPC streams. The header is one row, with the minimum of each delta-encoded
    column and the columns of `alike`.

    In long frames integers, instants and durations of 64 bits are delta-encoded: they travel as their
    distances from the minimum, in 8, 16 or 32 bits if the largest distance fits. A byte costs a core about
    10 ns on its way from one Spark stage to the next (docs/decisions/0075-measurements.md).

    Args:
        alike: further columns of 64-bit integers that have one value in all rows. Only the header has them.
    """
    widths = _widths(frame) if frame.estimated_size() >= _LONG else {}
    least = frame.select(pl.col(list(widths)).min())
    further = [pl.Series(name, [value], dtype=pl.Int64) for name, value in (alike or {}).items()]
    stream, head = io.BytesIO(), _stream(pl.DataFrame([*least.get_columns(), *further]))
    stream.write(_LENGTH.pack(len(head)))
    stream.write(head)
    far = (
        (pl.col(name).to_physical() - pl.lit(least[name].to_physical()[0])).cast(width)
        for name, width in widths.items()
    )
    write_stream(frame.with_columns(far), stream)
    return stream.getvalue()


def pieces(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Returns the rows in order, in pieces of about `LARGEST` bytes: mostly one, none if there is no row."""
    size = int(frame.estimated_size()) + _VIEW * sum(map(_texts, frame.iter_columns()))
    rows = frame.height if size <= LARGEST else frame.height * LARGEST // size
    return frame.iter_slices(max(1, rows))


def _texts(column: pl.Series) -> int:
    """Returns the number of texts in a column, also in its lists and structs."""
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
    """Returns envelopes in lists of about `LARGEST` bytes: mostly one list, none if there are no envelopes.

    The last item of an envelope is its payload.
    """
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


def decode(payload: bytes | pa.Buffer) -> pl.DataFrame:
    """Decodes a payload into a frame."""
    (length,) = _LENGTH.unpack_from(payload)
    body = memoryview(payload)[_LENGTH.size :]
    least, rows = (pl.read_ipc_stream(io.BytesIO(part)) for part in (body[:length], body[length:]))
    minimums = {name: pl.lit(least[name].to_physical()[0], dtype=pl.Int64) for name in least.columns}
    near = {
        name: value + pl.col(name).cast(pl.Int64) if name in rows.columns else value
        for name, value in minimums.items()
    }
    return rows.with_columns(value.cast(least.schema[name]).alias(name) for name, value in near.items())


def _widths(frame: pl.DataFrame) -> dict[str, pl.DataType]:
    """Returns the columns whose distances from the minimum fit into a narrow type, with that type."""
    wide = [name for name, dtype in frame.schema.items() if dtype in (pl.Int64, pl.Datetime, pl.Duration)]
    whole = pl.col(wide).to_physical()
    lowest, highest = frame.select(whole.min()), frame.select(whole.max())
    distances = {name: highest[name][0] - lowest[name][0] for name in wide if lowest[name][0] is not None}
    fitting = {
        name: next((dtype for bits, dtype in _WIDTHS if distance.bit_length() <= bits), None)
        for name, distance in distances.items()
    }
    return {name: dtype for name, dtype in fitting.items() if dtype is not None}


def _stream(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()


def batch(envelopes: list[tuple[int, str, bytes]]) -> pa.RecordBatch:
    """Returns envelopes as an Arrow batch for Spark."""
    columns = zip(*envelopes, strict=True) if envelopes else ([], [], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, _ARROW_IN, strict=True)], schema=_ARROW_IN
    )


def used_once(packed: "DataFrame") -> "DataFrame":
    """Returns envelopes whose shuffle Spark repeats where a query uses them twice (semantics 42.13).

    Spark would use one shuffle for both. It then does not find the watermark behind the second use, so there
    no timer expires. In each micro-batch Spark gives every random number of a plan a seed of its own. So it
    does not take the two plans for the same. The condition is always true, which Spark must not know.

    Spark compiles `rand()` to code that contains the seed, so each micro-batch would have new code. It does
    not compile `zip_with`, nor its arguments; `forall` only before 4.3 (docs/decisions/0080-fixed-costs.md).
    """
    return packed.where("NOT isnan(zip_with(array(rand()), array(0), (number, other) -> number)[0])")
