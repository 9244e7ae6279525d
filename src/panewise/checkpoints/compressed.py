"""Opens the compressed streams that Spark writes. The first bytes of a stream show its compression."""

import io
import struct
from pathlib import Path
from typing import BinaryIO, Final, cast

import pyarrow as pa
import xxhash

from panewise.checkpoints import UnknownFormatError

_LZ4: Final = b"LZ4Block"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_BLOCK: Final = struct.Struct("<8sBIII")  # magic, method, bytes stored, bytes of the content, its checksum
_COMPRESSED = 0x20  # the method; the others are stored as they are
_SEED, _MASK = 0x9747B28C, 0x0FFFFFFF


def opened(path: Path) -> BinaryIO:
    """Returns the content of a compressed file as a stream.

    Raises:
        UnknownFormatError: if it is neither LZ4 nor Zstandard.
        OSError: if the file cannot be read. So does reading the stream, also where the file is damaged.
    """
    file = path.open("rb")
    head = file.read(len(_LZ4))
    file.seek(0)
    if head == _LZ4:
        return io.BufferedReader(_Lz4Blocks(file), 1 << 20)
    if head.startswith(_ZSTD):
        return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(file), "zstd"))
    file.close()
    raise UnknownFormatError(f"the compression of {path.name}")


class _Lz4Blocks(io.RawIOBase):
    """The content of a stream in the format of lz4-java's LZ4BlockOutputStream."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        """Reads the rest of the current block, or the next one."""
        while not self._left:
            head = self._file.read(_BLOCK.size)
            if not head:
                return 0
            self._left = memoryview(self._block(head))
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _block(self, head: bytes) -> bytes:
        if len(head) < _BLOCK.size or head[:8] != _LZ4:
            raise OSError("no LZ4 block where one begins")
        _, method, stored, length, digest = _BLOCK.unpack(head)
        data = self._file.read(stored)
        if len(data) < stored:
            raise OSError("an LZ4 block that is cut off")
        if not length:
            return b""  # the end of a stream, after which another one may begin
        if method & 0xF0 == _COMPRESSED:
            data = cast(bytes, pa.Codec("lz4_raw").decompress(data, length, asbytes=True))
        if xxhash.xxh32_intdigest(data, _SEED) & _MASK != digest:
            raise OSError("an LZ4 block whose checksum does not match")
        return data
