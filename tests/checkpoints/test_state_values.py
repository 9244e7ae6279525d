"""Tests of the entries of the state variable, as bytes that Spark 4.2 wrote."""

import random

import pytest

from panewise.checkpoints import UnknownFormatError
from panewise.checkpoints.state_values import data_of, family_of, shard_and_name

KEY = bytes.fromhex(
    "020021000000000000000000000000100000001000000000000000000000000200000000000000"
    "0000000000000000001800000010000000000000000000000008000000100000006d616e6966657374"
)
VALUE = bytes.fromhex("00000000000000000003000000100000006162630000000000")


def test_an_entry() -> None:
    assert shard_and_name(KEY) == (2, "manifest")
    assert KEY.startswith(family_of(2))
    assert bytes(data_of(VALUE, checked=False)) == b"abc"
    assert bytes(data_of(b"\1\2\3\4" + bytes([len(VALUE), 0, 0, 0]) + VALUE, checked=True)) == b"abc"


@pytest.mark.parametrize("value", [b"", VALUE[:-1], VALUE + b"\0", b"\1" + VALUE[1:]])
@pytest.mark.parametrize("checked", [False, True])
def test_values_of_another_format(value: bytes, checked: bool) -> None:
    with pytest.raises(UnknownFormatError, match=r"^the encoding of a value( with a checksum)? in "):
        data_of(value, checked=checked)


def test_keys_of_another_format() -> None:
    """A key that is not of this format is refused, or names another shard or another entry."""
    draw = random.Random(1)
    for _ in range(500):
        at = draw.randrange(len(KEY))
        key = KEY[:at] + bytes([KEY[at] ^ draw.randrange(1, 256)]) + KEY[at + 1 :]
        if at in range(2) or at in range(31, 39) or at >= 72:
            shard_and_name(key)
        else:
            with pytest.raises(UnknownFormatError, match=r"^the encoding of a key"):
                shard_and_name(key)
    for key in (b"", KEY[:-1], KEY + b"\0"):
        with pytest.raises(UnknownFormatError):
            shard_and_name(key)
