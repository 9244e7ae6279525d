"""Messages that wait for their evaluation, in the order in which they were added."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from panewise.engine.protocol import Schemas
from panewise.errors import InputError
from panewise.spec import Specification
from panewise.standalone.messages import Message, fitted


@dataclass
class Buffer:
    """The messages of one batch that is not complete yet, by port.

    Attributes:
        spec: the specification.
        schemas: the columns of each port.
        size: how many messages wait.
        positions: the positions of these messages, by port.
    """

    spec: Specification
    schemas: Schemas
    size: int = 0
    positions: list[tuple[str, Any]] = field(default_factory=list)
    _messages: dict[str, list[Message]] = field(default_factory=dict)

    def add(self, message: Any, port: str, position: tuple[Any, ...] | None) -> None:
        """Adds a message.

        Raises:
            InputError: if it is no mapping, or its position has not as many parts as the specification says.
        """
        if not isinstance(message, Mapping):
            given = f"a message of the type {type(message).__name__}"
            raise InputError(given, "a message has a value for each column", "give a dict")
        message = dict(message)  # the caller may change its own while this one waits
        if position is not None:
            message = self._with_position(message, port, position)
            self.positions.append((port, position))
        self._messages.setdefault(port, []).append(message)
        self.size += 1

    def _with_position(self, message: Message, port: str, position: tuple[Any, ...]) -> Message:
        """Returns the message with its position in the columns that the specification declares."""
        declared = self.spec.ports[port].position
        if declared is None:
            return message
        if len(declared.columns) != len(position):
            rule = f"the specification reads the position from {list(declared.columns)}"
            raise InputError(f"position={position!r}", rule, "give a value for each of these columns")
        return {**message, **dict(zip(declared.columns, position, strict=True))}

    def remove_last(self, port: str, positions: int) -> None:
        """Removes the message that was added last, of this port; `positions` were there before it."""
        self._messages[port].pop()
        self.size -= 1
        del self.positions[positions:]

    def frames(self) -> tuple[dict[str, pl.DataFrame], dict[str, tuple[Message, ...]]]:
        """Returns the messages of each port as a DataFrame, and the misfits among them."""
        made = {
            port: fitted(self.spec.ports[port], self.schemas[port], messages)
            for port, messages in self._messages.items()
            if messages
        }
        return {port: one.frame for port, one in made.items()}, {
            port: one.misfits for port, one in made.items() if one.misfits
        }

    def clear(self) -> None:
        """Removes all messages."""
        self._messages.clear()
        self.positions.clear()
        self.size = 0
