"""What users see of S1's windows: their metadata, their messages, and what they emit."""

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias

from panewise.standalone.buffer import copied
from panewise.stores.keys import KeyValue

Firing: TypeAlias = Literal["early", "full", "late", "retraction"]
Classified: TypeAlias = Literal[
    "in_time", "past", "future", "replay", "restored", "out_of_retention", "invalid"
]
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

    def __init__(self, values: dict[str, Any], offset: int) -> None:
        super().__init__(values)
        self.offset = offset


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


@dataclass(frozen=True)
class WindowOutput:
    """An output of a window.

    Attributes:
        window: the metadata of the window. In an aggregator `window.value` has the results.
        sequence: the number of the output. Outputs of an operator are numbered 1, 2, 3 and so on, and an
            output that is repeated after a failure has the number and the content of the first time.
        firing: why the window emitted: "early" before it was full, "full" when it became full, "late" after
            that; "retraction" takes back the last output of a session that became a part of another one.
        messages: in a join window operator the messages that are new since the last output of the window, in
            the order of the keys of the message store. Each is a dict with an attribute `offset`. Otherwise
            empty.

    Source: S1 "Window outputs"; semantics 26.4, 26.7, 26.8.
    """

    window: WindowMetadata
    sequence: int
    firing: Firing
    messages: tuple[RetainedMessage, ...] = ()


def copy_of(output: WindowOutput) -> WindowOutput:
    """Returns a copy that shares no dict and no list with an output."""
    window = output.window._replace(value=copied(output.window.value))
    messages = tuple(RetainedMessage(copied(dict(message)), message.offset) for message in output.messages)
    return replace(output, window=window, messages=messages)
