"""Messages that are evaluated in Python, without a step of the engine (semantics 31.31)."""

from abc import ABC, abstractmethod
from typing import Any

from panewise.standalone.emission import PaneColumns


class DirectPath(ABC):
    """The interface of such a path: it adds messages and readings of clocks, or leaves them to a step.

    Attributes:
        enabled: whether messages of this operator may take this path.
        formats: the columns of what each port emits.
    """

    def __init__(self) -> None:
        self.enabled = False
        self.formats: dict[str, PaneColumns] = {}

    @property
    @abstractmethod
    def clock(self) -> int | None:
        """The processing time with the readings that wait, None if none waits."""

    @property
    @abstractmethod
    def watermark(self) -> int | None:
        """The same of watermarks."""

    @abstractmethod
    def add(self, message: Any, port: str) -> list[tuple[Any, ...]] | None:
        """Adds a message. Returns what it emits; None if the engine must evaluate it."""

    @abstractmethod
    def moves(
        self, clock: int | None, watermark: int | None, source: str | None
    ) -> list[tuple[Any, ...]] | None:
        """Moves the clocks. Returns what this emits; None if the engine must do it."""

    @abstractmethod
    def flush(self) -> None:
        """Puts what has changed, or waits, into the state of the operator."""

    @abstractmethod
    def stored(self) -> None:
        """Notes that the state was stored after a flush."""

    @abstractmethod
    def advanced(self, watermark: int | None) -> None:
        """Notes that a step of the engine has moved the clocks after a flush."""

    def disable(self) -> None:
        """Evaluates each message by a step of the engine from now on."""
        self.flush()
        self.enabled = False
