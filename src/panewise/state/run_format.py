"""The stored form of a run: a head of 64 bytes, then one Arrow IPC stream.

The head consists of ``PWRN``, the format (u16), the CRC-32 of the stream (u32), the name of the run in ASCII,
and zeros. Integers are little-endian. Arrow aligns to 64 bytes, so the stream can be used in place. A run
with another checksum, format or name is refused.
"""

import io
import struct
import zlib
from contextlib import suppress
from typing import BinaryIO

import polars as pl
import pyarrow as pa
import xxhash

from panewise.errors import StateError
from panewise.state.arrow_streams import (
    Compression,
    RunRows,
    StreamBytes,
    frame_of_table,
    release_memory,
    table_of,
    write_stream,
)
from panewise.state.manifest import REMEDY

FORMAT = 1
_MAGIC = b"PWRN"
_HEAD = struct.Struct("<4sHI54s")
_UNNAMED = bytes(54)  # what older releases wrote instead of the name
_PIECE = 1 << 20  # bytes that are read at once


def encode(rows: RunRows, name: str = "", spool: BinaryIO | None = None) -> bytes:
    """Returns rows in the stored form of a run with this name.

    Arrow compresses the whole stream in memory before it writes any of it. With an empty file as `spool`, the
    stream is written to the file, and read after that memory has been freed. If the file cannot be written it
    is not used.
    """
    if spool is not None:
        with suppress(OSError):
            return _encoded_in(spool, rows, name)
    into = io.BytesIO()
    into.write(bytes(_HEAD.size))
    write_stream(rows, into, "lz4")
    with into.getbuffer() as whole:  # in place, as a copy could double the memory of the step
        _HEAD.pack_into(whole, 0, *_head(zlib.crc32(whole[_HEAD.size :]), name))
    return into.getvalue()


def _encoded_in(spool: BinaryIO, rows: RunRows, name: str) -> bytes:
    spool.write(bytes(_HEAD.size))
    write_stream(rows, spool, "lz4")
    release_memory()
    length = spool.tell()
    spool.seek(_HEAD.size)
    crc = 0
    while piece := spool.read(_PIECE):
        crc = zlib.crc32(piece, crc)
    spool.seek(0)
    spool.write(_HEAD.pack(*_head(crc, name)))
    spool.seek(0)
    return spool.read(length)


def _head(crc: int, name: str) -> tuple[bytes, int, int, bytes]:
    return _MAGIC, FORMAT, crc, name.encode()


def decode(data: StreamBytes, name: str | None = None) -> pl.DataFrame:
    """Returns the rows of a run as a frame. Arguments and errors are those of :func:`decode_table`."""
    return frame_of_table(decode_table(data, name))


def decode_table(data: StreamBytes, name: str | None = None) -> pa.Table:
    """Returns the rows of a run as an Arrow table. The arguments are those of :func:`checked_stream`."""
    stream = checked_stream(data, name)
    try:
        return table_of(stream)
    except (pa.ArrowException, OSError) as error:
        which = "" if name is None else f" ({name})"
        rule = "a run contains one Arrow IPC stream"
        raise StateError(f"a run that Arrow cannot read{which}", rule, REMEDY) from error


def checked_stream(data: StreamBytes, name: str | None = None) -> memoryview:
    """Returns the Arrow IPC stream of a run, after checking the run.

    If `name` is given the run must have this name, or none, as in older releases.

    Raises:
        StateError: if the run is corrupt, of an unknown format, or of another name.
    """
    which = "" if name is None else f" ({name})"
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise StateError(f"a run of {len(data)} bytes{which}", "a run starts with PWRN", REMEDY)
    _, version, crc, stored_name = _HEAD.unpack_from(data)
    if version != FORMAT:
        rule = f"this version of panewise reads format {FORMAT}"
        raise StateError(
            f"a run of format {version}{which}", rule, "use the version of panewise that wrote it"
        )
    stream = memoryview(data)[_HEAD.size :]
    if zlib.crc32(stream) != crc:
        raise StateError(f"a run whose checksum does not match{which}", "runs never change", REMEDY)
    if name is not None and stored_name not in (_UNNAMED, name.encode().ljust(len(_UNNAMED), b"\0")):
        rule = "the header of a run contains its name"
        raise StateError(f"another run is stored as run {name}", rule, REMEDY)
    return stream


def checksum(data: StreamBytes) -> str:
    """Returns the checksum of a stored run: XXH3 of 128 bits of all its bytes, in hexadecimal digits.

    >>> checksum(b"")
    '99aa06d3014798d86001c324468d497f'
    """
    return xxhash.xxh3_128_hexdigest(data)


def stream_of(frame: pl.DataFrame, compression: Compression) -> bytes:
    """Returns a frame as an Arrow IPC stream."""
    stream = io.BytesIO()
    write_stream(frame, stream, compression)
    return stream.getvalue()


def frame_of(stream: StreamBytes) -> pl.DataFrame:
    """Returns an Arrow IPC stream as a frame. If it is not compressed, the frame uses its memory."""
    return frame_of_table(table_of(stream))
