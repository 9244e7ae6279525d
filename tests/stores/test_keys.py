"""The order of encoded keys, with the order of the keys themselves as the model."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.errors import InputError
from panewise.stores.keys import decode_int64, decode_key, encode_int64, encode_key

INT64 = st.integers(-(2**63), 2**63 - 1)
SCALARS = (
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(alphabet="\x00\x01aaé\uffff\U00010000") | st.text(),
    st.binary() | st.binary(max_size=4).map(lambda raw: raw.replace(b"\x02", b"\x00")),
)
ONE_TYPE = st.one_of(*[st.tuples(kind, kind) for kind in SCALARS])
KEY = st.recursive(st.one_of(*SCALARS), lambda inner: st.lists(inner | st.none()).map(tuple))


@given(ONE_TYPE)
def test_keys_of_one_type_are_in_the_order_of_their_values(pair: tuple[object, object]) -> None:
    """semantics 34.1"""
    left, right = pair
    assert (encode_key(left) < encode_key(right)) == (left < right)  # type: ignore[operator]
    assert (encode_key(left) == encode_key(right)) == (left == right)


@given(st.lists(st.text(max_size=3)).map(tuple), st.lists(st.text(max_size=3)).map(tuple))
def test_tuples_are_ordered_part_by_part(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    """semantics 34.1"""
    assert (encode_key(left) < encode_key(right)) == (left < right)


@given(KEY, KEY, st.binary())
def test_no_key_is_a_prefix_of_another_one(left: object, right: object, more: bytes) -> None:
    """semantics 34.1: so the range of one key contains no other."""
    one, two = encode_key(left), encode_key(right)
    assert one == two or not two.startswith(one)
    key, behind = decode_key(one + more)
    assert (key, type(key), behind) == (left, type(left), len(one))


def test_types_are_ordered() -> None:
    """semantics 34.1"""
    keys = [False, True, -(10**30), 5, -math.inf, 0.5, "", "z", b"", b"z", (), (None,), (1,)]
    assert sorted(keys, key=encode_key) == keys
    assert encode_key(-0.0) == encode_key(0.0)


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        (None, "a key is not null"),
        (math.nan, "NaN is in no order, so it is no key"),
        ([1], "a key is a bool, an int, a float, a text, bytes, or a tuple of these"),
        (1 << 1008, "an int as a key has at most 1,008 bits"),
    ],
)
def test_what_is_no_key(key: object, rule: str) -> None:
    """semantics 34.1"""
    with pytest.raises(InputError) as caught:
        encode_key(key)
    assert caught.value.rule == rule
    assert caught.value.remedy


def test_a_key_that_is_nested_too_deep() -> None:
    """semantics 34.1"""
    key: tuple[object, ...] = ()
    for _ in range(100_000):
        key = (key,)
    with pytest.raises(InputError, match="a tuple as a key is nested some hundred levels deep, at most"):
        encode_key(key)


@given(INT64, INT64)
def test_integers_of_eight_bytes(left: int, right: int) -> None:
    assert (encode_int64(left) < encode_int64(right)) == (left < right)
    assert decode_int64(encode_int64(left)) == left
