"""The message store of S1: the messages of all windows in retention, each once.

Messages of one prefix are in the order of their positions, so those that retire are a range. Retiring moves
a horizon that all reads obey. If the store has one prefix, the range is deleted at once. Otherwise it is
deleted when its prefix is read, or by a sweep: while messages are added, all stored ones are examined in
turn, two for each that is added. So in the long run the retired ones are fewer than the others.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from panewise.calls import one_thread_at_a_time
from panewise.choices import check_flag
from panewise.chrono import MAX_INSTANT, MIN_INSTANT, InstantLike
from panewise.errors import InputError, SpecError
from panewise.stores.durable_map import DEFAULT_CACHE
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, int64_range
from panewise.stores.message_codec import (
    PREFIX,
    Message,
    MessageCodec,
    MessageKey,
    checked_offset,
    encode_fields,
    fields_of,
    offset_of,
)
from panewise.stores.message_layout import LAYOUTS, KeyLayout
from panewise.stores.ordered_map import Snapshot, after, prefix_end
from panewise.stores.store import Store

_ADDS_OF_SWEEP: Final = 64


class MessageStore(Store):
    """The messages of all windows in retention, each stored once (semantics 25.1 to 25.8).

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
    >>> [message.value for message in store.get_messages(start=100, end=150)]
    ['m1', 'm2']
    >>> [message.value for message in store.get_messages(start=100, end=150, join_keys=("y",))]
    ['m2']

    Raises:
        SpecError: if the layout is none of the matrix.
        InputError: if a message lacks a field of the layout, or has a session key without `sessions`; for an
            offset that is no whole number of 64 bits; for a key or value of another type (semantics 34.1,
            34.2).
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
        if not isinstance(layout, Iterable) or tuple(layout) not in LAYOUTS:
            rule = "a layout is one of S1's matrix"
            raise SpecError(f"layout={layout!r}", rule, "give what message_key_layout(...) returns")
        check_flag("sessions", sessions)
        self._codec, self._sessions = MessageCodec(layout, sessions=sessions), sessions
        self._horizon = MIN_INSTANT  # messages whose positions are below have been retired
        self._replays = self._retired_adds = 0
        self._adds, self._swept = 0, PREFIX  # adds since the last sweep, and the key where it ended
        settings = {"layout": list(layout), "sessions": sessions}
        super().__init__(settings, directory, cache_bytes=cache_bytes)

    @property
    def layout(self) -> KeyLayout:
        """The fields of the keys."""
        return self._codec.layout

    @property
    def replays(self) -> int:
        """How many added messages were stored already."""
        return self._replays

    @property
    def retired_adds(self) -> int:
        """How many messages were added after their position had been retired."""
        return self._retired_adds

    @one_thread_at_a_time
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
        key = MessageKey(offset, time, session_key, join_keys)
        place, position = self._codec.encode_key(key)
        data = self._codec.encode_value(key, value)
        if position < self._horizon:
            self._retired_adds += 1
            return False
        if self._map.get(place) is not None:
            self._replays += 1
            return False
        self._map.put(place, data)
        self._adds += 1
        if self._adds == _ADDS_OF_SWEEP:
            self._sweep()
        return True

    def get_many(self, keys: Iterable[MessageKey]) -> list[Message]:
        """Returns the messages with these keys, in the order of their keys.

        Those that are not stored, or have been retired, are left out. Each key costs one search, in every
        layout.
        """
        self._check_open()
        if not isinstance(keys, Iterable):
            raise InputError(f"keys={keys!r}", "the keys to read are a list", "give a list of MessageKey")
        messages = []
        for place in sorted({self._codec.encode_key(key)[0] for key in keys}):
            data = self._map.get(place)
            if data is not None and self._codec.position(place, data) >= self._horizon:
                messages.append(self._codec.decode(place, data))
        return messages

    @one_thread_at_a_time
    def get_messages(
        self,
        *,
        start: InstantLike,
        end: InstantLike,
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
        low = self._codec.bound(start, "start"), checked_offset(start_offset, "start_offset")
        high = self._codec.bound(end, "end"), checked_offset(last_offset, "last_offset")
        self._codec.check_session(session_key)
        if not self._codec.by_time and (start_offset, last_offset) != (MIN_INSTANT, MAX_INSTANT):
            rule = "without a timestamp a range is one of offsets"
            raise InputError(
                f"start_offset={start_offset}, last_offset={last_offset}", rule, "leave them out"
            )
        fields = encode_fields(join_keys)
        prefix, complete = self._codec.prefix(session_key, fields)
        if complete:
            self._delete(prefix, self._horizon)
        first = max(low[0], self._horizon)
        bounds = int64_range(prefix, first, high[0]) if complete else (prefix, prefix_end(prefix))

        def read(opened: Snapshot) -> Iterator[Message]:
            for place, data in opened.scan(*bounds):
                position = self._codec.position(place, data)
                if (
                    first <= position
                    and low <= (position, offset_of(place)) <= high
                    and (fields is None or fields_of(data) == fields)
                ):
                    yield self._codec.decode(place, data)

        return self._entries(read)

    @one_thread_at_a_time
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
        and cannot be added again. With several prefixes they are deleted when their prefix is read, while
        messages are added, or by `purge`. With a session key or join keys only their messages are retired:
        they are deleted at once, and may be added again. Those of them whose offset is above
        `last_offset` stay.

        Returns the number of messages that were deleted.

        Raises:
            InputError: for join keys if they are not at the beginning of the keys; for `last_offset` with
                neither a session key nor join keys; for an offset that is no whole number of 64 bits.
        """
        self._check_open()
        horizon = self._codec.bound(end, "end") + (not self._codec.by_time)
        checked_offset(last_offset, "last_offset")
        if session_key is None and join_keys is None:
            if last_offset != MAX_INSTANT:
                rule = "only with a session key or join keys does retire keep messages above an offset"
                raise InputError(f"last_offset={last_offset}", rule, "leave it out, or give the keys")
            self._horizon = max(self._horizon, horizon)
            return 0 if self._sessions or self._codec.equal_first else self._delete(PREFIX, self._horizon)
        return self._delete(self.prefix_of(session_key, join_keys), horizon, last_offset)

    def prefix_of(self, session_key: KeyValue | None, join_keys: tuple[Any, ...] | None) -> bytes:
        """Returns what the keys of messages with this session key and these equal fields begin with.

        Raises:
            InputError: if other messages have keys that begin so, too.
        """
        self._codec.check_session(session_key)
        fields = encode_fields(join_keys)
        prefix, complete = self._codec.prefix(session_key, fields)
        if not complete or (fields is not None and not self._codec.equal_first):
            rule = "retire takes all fields with which the keys of messages begin"
            fault = f"session_key={session_key!r}, join_keys={join_keys!r}, layout={self._codec.layout}"
            raise InputError(fault, rule, "give both, or none of them")
        return prefix

    @one_thread_at_a_time
    def purge(self, wanted: Callable[[Message], bool] | None = None) -> int:
        """Deletes all retired messages of all prefixes. Returns their number; reads all keys.

        Args:
            wanted: is called with each message. Those for which it returns False are deleted, too.
        """
        self._check_open()
        retired = []
        for place, data in self._map.scan(PREFIX, prefix_end(PREFIX)):
            is_retired = self._codec.position(place, data) < self._horizon
            if is_retired or (wanted is not None and not wanted(self._codec.decode(place, data))):
                retired.append(place)
        for place in retired:
            self._map.delete(place)
        return len(retired)

    @one_thread_at_a_time
    def dump(self, wanted: Callable[[Message], bool]) -> Entries[tuple[bytes, bytes]]:
        """Returns messages as pairs of bytes, which `load` of a store with the same settings takes.

        Args:
            wanted: is called with each message that has not been retired. Those for which it returns False
                are left out.
        """
        self._check_open()
        horizon = self._horizon

        def read(opened: Snapshot) -> Iterator[tuple[bytes, bytes]]:
            for place, data in opened.scan(PREFIX, prefix_end(PREFIX)):
                if self._codec.position(place, data) >= horizon and wanted(self._codec.decode(place, data)):
                    yield place, data

        return self._entries(read)

    @one_thread_at_a_time
    def load(self, dumped: Iterable[tuple[bytes, bytes]]) -> None:
        """Replaces all messages by those that `dump` returned. No position is retired any more."""
        self._check_open()
        if not isinstance(dumped, Iterable):
            raise InputError(
                f"dumped={dumped!r}", "dumped messages are a list", "give what dump(...) returned"
            )
        entries = [_dumped(entry) for entry in dumped]
        self._map.delete_range(PREFIX, prefix_end(PREFIX))
        for place, data in entries:
            self._map.put(place, data)
        self._horizon = MIN_INSTANT

    def _sweep(self) -> None:
        """Deletes the retired ones of the messages that follow the last sweep in the order of keys."""
        self._adds = 0
        if self._horizon == MIN_INSTANT or not (self._sessions or self._codec.equal_first):
            return
        with self._map.scan(self._swept, prefix_end(PREFIX)) as scan:
            following = list(islice(scan, 2 * _ADDS_OF_SWEEP))
        for place, data in following:
            if self._codec.position(place, data) < self._horizon:
                self._map.delete(place)
        at_end = len(following) < 2 * _ADDS_OF_SWEEP
        self._swept = PREFIX if at_end else after(following[-1][0])

    def _delete(self, prefix: bytes, horizon: int, last_offset: int = MAX_INSTANT) -> int:
        """Deletes the messages of a prefix whose positions are below a horizon. Returns their number."""
        if horizon == MIN_INSTANT:
            return 0
        bounds = int64_range(prefix, MIN_INSTANT, horizon - 1)
        if last_offset == MAX_INSTANT:
            return self._map.delete_range(*bounds)
        places = [place for place, _ in self._map.scan(*bounds)]
        return sum(self._map.delete(place) for place in places if offset_of(place) <= last_offset)

    def _state(self) -> dict[str, Any]:
        return {"horizon": self._horizon, "replays": self._replays, "retired_adds": self._retired_adds}

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._horizon = state["horizon"]
        self._replays, self._retired_adds = state["replays"], state["retired_adds"]


def _dumped(entry: Any) -> tuple[bytes, bytes]:
    """Returns an entry that `dump` returned."""
    if not isinstance(entry, (tuple, list)) or [type(part) for part in entry] != [bytes, bytes]:
        rule = "a dumped message is a pair of bytes"
        raise InputError(f"entry={entry!r}", rule, "give what dump(...) returned")
    return entry[0], entry[1]
