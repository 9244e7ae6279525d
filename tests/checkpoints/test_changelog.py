"""Tests of changelog files and of the streams that they are in: written here, and read as Spark's."""

import json
import random
import struct
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
import xxhash

from panewise.checkpoints import UnknownFormatError
from panewise.checkpoints.changelog import changes, lineage
from panewise.errors import StateError

Records = Iterable[tuple[bytes, bytes | None]]
OURS = b"\x02\x00"
RECORDS: list[tuple[bytes, bytes | None]] = [
    (b"\x02\x00one", b"1" * 100_000),
    (b"\x03\x00timer", b"t"),
    (b"\x02\x00two", b"2"),
    (b"\x02\x00one", None),
    (b"\x03\x00timer", None),
]
IDS = {4: "a", 5: "b"}


def text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()


def written(version: str, records: Records = RECORDS, before_delete: bytes = b"") -> bytes:
    """Returns the content of a changelog."""
    parts = [text(version)]
    if version == "v4":
        parts.append(text(json.dumps([{"version": n, "checkpointUniqueId": one} for n, one in IDS.items()])))
    for key, value in records:
        if value is None:
            whole = before_delete + key
            parts.append(b"\x10" + struct.pack(">i", len(whole)) + whole + struct.pack(">i", -1))
        else:
            sizes = struct.pack(">i", len(key)), struct.pack(">i", len(value))
            parts.append(b"\x01" + sizes[0] + key + sizes[1] + value)
    return b"".join([*parts, b"\0"])


def lz4(content: bytes, block: int = 1 << 15) -> bytes:
    """Returns a stream as lz4-java writes it. Its second block is stored as it is."""
    parts = []
    for number, at in enumerate(range(0, len(content), block)):
        piece = content[at : at + block]
        data = piece if number == 1 else pa.Codec("lz4_raw").compress(piece, asbytes=True)
        digest = xxhash.xxh32_intdigest(piece, 0x9747B28C) & 0x0FFFFFFF
        method = 0x10 if number == 1 else 0x20
        parts.append(b"LZ4Block" + struct.pack("<BIII", method | 5, len(data), len(piece), digest) + data)
    return b"".join([*parts, b"LZ4Block" + struct.pack("<BIII", 0x15, 0, 0, 0)])


def zstd(content: bytes) -> bytes:
    into = pa.BufferOutputStream()
    with pa.CompressedOutputStream(into, "zstd") as stream:
        stream.write(content)
    return into.getvalue().to_pybytes()


COMPRESSIONS = {"lz4": lz4, "zstd": zstd}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "7.changelog"


@pytest.mark.parametrize("version", ["v2", "v4"])
@pytest.mark.parametrize("compression", sorted(COMPRESSIONS))
def test_the_records_of_a_column_family(file: Path, compression: str, version: str) -> None:
    file.write_bytes(COMPRESSIONS[compression](written(version)))
    found = list(changes(file, OURS, 0))
    assert found == [record for record in RECORDS if record[0].startswith(OURS)]


def test_deletes_with_checksums(file: Path) -> None:
    file.write_bytes(lz4(written("v2", before_delete=b"abcd")))
    assert list(changes(file, OURS, 4))[-1] == (b"\x02\x00one", None)


def test_the_unique_ids(file: Path) -> None:
    file.write_bytes(lz4(written("v4")))
    assert lineage(file) == IDS
    file.write_bytes(lz4(written("v2")))
    with pytest.raises(UnknownFormatError, match=r"^the format of 7\.changelog$"):
        lineage(file)


UNKNOWN = {
    "another compression": (b"\x82SNAPPY\0...", r"^the compression of 7\.changelog$"),
    "another version": (lz4(written("v3")), r"^the format 'v3' of 7\.changelog$"),
    "another record": (lz4(text("v2") + b"\x11" + bytes(8)), r"^a record of kind 17 in 7\.changelog$"),
}


@pytest.mark.parametrize("name", sorted(UNKNOWN))
def test_what_only_spark_knows(file: Path, name: str) -> None:
    data, message = UNKNOWN[name]
    file.write_bytes(data)
    with pytest.raises(UnknownFormatError, match=message):
        list(changes(file, OURS, 0))


DAMAGED = {
    "without its end": lz4(written("v2"))[:-30],
    "of half a block": lz4(written("v2"))[:400],
    "with another block": lz4(written("v2")).replace(b"1" * 40, b"1" * 39 + b"?", 1),
    "with zeros": lz4(written("v2"))[:-80] + bytes(80),
    "of a record that is cut off": lz4(written("v2")[:-20]),
    "without a word": lz4(b""),
}


@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_damaged_changelogs(file: Path, name: str) -> None:
    file.write_bytes(DAMAGED[name])
    with pytest.raises(StateError, match=rf"^changelog {file} \(.+\) \| .* \| give a later micro-batch, or"):
        list(changes(file, OURS, 0))


@pytest.mark.parametrize("compression", sorted(COMPRESSIONS))
def test_any_damage_is_found_or_does_no_harm(file: Path, compression: str) -> None:
    """A byte that is changed gives an error, or the same records."""
    draw, sound = random.Random(5), COMPRESSIONS[compression](written("v2"))
    for _ in range(300):
        at = draw.randrange(len(sound))
        file.write_bytes(sound[:at] + bytes([sound[at] ^ draw.randrange(1, 256)]) + sound[at + 1 :])
        try:
            found = list(changes(file, OURS, 0))
        except (StateError, UnknownFormatError):
            continue
        assert compression == "zstd" or found == [one for one in RECORDS if one[0].startswith(OURS)]
