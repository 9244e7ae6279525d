"""The message store of S1: the messages of all windows in retention, each once.

The key of a message is its session key, if there are sessions, and the fields of the layout. The part before
the position (the timestamp or, in windows of messages, the offset) is its prefix. Messages of one prefix are
in the order of their positions, so those that retire are a range. Retiring moves a horizon that all reads
obey. If the store has one prefix, the range is deleted at once, otherwise when its prefix is read.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, InstantLike, instant_us
from panewise.errors import InputError, SpecError
from panewise.stores.durable_map import DEFAULT_CACHE
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, decode_int64, decode_key, encode_int64, encode_key
from panewise.stores.message_layout import LAYOUTS, KeyLayout
from panewise.stores.ordered_map import Snapshot, prefix_end
from panewise.stores.store import Store
from panewise.stores.values import decode_value, encode_value

_PREFIX = b"m"


class Message(NamedTuple):
    """A message of a message store. Times are microseconds since 1970-01-01 UTC.

    Source: S1.
    """

    offset: int
    time: int | None
    session_key: KeyValue | None
    join_keys: tuple[Any, ...] | None
    value: Any


class MessageStore(Store):
    """The messages of all windows in retention, each stored once (semantics 25.1 to 25.7).

    Args:
        layout: the fields of the keys, as `message_key_layout` returns them. Its positions are times if it
            has a timestamp, otherwise offsets.
        sessions: whether each message has a session key, which is then the first part of its key.
        directory: as for `WindowStore`.
        cache_bytes: as for `WindowStore`.

    >>> store = MessageStore(("equal_fields", "timestamp", "offset"))
    >>> store.add("m1", offset=1, time=100, join_keys=("x",))
    True
    >>> store.add("m2", offset=2, time=150, join_keys=("y",))
    True
    >>> store.add("m1", offset=1, time=100, join_keys=("x",)), store.replays
    (False, 1)
    >>> [message.value for message in store.get_messages(100, 150)]
    ['m1', 'm2']
    >>> [message.value for message in store.get_messages(100, 150, join_keys=("y",))]
    ['m2']

    Raises:
        SpecError: if the layout is none of the matrix.
        InputError: if a message lacks a field of the layout, or has a session key without `sessions`; for a
            key or value of another type (semantics 34.1, 34.2).
        StoreError: if the files cannot be used, or the store is closed (semantics 34.5).

    Source: S1, "Message Store".
    """

    _kind = "message"

    def __init__(
        self,
        layout: KeyLayout,
        *,
        sessions: bool = False,
        directory: str | Path | None = None,
        cache_bytes: int = DEFAULT_CACHE,
    ) -> None:
        if tuple(layout) not in LAYOUTS:
            rule = "a layout is one of S1's matrix"
            raise SpecError(f"layout={layout!r}", rule, "give what message_key_layout(...) returns")
        self._layout: KeyLayout = tuple(layout)
        self._sessions = sessions
        self._by_time = "timestamp" in layout
        self._equal_first = layout[0] == "equal_fields"
        self._horizon = MIN_INSTANT  # messages whose positions are below have been retired
        self._replays = self._retired_adds = 0
        settings = {"layout": list(layout), "sessions": sessions}
        super().__init__(settings, directory, cache_bytes=cache_bytes)

    @property
    def layout(self) -> KeyLayout:
        """The fields of the keys."""
        return self._layout

    @property
    def replays(self) -> int:
        """How many added messages were stored already."""
        return self._replays

    @property
    def retired_adds(self) -> int:
        """How many messages were added after their position had been retired."""
        return self._retired_adds

    def add(
        self,
        value: Any,
        *,
        offset: int,
        time: InstantLike | None = None,
        session_key: KeyValue | None = None,
        join_keys: tuple[Any, ...] | None = None,
    ) -> bool:
        """Stores a message. Returns False if it is a replay, or if its position has been retired."""
        self._check_open()
        place, position, details = self._place(offset, time, session_key, join_keys)
        data = encode_value(value)
        if position < self._horizon:
            self._retired_adds += 1
            return False
        if self._map.get(place) is not None:
            self._replays += 1
            return False
        self._map.put(place, details + data)
        return True

    def get_messages(
        self,
        start: InstantLike,
        end: InstantLike,
        *,
        session_key: KeyValue | None = None,
        join_keys: tuple[Any, ...] | None = None,
        start_offset: int = MIN_INSTANT,
        last_offset: int = MAX_INSTANT,
    ) -> Entries[Message]:
        """Returns the messages from `start` to `end`, with both ends, in the order of their keys.

        Args:
            start: the first time or, in a layout without a timestamp, the first offset.
            end: the last time or offset.
            session_key: only messages of this session.
            join_keys: only messages whose equal fields have these values.
            start_offset: the first offset at the time `start`, for layouts with a timestamp.
            last_offset: the last offset at the time `end`, for layouts with a timestamp.
        """
        self._check_open()
        low, high = (instant_us(start, "start"), start_offset), (instant_us(end, "end"), last_offset)
        self._check_session(session_key)
        if not self._by_time and (start_offset, last_offset) != (MIN_INSTANT, MAX_INSTANT):
            rule = "without a timestamp a range is one of offsets"
            raise InputError(
                f"start_offset={start_offset}, last_offset={last_offset}", rule, "leave them out"
            )
        fields = _fields(join_keys)
        prefix, complete = self._prefix(session_key, fields)
        if complete:
            self._delete(prefix, self._horizon)
        first = max(low[0], self._horizon)
        bounds = _range(prefix, first, high[0]) if complete else (prefix, prefix_end(prefix))

        def found(opened: Snapshot) -> Iterator[Message]:
            for place, data in opened.scan(*bounds):
                message, encoded = self._decoded(place, data)
                position = self._position(message)
                if (
                    first <= position
                    and low <= (position, message.offset) <= high
                    and (fields is None or encoded == fields)
                ):
                    yield message

        return self._entries(found)

    def retire(
        self,
        end: InstantLike,
        *,
        session_key: KeyValue | None = None,
        join_keys: tuple[Any, ...] | None = None,
        last_offset: int = MAX_INSTANT,
    ) -> int:
        """Retires the messages before a time or, in a layout without a timestamp, up to an offset.

        The end is exclusive for times, and inclusive for offsets. Retired messages are returned by no read,
        and cannot be added again. With several prefixes they are deleted when their prefix is read, or by
        `purge`. With a session key or join keys only their messages are retired: they are deleted at once,
        and may be added again. Of these, messages whose offset is above `last_offset` stay.

        Returns the number of messages that were deleted.

        Raises:
            InputError: for join keys if they are not at the beginning of the keys.
        """
        self._check_open()
        horizon = instant_us(end, "end") + (not self._by_time)
        if session_key is None and join_keys is None:
            self._horizon = max(self._horizon, horizon)
            return 0 if self._sessions or self._equal_first else self._delete(_PREFIX, self._horizon)
        self._check_session(session_key)
        fields = _fields(join_keys)
        prefix, complete = self._prefix(session_key, fields)
        if not complete or (fields is not None and not self._equal_first):
            rule = "messages of a part are retired by the whole of what their keys begin with"
            given = f"session_key={session_key!r}, join_keys={join_keys!r}, layout={self._layout}"
            raise InputError(given, rule, "give both, or none of them")
        return self._delete(prefix, horizon, last_offset)

    def purge(self, wanted: Callable[[Message], bool] | None = None) -> int:
        """Deletes all retired messages of all prefixes. Returns their number; reads all keys.

        Args:
            wanted: is called with each message. Those for which it returns False are deleted, too.
        """
        self._check_open()
        retired = []
        for place, data in self._map.scan(_PREFIX, prefix_end(_PREFIX)):
            message, _ = self._decoded(place, data)
            if self._position(message) < self._horizon or (wanted is not None and not wanted(message)):
                retired.append(place)
        for place in retired:
            self._map.delete(place)
        return len(retired)

    def dump(self, wanted: Callable[[Message], bool]) -> Entries[tuple[bytes, bytes]]:
        """Returns messages as pairs of bytes, which `load` of a store with the same settings takes.

        Args:
            wanted: is called with each message that has not been retired. Those for which it returns False
                are left out.
        """
        self._check_open()
        horizon = self._horizon

        def found(opened: Snapshot) -> Iterator[tuple[bytes, bytes]]:
            for place, data in opened.scan(_PREFIX, prefix_end(_PREFIX)):
                message, _ = self._decoded(place, data)
                if self._position(message) >= horizon and wanted(message):
                    yield place, data

        return self._entries(found)

    def load(self, dumped: Iterable[tuple[bytes, bytes]]) -> None:
        """Replaces all messages by those that `dump` returned. No position is retired any more."""
        self._check_open()
        found = list(dumped)
        self._map.delete_range(_PREFIX, prefix_end(_PREFIX))
        for place, data in found:
            self._map.put(place, data)
        self._horizon = MIN_INSTANT

    def _position(self, message: Message) -> int:
        """Returns the time of a message or, in a layout without a timestamp, its offset."""
        position = message.time if self._by_time else message.offset
        assert position is not None  # a layout with a timestamp stores no message without one
        return position

    def _place(
        self,
        offset: int,
        time: InstantLike | None,
        session_key: KeyValue | None,
        join_keys: tuple[Any, ...] | None,
    ) -> tuple[bytes, int, bytes]:
        """Returns the key of a message, its position, and what its entry contains besides its value."""
        if self._sessions:
            self._need("session_key", session_key)
        self._check_session(session_key)
        if self._by_time:
            self._need("time", time)
        if "equal_fields" in self._layout:
            self._need("join_keys", join_keys)
        at = MIN_INSTANT if time is None else instant_us(time, "time")
        fields = _fields(join_keys) or b""
        parts = {
            "timestamp": encode_int64(at),
            "equal_fields": fields,
            "offset": encode_int64(instant_us(offset, "offset")),
        }
        session = encode_key(session_key) if self._sessions else b""
        place = _PREFIX + session + b"".join(parts[field] for field in self._layout)
        details = bytes([time is not None]) + parts["timestamp"] + len(fields).to_bytes(4, "big") + fields
        return place, at if self._by_time else offset, details

    def _need(self, name: str, value: object) -> None:
        if value is None:
            rule = "a message has every field of its key"
            raise InputError(f"{name}=None, layout={self._layout}", rule, f"give {name}")

    def _check_session(self, session_key: KeyValue | None) -> None:
        if session_key is not None and not self._sessions:
            rule = "only a store with sessions has session keys"
            raise InputError(f"session_key={session_key!r}", rule, "MessageStore(..., sessions=True)")

    def _prefix(self, session_key: KeyValue | None, fields: bytes | None) -> tuple[bytes, bool]:
        """Returns what the keys begin with, and whether their positions follow directly."""
        if not self._sessions:
            if self._equal_first and fields is not None:
                return _PREFIX + fields, True
            return _PREFIX, not self._equal_first
        if session_key is None:
            return _PREFIX, False
        prefix = _PREFIX + encode_key(session_key)
        if self._equal_first and fields is not None:
            return prefix + fields, True
        return prefix, not self._equal_first

    def _delete(self, prefix: bytes, horizon: int, last_offset: int = MAX_INSTANT) -> int:
        """Deletes the messages of a prefix whose positions are below a horizon. Returns their number."""
        if horizon == MIN_INSTANT:
            return 0
        bounds = _range(prefix, MIN_INSTANT, horizon - 1)
        if last_offset == MAX_INSTANT:
            return self._map.delete_range(*bounds)
        places = [place for place, _ in self._map.scan(*bounds)]
        return sum(
            self._map.delete(place) for place in places if decode_int64(place, len(place) - 8) <= last_offset
        )

    def _decoded(self, place: bytes, data: bytes) -> tuple[Message, bytes]:
        """Returns a message, and its equal fields as bytes."""
        behind = 13 + int.from_bytes(data[9:13], "big")
        encoded = data[13:behind]
        fields: Any = decode_key(encoded)[0] if encoded else None
        time = decode_int64(data, 1) if data[0] else None
        session = decode_key(place, len(_PREFIX))[0] if self._sessions else None
        offset = decode_int64(place, len(place) - 8)
        return Message(offset, time, session, fields, decode_value(data[behind:])), encoded

    def _state(self) -> dict[str, Any]:
        return {"horizon": self._horizon, "replays": self._replays, "retired_adds": self._retired_adds}

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._horizon = state["horizon"]
        self._replays, self._retired_adds = state["replays"], state["retired_adds"]


def _fields(join_keys: Iterable[Any] | None) -> bytes | None:
    """Returns the equal fields as bytes. A text is refused: it would be taken for a tuple of its letters."""
    if join_keys is None:
        return None
    if isinstance(join_keys, (str, bytes)):
        given = f"join_keys={join_keys!r}"
        raise InputError(given, "join keys are a tuple of the values of all equal fields", "give (value,)")
    return encode_key(tuple(join_keys))


def _range(prefix: bytes, first: int, last: int) -> tuple[bytes, bytes | None]:
    """Returns the range of the map for the positions first <= position <= last behind a prefix."""
    end = prefix_end(prefix) if last >= MAX_INSTANT else prefix + encode_int64(last + 1)
    return prefix + encode_int64(min(first, MAX_INSTANT)), end
