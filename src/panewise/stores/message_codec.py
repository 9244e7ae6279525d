"""Messages of a message store as entries of a map.

The key of an entry is the session key, if there are sessions, and the fields of the layout. The part before
the position (the timestamp or, in windows of messages, the offset) is its prefix.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, InstantLike, instant_us
from panewise.errors import InputError
from panewise.stores.keys import KeyValue, decode_int64, decode_key, encode_int64, encode_key
from panewise.stores.message_layout import KeyLayout
from panewise.stores.value_codec import decode_value, encode_value

PREFIX: Final = b"m"
_DETAILS: Final = 13  # whether there is a time, the time, and the length of the equal fields


class MessageKey(NamedTuple):
    """What identifies a message of a message store. Times are microseconds since 1970-01-01 UTC.

    Source: S1, "Message Store".
    """

    offset: int
    time: InstantLike | None = None
    session_key: KeyValue | None = None
    join_keys: tuple[Any, ...] | None = None


class Message(NamedTuple):
    """A message of a message store. Times are microseconds since 1970-01-01 UTC.

    Source: S1.
    """

    offset: int
    time: int | None
    session_key: KeyValue | None
    join_keys: tuple[Any, ...] | None
    value: Any


class MessageCodec:
    """Encodes and decodes messages for a layout.

    Attributes:
        by_time: whether positions are times; otherwise they are offsets.
        equal_first: whether keys begin with the equal fields, after the session key.
    """

    def __init__(self, layout: KeyLayout, *, sessions: bool) -> None:
        self.layout: KeyLayout = tuple(layout)
        self._sessions = sessions
        self.by_time = "timestamp" in layout
        self.equal_first = layout[0] == "equal_fields"

    def encode_key(self, key: Any) -> tuple[bytes, int]:
        """Returns the key of an entry, and the position of the message."""
        if not isinstance(key, MessageKey):
            rule = "a message is identified by a MessageKey"
            raise InputError(f"key={key!r}", rule, "give MessageKey(offset, ...)")
        if self._sessions:
            self._need("session_key", key.session_key)
        self.check_session(key.session_key)
        if self.by_time:
            self._need("time", key.time)
        if "equal_fields" in self.layout:
            self._need("join_keys", key.join_keys)
        at = MIN_INSTANT if key.time is None else instant_us(key.time, "time")
        parts = {
            "timestamp": encode_int64(at),
            "equal_fields": encode_fields(key.join_keys) or b"",
            "offset": encode_int64(checked_offset(key.offset, "offset")),
        }
        session = encode_key(key.session_key) if self._sessions else b""
        place = PREFIX + session + b"".join(parts[field] for field in self.layout)
        return place, at if self.by_time else key.offset

    def encode_value(self, key: MessageKey, value: Any) -> bytes:
        """Returns the value of an entry: what its key may lack, and the value of the message."""
        at = MIN_INSTANT if key.time is None else instant_us(key.time, "time")
        fields = encode_fields(key.join_keys) or b""
        details = bytes([key.time is not None]) + encode_int64(at) + len(fields).to_bytes(4, "big")
        return details + fields + encode_value(value)

    def decode(self, place: bytes, data: bytes) -> Message:
        """Returns the message of an entry."""
        encoded = fields_of(data)
        fields: Any = decode_key(encoded)[0] if encoded else None
        time = decode_int64(data, 1) if data[0] else None
        session = decode_key(place, len(PREFIX))[0] if self._sessions else None
        value = decode_value(data[_DETAILS + len(encoded) :])
        return Message(offset_of(place), time, session, fields, value)

    def position(self, place: bytes, data: bytes) -> int:
        """Returns the position of an entry: its time or, in a layout without a timestamp, its offset."""
        return decode_int64(data, 1) if self.by_time else offset_of(place)

    def bound(self, value: InstantLike, name: str) -> int:
        """Returns an end of a range of positions: a time or, in a layout without a timestamp, an offset."""
        return instant_us(value, name) if self.by_time else checked_offset(value, name)

    def prefix(self, session_key: KeyValue | None, fields: bytes | None) -> tuple[bytes, bool]:
        """Returns what the keys begin with, and whether their positions follow directly."""
        if self._sessions and session_key is None:
            return PREFIX, False
        prefix = PREFIX + (encode_key(session_key) if self._sessions else b"")
        if self.equal_first and fields is not None:
            return prefix + fields, True
        return prefix, not self.equal_first

    def check_session(self, session_key: KeyValue | None) -> None:
        """Raises InputError for a session key in a store without sessions."""
        if session_key is not None and not self._sessions:
            rule = "only a store with sessions has session keys"
            raise InputError(f"session_key={session_key!r}", rule, "MessageStore(..., sessions=True)")

    def _need(self, name: str, value: object) -> None:
        if value is None:
            rule = "a message has every field of its key"
            raise InputError(f"{name}=None, layout={self.layout}", rule, f"give {name}")


def checked_offset(offset: object, name: str) -> int:
    """Returns an offset."""
    if isinstance(offset, int) and not isinstance(offset, bool) and MIN_INSTANT <= offset <= MAX_INSTANT:
        return offset
    rule = "an offset is a whole number of 64 bits"
    raise InputError(f"{name}={offset!r}", rule, "give the number of a message in its input")


def offset_of(place: bytes) -> int:
    """Returns the offset of an entry: in every layout it is the last part of the key."""
    return decode_int64(place, len(place) - 8)


def fields_of(data: bytes) -> bytes:
    """Returns the equal fields of an entry as bytes; none if the message has none."""
    return data[_DETAILS : _DETAILS + int.from_bytes(data[_DETAILS - 4 : _DETAILS], "big")]


def encode_fields(join_keys: Iterable[Any] | None) -> bytes | None:
    """Returns equal fields as bytes. A text is refused: it would be taken for a tuple of its letters."""
    if join_keys is None:
        return None
    if isinstance(join_keys, (str, bytes)) or not isinstance(join_keys, Iterable):
        fault = f"join_keys={join_keys!r}"
        raise InputError(fault, "join keys are a tuple of the values of all equal fields", "give (value,)")
    return encode_key(tuple(join_keys))
