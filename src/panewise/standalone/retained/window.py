"""A window as an operator has it in memory, and what its users see of it: its metadata."""

from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from panewise.stores.keys import KeyValue, encode_int64, encode_key

Message = dict[str, Any]
SessionKey: TypeAlias = KeyValue | date | Decimal  # as callers see it; stores and windows have a KeyValue


class RetainedMessage(dict[str, Any]):
    """A message of retained windows: a dict of its values, with its offset.

    Attributes:
        offset: the offset of the message.

    >>> message = RetainedMessage({"v": 1}, 7)
    >>> message, message.offset
    ({'v': 1}, 7)

    Source: S1 "Message Store"; semantics 26.14.
    """

    __slots__ = ("offset",)

    def __init__(self, values: Message, offset: int) -> None:
        super().__init__(values)
        self.offset = offset


@dataclass(slots=True)
class Arrival:
    """A message that an operator applies.

    Attributes:
        message: the message.
        offset: its offset.
        time: its event time.
        number: how many messages were applied before it.
        session_key: its session key as stores have it, None without sessions.
    """

    message: Message
    offset: int
    time: int
    number: int
    session_key: KeyValue | None


class FreshMessage(NamedTuple):
    """A stored message of a window that has not been emitted.

    Attributes:
        time: its event time.
        offset: its offset.
        join_keys: its equal fields as stores have them, by `encode_key`; none without equal fields.
    """

    time: int
    offset: int
    join_keys: bytes


class WindowMetadata(NamedTuple):
    """The metadata of a window: S1's key and value.

    Attributes:
        session_key: the key of the session; None for windows of a fixed size.
        start: the key of the window: its first instant in microseconds or, for windows of messages, the
            offset of its first message.
        start_offset: the lowest offset of a message of the window.
        last_offset: the highest offset of a message of the window.
        start_time: the first instant, for windows of time.
        end_time: the first instant after the window, for windows of time. For a session it is the last
            instant at which a message would belong to it (semantics 9.9).
        value: the results of the aggregates; None in a join window operator.
        partial: what the results are computed from, as an Arrow file; empty where messages are stored.

    Source: S1 "Window Metadata".
    """

    session_key: SessionKey | None
    start: int
    start_offset: int
    last_offset: int
    start_time: int | None = None
    end_time: int | None = None
    value: dict[str, Any] | None = None
    partial: bytes = b""

    def __repr__(self) -> str:
        """Shows how many bytes the partial has."""
        shown = {name: repr(value) for name, value in self._asdict().items()}
        if isinstance(self.partial, bytes) and self.partial:
            shown["partial"] = f"<{len(self.partial)} bytes>"
        return f"WindowMetadata({', '.join(f'{name}={value}' for name, value in shown.items())})"


@dataclass(slots=True)
class Window:
    """A window of the table.

    Attributes:
        session_key: the session key as stores have it, None without sessions.
        start: its key, see `WindowMetadata`.
        boundary: the progress at which it is full: a watermark, or the number of a message.
        end: the first instant after it. For windows of messages: after the latest event time in it.
        last_number: the number of the last message that was added to it.
        first_number: the number of its first message.
        last_time: the latest event time of its messages.
        full: whether its boundary has been reached.
        pending_since: the processing time of the first message that has not been emitted; None: there is
            none.
        fresh: the messages that a join window operator has not emitted, in the order of their offsets.
        partial: the partials of the messages in one row, without those in `rows`.
        rows: messages that `partial` does not contain, in the order of their offsets.
        emitted: the last emitted results of a session, in one row, for its retraction.
        incomplete: whether it emitted while its stored messages were not complete.
    """

    session_key: KeyValue | None
    start: int
    boundary: int
    end: int
    start_offset: int
    last_offset: int
    first_number: int
    last_number: int
    last_time: int
    full: bool = False
    pending_since: int | None = None
    fresh: list[FreshMessage] = field(default_factory=list)
    partial: pl.DataFrame | None = None
    rows: list[Message] = field(default_factory=list)
    emitted: pl.DataFrame | None = None
    incomplete: bool = False

    @property
    def place(self) -> tuple[int, bytes]:
        """Its place among all windows: they are in the order of their starts."""
        return self.start, session_bytes(self.session_key)

    def stored_key(self) -> bytes:
        """Returns S1's key of its metadata: the session key, then the start."""
        return b"w" + session_bytes(self.session_key) + encode_int64(self.start)

    def cover(self, arrival: Arrival) -> None:
        """Takes a message into its metadata."""
        self.start_offset = min(self.start_offset, arrival.offset)
        self.last_offset = max(self.last_offset, arrival.offset)
        self.last_number, self.last_time = arrival.number, max(self.last_time, arrival.time)

    def renamed(self, start: int) -> "Window":
        """Returns a session with another start, which has emitted nothing yet."""
        return replace(self, start=start, emitted=None, full=False, fresh=list(self.fresh))

    def absorb(self, other: "Window") -> None:
        """Adds another session. Partials become rows of one frame, which the next fold merges."""
        self.start_offset = min(self.start_offset, other.start_offset)
        self.last_offset = max(self.last_offset, other.last_offset)
        self.last_time = max(self.last_time, other.last_time)
        since = [one.pending_since for one in (self, other) if one.pending_since is not None]
        self.pending_since = min(since, default=None)
        self.fresh = sorted(self.fresh + other.fresh, key=lambda one: one.offset)
        self.rows = self.rows + other.rows
        partials = [one.partial for one in (self, other) if one.partial is not None]
        self.partial = pl.concat(partials) if partials else None
        self.incomplete = self.incomplete or other.incomplete


def session_bytes(session_key: KeyValue | None) -> bytes:
    """Returns the bytes of a session key; none without sessions."""
    return b"" if session_key is None else encode_key(session_key)
