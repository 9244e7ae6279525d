"""The stored form of a run: ``PWRN``, format (u16), CRC-32 of the rest (u32), then one Arrow IPC stream. Little-endian.

A run that does not match its sum, or has another format, is refused: state is never guessed.
"""

import io
import struct
import zlib

import polars as pl

from panewise.errors import StateError

FORMAT = 1
_MAGIC = b"PWRN"
_HEAD = struct.Struct("<4sHI")


def encode(frame: pl.DataFrame) -> bytes:
    """A frame as a run."""
    stream = io.BytesIO()
    frame.rechunk().write_ipc_stream(stream, compression="lz4")
    body = stream.getvalue()
    return _HEAD.pack(_MAGIC, FORMAT, zlib.crc32(body)) + body


def decode(data: bytes) -> pl.DataFrame:
    """A run as a frame.

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
    if zlib.crc32(body) != crc:
        raise StateError("a run whose checksum does not match", "runs never change", remedy)
    return pl.read_ipc_stream(io.BytesIO(body))
