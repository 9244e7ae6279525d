"""Deletes the messages of expired windows from a message store, once no stored window needs them any more.

A flush commits messages before metadata. If it fails in between, the stored windows are older than the
messages. They emit again when the caller repeats the messages after the position. So a flush first commits
the metadata, which say which messages are retired, and deletes these messages afterwards. Until then they are
hidden: no read of the operator returns them.

If the keys of messages begin with equal fields, the messages of a session are spread over many prefixes. To
delete them, all messages of the session key have to be read. So the messages of expired sessions stay hidden
until at least as many sessions of the key have expired as are live. Invariant: at least half of the sessions
that such a read finds have expired. So it costs a constant number of steps for each message that is deleted,
if sessions are of similar sizes.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from panewise.chrono import MIN_INSTANT
from panewise.stores.keys import KeyValue, decode_key, encode_key
from panewise.stores.message_codec import Message
from panewise.stores.message_store import MessageStore

RetiredFields: TypeAlias = tuple[KeyValue | None, tuple[Any, ...] | None]  # session key, equal fields or both


class _Bound(NamedTuple):
    """Messages with some fields retire if they lie before the time `end`, and not above `last_offset`.

    In a layout without a timestamp `end` is an offset, and the message at `end` retires, too.
    """

    end: int
    last_offset: int


class Retirements:
    """The retired messages that are still in a message store: they are hidden, and deleted after a flush.

    Args:
        in_memory: whether the store is in memory. Then nothing can be lost between two commits, and messages
            are deleted without waiting for a flush.
    """

    def __init__(self, messages: MessageStore, *, in_memory: bool) -> None:
        self._messages, self._in_memory = messages, in_memory
        self._by_time = "timestamp" in messages.layout
        self._equal_first = messages.layout[0] == "equal_fields"
        self._end: int | None = None
        self._bounds: dict[RetiredFields, list[_Bound]] = {}
        self._due: set[RetiredFields] = set()  # fields whose messages are deleted after the next flush
        self._changed: set[RetiredFields] = set()  # fields whose bounds the next flush writes or deletes
        self._expired: dict[KeyValue, int] = {}  # expired sessions by key, since its messages were deleted

    def add(self, end: int) -> None:
        """Retires the messages before a time, or up to an offset."""
        self._end = end if self._end is None else max(self._end, end)
        self._apply_in_memory()

    def add_session(self, end: int, session_key: KeyValue, last_offset: int, *, left: int) -> None:
        """Retires the messages of a session key before a time or up to an offset, after a session expired.

        A message whose offset is above `last_offset` is added later, and stays.

        Args:
            end: the time or offset, exclusive for times and inclusive for offsets.
            left: how many live sessions the key has. Messages may stay hidden until as many have expired.
        """
        fields = (session_key, None)
        self._hide(fields, _Bound(end, last_offset))
        self._expired[session_key] = self._expired.get(session_key, 0) + 1
        if not self._equal_first or self._expired[session_key] >= left:
            self._due.add(fields)
        self._apply_in_memory()

    def add_fields(
        self, end: int, session_key: KeyValue | None, join_keys: tuple[Any, ...], last_offset: int
    ) -> None:
        """Retires the messages with these values of fields, as :meth:`add_session` does by session key.

        The keys of messages must begin with these fields, or with the session key and these fields.
        """
        fields = (session_key, join_keys)
        self._hide(fields, _Bound(end, last_offset))
        self._due.add(fields)
        self._apply_in_memory()

    def hides(self, message: Message) -> bool:
        """Returns whether a stored message is retired, so that no read may return it."""
        if self._end is not None and self._is_before(message, self._end):
            return True
        if not self._bounds:
            return False
        return self._is_of((message.session_key, None), message) or (
            self._equal_first and self._is_of((message.session_key, message.join_keys), message)
        )

    def changes(self) -> dict[bytes, bytes]:
        """Returns the entries that a flush writes with the metadata. An empty value deletes the entry."""
        return {
            encode_key(fields): json.dumps(self._bounds[fields]).encode() if fields in self._bounds else b""
            for fields in self._changed
        }

    def apply(self) -> bool:
        """Deletes the messages that are due, after a flush.

        Returns whether messages of some fields were among them.
        """
        self._changed.clear()
        if self._end is not None:
            self._messages.retire(self._end)
            self._end = None
        deletes = bool(self._due)
        while self._due:
            fields = next(iter(self._due))
            self._delete(fields)
            self._forget(fields)
        return deletes

    def load(self, stored: Iterable[tuple[bytes, bytes]]) -> None:
        """Takes the entries that flushes have written, and deletes the messages that they retire."""
        for key, data in stored:
            fields: Any = decode_key(key)[0]
            self._bounds[fields] = [_Bound(*stored_bound) for stored_bound in json.loads(data)]
        self._due.update(self._bounds)
        self.apply()

    def _apply_in_memory(self) -> None:
        if self._in_memory:
            self.apply()

    def _hide(self, fields: RetiredFields, bound: _Bound) -> None:
        """Adds a bound for messages with some fields. It replaces the bounds whose messages it contains."""
        bounds = self._bounds.setdefault(fields, [])
        bounds[:] = [
            known for known in bounds if known.end > bound.end or known.last_offset > bound.last_offset
        ]
        bounds.append(bound)
        self._changed.add(fields)

    def _is_of(self, fields: RetiredFields, message: Message) -> bool:
        """Returns whether a bound of some fields contains a message with these fields."""
        return any(
            message.offset <= bound.last_offset and self._is_before(message, bound.end)
            for bound in self._bounds.get(fields, ())
        )

    def _is_before(self, message: Message, end: int) -> bool:
        if self._by_time:
            assert message.time is not None
            return message.time < end
        return message.offset <= end

    def _delete(self, fields: RetiredFields) -> None:
        for session_key, join_keys in self._whole(fields):
            for end, last_offset in self._bounds[fields]:
                self._messages.retire(
                    end, session_key=session_key, join_keys=join_keys, last_offset=last_offset
                )

    def _whole(self, fields: RetiredFields) -> Iterable[RetiredFields]:
        """Splits fields so that each of them is a prefix of keys, which the message store can retire."""
        session_key, join_keys = fields
        if join_keys is not None or not self._equal_first:
            return [fields]
        last = max(bound.end for bound in self._bounds[fields])
        with self._messages.get_messages(start=MIN_INSTANT, end=last, session_key=session_key) as messages:
            return {(session_key, message.join_keys) for message in messages if self._is_of(fields, message)}

    def _forget(self, fields: RetiredFields) -> None:
        session_key, join_keys = fields
        self._due.discard(fields)
        del self._bounds[fields]
        if session_key is not None and join_keys is None:
            self._expired.pop(session_key, None)
        if not self._in_memory:
            self._changed.add(fields)
