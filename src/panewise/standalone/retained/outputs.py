"""What S1's window operators emit: outputs of windows, and messages that no window takes."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from panewise.standalone.buffer import copied
from panewise.standalone.retained.window import RetainedMessage, WindowMetadata

Firing: TypeAlias = Literal["early", "full", "late", "retraction"]
Classified: TypeAlias = Literal[
    "in_time", "past", "future", "replay", "restored", "out_of_retention", "invalid"
]


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
    messages = tuple(RetainedMessage(copied(dict(one)), one.offset) for one in output.messages)
    return replace(output, window=window, messages=messages)
