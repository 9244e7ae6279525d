"""Keys as bytes whose order is the order of the keys.

The parts of a composite key are concatenated, so two rules are invariants. No encoded part is a prefix of
another one: a text or bytes end with a terminator that sorts below every escaped zero byte, and everything
else states its length. And bytes compare as values do: integers are shifted or complemented so that negative
numbers sort first.
"""

import math
import struct
from typing import Any, TypeAlias

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.errors import InputError
from panewise.stores.ordered_map import prefix_end

KeyValue: TypeAlias = bool | int | float | str | bytes | tuple[Any, ...]

_NULL, _FALSE, _TRUE, _INT, _FLOAT, _TEXT, _BYTES, _TUPLE = range(0x10, 0x90, 0x10)
_ESCAPED_ZERO, _TERMINATOR = b"\x00\xff", b"\x00\x01"
_TUPLE_END = b"\x01"  # below the tag of every part, so that a shorter tuple sorts first
_SIGN = 1 << 63
_ALL = (1 << 64) - 1
_LONGEST_INT = 126
_RULE = "a key is a bool, an int, a float, a text, bytes, or a tuple of these"


def encode_int64(value: int) -> bytes:
    """Returns eight bytes that sort as 64-bit integers do.

    >>> encode_int64(-1) < encode_int64(0) < encode_int64(1)
    True
    """
    return (value + _SIGN).to_bytes(8, "big")


def decode_int64(data: bytes, at: int = 0) -> int:
    """Returns the integer whose eight bytes are at this place."""
    return int.from_bytes(data[at : at + 8], "big") - _SIGN


def int64_range(prefix: bytes, first: int, last: int) -> tuple[bytes, bytes | None]:
    """Returns the range of a map for first <= number <= last after a prefix.

    A bound beyond 64 bits is no bound. A range that begins beyond them is empty.
    """
    end = prefix_end(prefix) if last >= MAX_INSTANT else prefix + encode_int64(max(last + 1, MIN_INSTANT))
    if first > MAX_INSTANT:
        return end or b"", end
    return prefix + encode_int64(max(first, MIN_INSTANT)), end


def encode_key(key: object) -> bytes:
    """Returns the bytes of a key, which sort as keys do.

    Keys of different types differ, and are ordered by type: bool, int, float, text, bytes, tuple.

    >>> encode_key(-3) < encode_key(2) < encode_key(300) < encode_key("a") < encode_key("aa")
    True
    >>> encode_key("aa").startswith(encode_key("a"))
    False

    Raises:
        InputError: if the key is None, NaN, of another type, or nested too deep.
    """
    kind = type(key)
    if kind is str:
        return b"\x60" + _terminated(key.encode("utf-8", "surrogatepass"))  # type: ignore[attr-defined]
    if kind is int:
        return _encode_int(key)  # type: ignore[arg-type]
    if kind is bytes:
        return b"\x70" + _terminated(key)  # type: ignore[arg-type]
    if kind is bool:
        return bytes([_TRUE if key else _FALSE])
    if kind is float:
        return _encode_float(key)  # type: ignore[arg-type]
    if kind is tuple:
        return _encode_tuple(key)  # type: ignore[arg-type]
    rule = "a key is not null" if key is None else _RULE
    raise InputError(f"key={key!r}", rule, "give a key of one of these types: int, str, bytes, float, tuple")


def decode_key(data: bytes, at: int = 0) -> tuple[KeyValue, int]:
    """Returns the key whose bytes begin at this place, and the place after it.

    >>> decode_key(encode_key(("a", -5)) + b"more")
    (('a', -5), 9)
    """
    tag = data[at]
    match tag:
        case 0x60:
            raw, end = _until_terminator(data, at + 1)
            return raw.decode("utf-8", "surrogatepass"), end
        case 0x40:
            return _decode_int(data, at + 1)
        case 0x70:
            return _until_terminator(data, at + 1)
        case 0x50:
            return _decode_float(data[at + 1 : at + 9]), at + 9
        case 0x80:
            return _decode_tuple(data, at + 1)
        case _:
            return tag == _TRUE, at + 1


def _encode_tuple(parts: tuple[object, ...]) -> bytes:
    try:
        return bytes([_TUPLE]) + b"".join(map(_encode_part, parts)) + _TUPLE_END
    except RecursionError as error:
        rule = "a tuple as a key is nested some hundred levels deep, at most"
        raise InputError("key=(a tuple)", rule, "give a flat tuple") from error


def _encode_part(part: object) -> bytes:
    return bytes([_NULL]) if part is None else encode_key(part)


def _terminated(raw: bytes) -> bytes:
    return raw.replace(b"\x00", _ESCAPED_ZERO) + _TERMINATOR


def _until_terminator(data: bytes, at: int) -> tuple[bytes, int]:
    end = data.index(_TERMINATOR, at)
    return data[at:end].replace(_ESCAPED_ZERO, b"\x00"), end + 2


def _encode_int(value: int) -> bytes:
    length = (value.bit_length() + 7) // 8
    if length > _LONGEST_INT:
        raise InputError("key=(an int)", "an int as a key has at most 1,008 bits", "give a smaller int")
    if value >= 0:
        return bytes([_INT, 128 + length]) + value.to_bytes(length, "big")
    return bytes([_INT, 127 - length]) + (value + (1 << 8 * length)).to_bytes(length, "big")


def _decode_int(data: bytes, at: int) -> tuple[int, int]:
    size = data[at] - 128
    length = size if size >= 0 else -size - 1
    value = int.from_bytes(data[at + 1 : at + 1 + length], "big")
    return value if size >= 0 else value - (1 << 8 * length), at + 1 + length


def _encode_float(value: float) -> bytes:
    if math.isnan(value):
        raise InputError("key=nan", "NaN is in no order, so it is no key", "give a number")
    bits = int.from_bytes(struct.pack(">d", value or 0.0), "big")
    bits = bits ^ _ALL if bits & _SIGN else bits | _SIGN
    return bytes([_FLOAT]) + bits.to_bytes(8, "big")


def _decode_float(raw: bytes) -> float:
    bits = int.from_bytes(raw, "big")
    bits = bits ^ _SIGN if bits & _SIGN else bits ^ _ALL
    return float(struct.unpack(">d", bits.to_bytes(8, "big"))[0])


def _decode_tuple(data: bytes, at: int) -> tuple[KeyValue, int]:
    parts: list[KeyValue | None] = []
    while data[at] != _TUPLE_END[0]:
        if data[at] == _NULL:
            part, at = None, at + 1
        else:
            part, at = decode_key(data, at)
        parts.append(part)
    return tuple(parts), at + 1
