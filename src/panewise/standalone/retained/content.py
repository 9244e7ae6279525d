"""What windows compute from their messages, and emit: the part in which the two operators differ."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from panewise.standalone.retained.outputs import Firing, WindowMetadata, WindowOutput
from panewise.standalone.retained.window import Arrival, RetainedWindow


class Content(ABC):
    """Computes from the messages of windows what these emit: results, or the new messages themselves."""

    def loaded(self, windows: Iterable[RetainedWindow]) -> None:
        """Completes windows that were loaded: an older release stored partials with fewer columns."""
        return

    def attempt(self, arrival: Arrival, floor: int) -> None:
        """Raises the error that adding a message would raise."""
        return

    @abstractmethod
    def include(self, windows: Sequence[RetainedWindow], arrival: Arrival) -> list[RetainedWindow]:
        """Adds a message to its windows. Returns those that have something new to emit."""

    @abstractmethod
    def output(self, window: RetainedWindow, firing: Firing) -> WindowOutput | None:
        """Returns what a window emits; None if it has nothing to emit yet."""

    def retraction(self, window: RetainedWindow) -> WindowOutput | None:
        """Returns the retraction of a session that became a part of another one; None if none is needed."""
        return None

    @abstractmethod
    def corrected(self, windows: Iterable[RetainedWindow], arrival: Arrival) -> list[RetainedWindow]:
        """Returns those windows that can correct what they emitted, after a message of them was restored."""

    @abstractmethod
    def metadata(self, windows: Sequence[RetainedWindow]) -> list[WindowMetadata]:
        """Returns the metadata of windows."""

    def fold(self, windows: Sequence[RetainedWindow]) -> None:
        """Aggregates the messages that wait in windows, so that the windows can be stored."""
        return

    @abstractmethod
    def put(self, window: RetainedWindow, metadata: WindowMetadata) -> None:
        """Gives a window the value and the partial of metadata."""
