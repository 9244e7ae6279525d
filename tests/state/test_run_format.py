"""The stored form of runs: what is written is read back, and a damaged run is refused."""

import struct
import zlib
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from panewise.errors import StateError
from panewise.state.run_format import decode, encode

FRAME = pl.DataFrame(
    {"k": ["a", None], "n": [1, -(2**63)], "x": [0.5, float("nan")], "l": [[1, 2], []], "b": [True, None]},
    schema={"k": pl.String, "n": pl.Int64, "x": pl.Float64, "l": pl.List(pl.Int64), "b": pl.Boolean},
)
GOLDEN = Path(__file__).parent / "golden" / "run-format-1.bin"


def test_a_run_is_read_back_as_it_was_written() -> None:
    assert_frame_equal(decode(encode(FRAME)), FRAME)


def test_an_empty_run_keeps_its_columns() -> None:
    assert decode(encode(FRAME.clear())).schema == FRAME.schema


def test_a_run_of_format_1_written_by_an_earlier_version_is_read() -> None:
    assert_frame_equal(decode(GOLDEN.read_bytes()), FRAME)


@pytest.mark.parametrize("at", [64, 140, -1])
def test_a_changed_byte_is_found(at: int) -> None:
    data = bytearray(encode(FRAME))
    data[at] ^= 0xFF
    with pytest.raises(
        StateError, match=r"checksum does not match \| runs never change \| restore the checkpoint"
    ):
        decode(bytes(data))


def test_a_cut_run_is_found() -> None:
    with pytest.raises(StateError, match="checksum does not match"):
        decode(encode(FRAME)[:-1])


@pytest.mark.parametrize("data", [b"", b"PWR", b"JSON{}andmore"])
def test_what_is_no_run_is_refused(data: bytes) -> None:
    with pytest.raises(StateError, match=r"a run starts with PWRN"):
        decode(data)


def test_a_run_of_another_name_is_refused() -> None:
    assert_frame_equal(decode(encode(FRAME, "3.2-1"), "3.2-1"), FRAME)
    with pytest.raises(
        StateError,
        match=r"another run is stored as run 3-1 \| the header of a run contains its name \| restore",
    ):
        decode(encode(FRAME, "3-10"), "3-1")


def test_a_run_that_an_earlier_version_wrote_has_no_name() -> None:
    assert_frame_equal(decode(GOLDEN.read_bytes(), "3-1"), FRAME)


def test_what_is_no_arrow_stream_is_refused() -> None:
    body = encode(FRAME)[64:-200]
    data = struct.pack("<4sHI54x", b"PWRN", 1, zlib.crc32(body)) + body
    with pytest.raises(
        StateError, match=r"a run that Arrow cannot read \(3-1\) \| a run contains one Arrow IPC stream"
    ):
        decode(data, "3-1")


def test_another_format_is_refused_by_name() -> None:
    data = bytearray(encode(FRAME))
    struct.pack_into("<H", data, 4, 9)
    with pytest.raises(
        StateError, match=r"a run of format 9 \| this version of panewise reads format 1 \| use the version"
    ):
        decode(bytes(data))
