"""Messages that are evaluated in Python, without a step of the engine (semantics 31.31)."""

from typing import Any

from panewise.standalone.emission import PaneColumns


class DirectPath:
    """Adds messages and readings of clocks, or leaves them to a step. This class leaves all of them to steps.

    Attributes:
        enabled: whether messages of this operator may take this path.
        formats: the columns of what each port emits.
        clock: the processing time with the readings that wait, None if none waits.
        watermark: the watermark with the readings that wait, None if none waits.
    """

    enabled = False
    clock: int | None = None
    watermark: int | None = None

    def __init__(self, formats: dict[str, PaneColumns] | None = None) -> None:
        self.formats = formats or {}

    def add(self, message: Any, port: str) -> list[tuple[Any, ...]] | None:
        """Adds a message. Returns what it emits; None if the engine must evaluate it."""
        return None

    def move_clocks(
        self, clock: int | None, watermark: int | None, source: str | None
    ) -> list[tuple[Any, ...]] | None:
        """Moves the clocks. Returns what this emits; None if the engine must do it."""
        return None

    def flush(self) -> None:
        """Puts what has changed, or waits, into the state of the operator."""

    def note_stored(self) -> None:
        """Notes that the state was stored after a flush."""

    def note_advanced(self, watermark: int | None) -> None:
        """Notes that a step of the engine has moved the clocks after a flush."""
