"""What waits for its evaluation: messages, in the order in which they were added, and readings of clocks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from panewise.engine.protocol import Schemas
from panewise.errors import InputError
from panewise.spec import Specification
from panewise.standalone.messages import Message, fitted, no_mapping
from panewise.standalone.positions import RowPosition


class WaitingMessage(NamedTuple):
    """A message that has not been evaluated: what `add_message` takes.

    If the specification declares a position, it is in the columns of the message, too.

    Source: semantics 31.12.
    """

    message: Message
    input: str
    position: RowPosition | None


@dataclass
class Buffer:
    """The messages of one batch that is not complete yet, and the readings of the clocks after them.

    Attributes:
        readings: how many readings of the clocks wait. They are evaluated after all messages that wait.
        clock: the highest of these readings of processing time, None if there is none.
        watermark: the highest of these watermarks, also of those that messages which wait move; None if there
            is none.
    """

    spec: Specification
    schemas: Schemas
    readings: int = 0
    clock: int | None = None
    watermark: int | None = None
    _waiting: list[WaitingMessage] = field(default_factory=list)
    _nested: dict[str, list[str]] = field(init=False)  # the columns of each port whose values are nested

    def __post_init__(self) -> None:
        self._nested = {
            port: [name for name, dtype in columns.items() if dtype.is_nested()]
            for port, columns in self.schemas.items()
        }

    @property
    def size(self) -> int:
        """How many messages wait."""
        return len(self._waiting)

    @property
    def steps(self) -> int:
        """How many messages and readings of clocks wait."""
        return len(self._waiting) + self.readings

    @property
    def positions(self) -> Iterator[tuple[str, RowPosition]]:
        """The positions of the messages that have one, each with the port."""
        return (
            (message.input, message.position) for message in self._waiting if message.position is not None
        )

    def add(self, message: Any, port: str, position: RowPosition | None) -> None:
        """Adds a message."""
        if not isinstance(message, Mapping):
            raise no_mapping(message)
        message = dict(message)  # the caller may change its own while this one waits
        for name in self._nested[port]:
            if name in message:
                message[name] = copied(message[name])
        if position is not None:
            message = self._with_position(message, port, position)
        self._waiting.append(WaitingMessage(message, port, position))

    def _with_position(self, message: Message, port: str, position: RowPosition) -> Message:
        """Returns the message with its position in the columns that the specification declares."""
        declared = self.spec.ports[port].position
        if declared is None:
            return message
        if len(declared.columns) != len(position):
            rule = f"the specification reads the position from {list(declared.columns)}"
            raise InputError(f"position={position!r}", rule, "give a value for each of these columns")
        return {**message, **dict(zip(declared.columns, position, strict=True))}

    def add_reading(self, clock: int | None, watermark: int | None) -> None:
        """Adds a reading of the clocks. Lower ones than before change nothing."""
        self.readings += 1
        self.clock = highest(self.clock, clock)
        self.raise_watermark(watermark)

    def raise_watermark(self, watermark: int | None) -> None:
        """Raises the watermark, as a row that waits does. That is no reading."""
        self.watermark = highest(self.watermark, watermark)

    def remove_last(self) -> None:
        """Removes the message that was added last."""
        self._waiting.pop()

    def frames(self) -> tuple[dict[str, pl.DataFrame], dict[str, tuple[Message, ...]]]:
        """Returns the messages of each port as a DataFrame, and the misfits among them."""
        by_port = dict[str, list[Message]]()
        for message, port, _ in self._waiting:
            by_port.setdefault(port, []).append(message)
        batches = {
            port: fitted(self.spec.ports[port], self.schemas[port], messages)
            for port, messages in by_port.items()
        }
        return {port: batch.frame for port, batch in batches.items()}, {
            port: batch.misfits for port, batch in batches.items() if batch.misfits
        }

    def clear(self) -> list[WaitingMessage]:
        """Removes all that waits. Returns the messages in the order in which they were added."""
        waiting, self._waiting = self._waiting, []
        self.readings, self.clock, self.watermark = 0, None, None
        return waiting


def copied(value: Any) -> Any:
    """Returns a copy of a list, a tuple or a mapping, with copies of those within it; others as they are.

    >>> copied(({"a": [1]}, 2))
    ({'a': [1]}, 2)
    """
    if isinstance(value, tuple):
        return tuple(map(copied, value))
    if isinstance(value, list):
        return [*map(copied, value)]
    return {key: copied(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def highest(reading: int | None, other: int | None) -> int | None:
    """Returns the higher reading of a clock; None means that there is none."""
    if reading is None or other is None:
        return other if reading is None else reading
    return reading if reading > other else other
