"""Values are returned as they were given, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.errors import InputError
from panewise.stores.value_codec import decode_value, encode_value

SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.binary() | st.recursive(
    SCALARS, lambda inner: st.lists(inner | st.none()) | st.dictionaries(st.text(), inner | st.none())
)


@given(VALUES)
def test_values_are_returned_unchanged(value: object) -> None:
    """semantics 34.2"""
    found = decode_value(encode_value(value))
    assert found == value
    assert type(found) is type(value)


def test_a_store_returns_a_copy() -> None:
    """semantics 34.2"""
    value = {"names": ["a"]}
    stored = encode_value(value)
    value["names"].append("b")
    assert decode_value(stored) == {"names": ["a"]}


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, [b"x"], {"a": {3}}, object()])
def test_what_is_no_value(value: object) -> None:
    """semantics 34.2"""
    with pytest.raises(InputError) as caught:
        encode_value(value)
    assert caught.value.rule == "a value is bytes, or what JSON returns unchanged"
    assert caught.value.remedy


@pytest.mark.parametrize("deep", [False, True])
def test_values_too_large_for_json(deep: bool) -> None:
    """semantics 34.2"""
    value: object = 10**10_000
    if deep:
        value = []
        for _ in range(100_000):
            value = [value]
    with pytest.raises(InputError, match="nested some hundred levels deep"):
        encode_value(value)


def test_halves_of_a_pair_remain_apart() -> None:
    """semantics 34.2: JSON with escapes would join them to one character."""
    value = ["\ud83d\ude00", {"\ud83d": "\U0001f600"}]
    assert decode_value(encode_value(value)) == value
