"""The messages of expired windows, which are deleted from a message store when nothing needs them any more.

A flush commits messages before metadata. If it fails in between, the stored windows are older than the
messages, and emit again when the caller repeats what came after them. So their messages are deleted after the
metadata that no longer have the windows. Until then they are hidden.
"""

from typing import Any, NamedTuple

from panewise.stores.keys import KeyValue
from panewise.stores.message_codec import Message
from panewise.stores.message_store import MessageStore


class _Retired(NamedTuple):
    """Messages of a prefix up to an offset that retire with `end`."""

    end: int
    session_key: KeyValue | None
    join_keys: tuple[Any, ...] | None
    last_offset: int


class Retirements:
    """What is to be deleted from a message store.

    Args:
        messages: the message store.
        at_once: whether it is deleted at once, as in a store in memory, where nothing can fail in between.
    """

    def __init__(self, messages: MessageStore, *, at_once: bool) -> None:
        self._messages, self._at_once = messages, at_once
        self._by_time = "timestamp" in messages.layout
        self._end: int | None = None
        self._parts: dict[bytes, list[_Retired]] = {}  # by the prefix of the keys

    def add(self, end: int) -> None:
        """Retires the messages before a time, or up to an offset."""
        self._end = end if self._end is None else max(self._end, end)
        if self._at_once:
            self.apply()

    def add_part(
        self,
        end: int,
        session_key: KeyValue | None,
        join_keys: tuple[Any, ...] | None,
        last_offset: int,
    ) -> None:
        """Retires the messages of a session key, of equal fields or of both before a time or up to an offset.

        A message whose offset is above `last_offset` is added later, and stays.

        Raises:
            InputError: if the keys of messages do not begin with what is given, or begin with more.
        """
        one = _Retired(end, session_key, join_keys, last_offset)
        parts = self._parts.setdefault(self._messages.prefix_of(session_key, join_keys), [])
        parts[:] = [part for part in parts if part.end > end or part.last_offset > last_offset]
        parts.append(one)
        if self._at_once:
            self.apply()

    def hides(self, message: Message) -> bool:
        """Returns whether a message is to be deleted."""
        position = message.time if self._by_time else message.offset
        assert position is not None
        if self._end is not None and self._is_before(position, self._end):
            return True
        if not self._parts:
            return False
        join_keys = message.join_keys if self._messages.layout[0] == "equal_fields" else None
        return any(
            self._is_before(position, one.end) and message.offset <= one.last_offset
            for one in self._parts.get(self._messages.prefix_of(message.session_key, join_keys), ())
        )

    def _is_before(self, position: int, end: int) -> bool:
        return position < end if self._by_time else position <= end

    def apply(self) -> bool:
        """Deletes it. Returns whether a part was among it: nothing else deletes its messages later."""
        if self._end is not None:
            self._messages.retire(self._end)
            self._end = None
        retired, self._parts = self._parts, {}
        for one in (one for found in retired.values() for one in found):
            self._messages.retire(
                one.end, session_key=one.session_key, join_keys=one.join_keys, last_offset=one.last_offset
            )
        return bool(retired)
