"""The stored form of a run: a head of 64 bytes, then one Arrow IPC stream.

The head is ``PWRN``, the format (u16), the CRC-32 of the stream (u32), and zeros; little-endian. It has the length to
which Arrow aligns, so that a file can be mapped and used in place. A run that does not match its sum, or has another
format, is refused: state is never guessed.
"""

import io
import struct
import zlib
from typing import Literal, TypeAlias

import polars as pl
import pyarrow as pa

from panewise.errors import StateError

FORMAT = 1
_MAGIC = b"PWRN"
_HEAD = struct.Struct("<4sHI54x")


Buffer: TypeAlias = bytes | memoryview


def encode(frame: pl.DataFrame, compression: Literal["lz4", "uncompressed"] = "lz4") -> bytes:
    """A frame as a run."""
    stream = io.BytesIO()
    frame.rechunk().write_ipc_stream(stream, compression=compression)
    body = stream.getvalue()
    return _HEAD.pack(_MAGIC, FORMAT, zlib.crc32(body)) + body


def decode(data: Buffer, *, check: bool = True) -> pl.DataFrame:
    """A run as a frame, which uses the memory of `data` where that is not compressed. Without `check` its sum is believed.

    Raises:
        StateError: if the run is corrupt or of an unknown format.
    """
    remedy = "restore the checkpoint from a copy, or start from a new one"
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise StateError(f"a run of {len(data)} bytes", "a run starts with PWRN", remedy)
    _, version, crc = _HEAD.unpack_from(data)
    if version != FORMAT:
        rule = f"this version of panewise reads format {FORMAT}"
        raise StateError(f"a run of format {version}", rule, "use the version of panewise that wrote it")
    body = memoryview(data)[_HEAD.size :]
    if check and zlib.crc32(body) != crc:
        raise StateError("a run whose checksum does not match", "runs never change", remedy)
    frame = pl.from_arrow(pa.ipc.open_stream(pa.py_buffer(body)).read_all(), rechunk=False)
    assert isinstance(frame, pl.DataFrame)
    return frame
