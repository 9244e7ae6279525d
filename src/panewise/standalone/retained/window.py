"""A window as an operator has it in memory, and as the value of a map.

As bytes it is JSON, with Arrow for partials and emitted results.
"""

import json
from bisect import bisect_left
from collections.abc import Container
from dataclasses import dataclass, field, fields, replace
from io import BytesIO
from typing import Any, Final, NamedTuple

import polars as pl

from panewise.engine.kernels.instants import lowest
from panewise.stores.keys import KeyValue, encode_int64, encode_key

Message = dict[str, Any]


@dataclass(slots=True)
class Arrival:
    """A message that an operator applies.

    Attributes:
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
        join_keys: its equal fields as stores have them, by `encode_key`; none without equal fields.
    """

    time: int
    offset: int
    join_keys: bytes


@dataclass(slots=True)
class RetainedWindow:
    """A window of the table.

    Attributes:
        session_key: the session key as stores have it, None without sessions.
        start: its key, see `WindowMetadata`.
        boundary: the progress at which it is full: a watermark, or the number of a message.
        end: the first instant after it. For windows of messages: after the latest event time in it.
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
        """Extends the offsets, the last number and the last time by those of a message."""
        self.start_offset = min(self.start_offset, arrival.offset)
        self.last_offset = max(self.last_offset, arrival.offset)
        self.last_number, self.last_time = arrival.number, max(self.last_time, arrival.time)

    def bound(self, end: int, boundary: int | None = None) -> None:
        """Sets the end and, unless it is None, the boundary."""
        self.end = end
        if boundary is not None:
            self.boundary = boundary

    def note_full(self, progress: int) -> bool:
        """Marks the window as full, or as not full, by the progress. Returns whether it has become full."""
        before, self.full = self.full, self.boundary <= progress
        return self.full and not before

    def reset_full(self) -> None:
        """Lets it become full again, and emit as full, in the next step."""
        self.full = False

    def note_pending(self, clock: int) -> bool:
        """Notes a message that has not been emitted. Returns whether it is the first one."""
        is_first = self.pending_since is None
        if is_first:
            self.pending_since = clock
        return is_first

    def note_emission(self, *, incomplete: bool) -> None:
        """Notes that it has emitted, perhaps while its stored messages were not complete."""
        self.pending_since, self.incomplete = None, self.incomplete or incomplete

    def add_fresh(self, arrival: Arrival, join_keys: bytes) -> None:
        """Adds a message that is to be emitted, after the others."""
        self.fresh.append(FreshMessage(arrival.time, arrival.offset, join_keys))

    def is_fresh(self, offset: int) -> bool:
        """Returns whether it has not emitted the message with this offset."""
        place = bisect_left(self.fresh, offset, key=lambda message: message.offset)
        return place < len(self.fresh) and self.fresh[place].offset == offset

    def remove_fresh(self, emitted: Container[int], *, keep_others: bool) -> None:
        """Removes the messages with these offsets, or all."""
        others = (message for message in self.fresh if message.offset not in emitted)
        self.fresh = list(others) if keep_others else []

    def note_result(self, result: pl.DataFrame) -> None:
        """Stores emitted results of a session."""
        self.emitted = result

    def add_row(self, message: Message) -> None:
        """Adds a message that the partial does not contain."""
        self.rows.append(message)

    def put_partial(self, partial: pl.DataFrame | None) -> None:
        """Sets the partial of all messages in it. None: results are computed from stored messages."""
        self.partial, self.rows = partial, []

    def renamed(self, start: int) -> "RetainedWindow":
        """Returns a session with another start, which has emitted nothing yet."""
        return replace(self, start=start, emitted=None, full=False, fresh=list(self.fresh))

    def absorb(self, other: "RetainedWindow") -> None:
        """Adds another session. Partials become rows of one frame, which the next fold merges."""
        self.start_offset = min(self.start_offset, other.start_offset)
        self.last_offset = max(self.last_offset, other.last_offset)
        self.last_time = max(self.last_time, other.last_time)
        self.pending_since = lowest([self.pending_since, other.pending_since])
        self.fresh = sorted(self.fresh + other.fresh, key=lambda message: message.offset)
        self.rows = self.rows + other.rows
        partials = [session.partial for session in (self, other) if session.partial is not None]
        self.partial = pl.concat(partials) if partials else None
        self.incomplete = self.incomplete or other.incomplete


def session_bytes(session_key: KeyValue | None) -> bytes:
    """Returns the bytes of a session key; none without sessions."""
    return b"" if session_key is None else encode_key(session_key)


_NOT_PLAIN: Final = {"fresh", "partial", "rows", "emitted"}
_PLAIN: Final = [field.name for field in fields(RetainedWindow) if field.name not in _NOT_PLAIN]


def encode_window(window: RetainedWindow) -> bytes:
    """Returns a window whose messages have been folded, as bytes."""
    plain = {name: getattr(window, name) for name in _PLAIN}
    if isinstance(window.session_key, bytes):
        plain["session_key"] = {"bytes": window.session_key.hex()}
    fresh = [(message.time, message.offset, message.join_keys.hex()) for message in window.fresh]
    text = json.dumps({**plain, "fresh": fresh}).encode()
    partial = to_bytes(window.partial)
    lengths = len(text).to_bytes(4, "big") + len(partial).to_bytes(4, "big")
    return lengths + text + partial + to_bytes(window.emitted)


def decode_window(data: bytes) -> RetainedWindow:
    """Returns the window of bytes."""
    text, partial = (int.from_bytes(data[at : at + 4], "big") for at in (0, 4))
    plain = json.loads(data[8 : 8 + text])
    if isinstance(plain["session_key"], dict):
        plain["session_key"] = bytes.fromhex(plain["session_key"]["bytes"])
    fresh = [FreshMessage(time, offset, bytes.fromhex(keys)) for time, offset, keys in plain.pop("fresh")]
    fresh.sort(key=lambda message: message.offset)  # earlier releases did not sort those of merged sessions
    end = 8 + text + partial
    return RetainedWindow(
        **plain, fresh=fresh, partial=from_bytes(data[8 + text : end]), emitted=from_bytes(data[end:])
    )


def to_bytes(frame: pl.DataFrame | None) -> bytes:
    """Returns a frame as an Arrow file; no bytes for None."""
    if frame is None:
        return b""
    file = BytesIO()
    frame.write_ipc(file)
    return file.getvalue()


def from_bytes(data: bytes) -> pl.DataFrame | None:
    """Returns the frame of an Arrow file; None for no bytes."""
    return pl.read_ipc(data) if data else None
