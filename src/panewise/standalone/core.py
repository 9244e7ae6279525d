"""The interface of the core of an operator in process. Callers use its front, which calls the core."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class Core(ABC):
    """The steps, the clock, the commits and the checkpoints of an operator, which its front calls."""

    @property
    @abstractmethod
    def is_durable(self) -> bool:
        """Whether a commit survives the process."""

    @property
    @abstractmethod
    def clock(self) -> int:
        """Processing time, with the readings that wait."""

    def collect(self) -> None:
        """Evaluates the messages that wait, except those that emit nothing."""
        return

    def evaluate(self) -> None:
        """Evaluates all messages that wait, and delivers what they emit."""
        return

    @abstractmethod
    def timeout(self, now: int | None) -> None:
        """Evaluates what waits and moves the clock to `now`, unless the downstream refuses an output."""

    @abstractmethod
    def drain(self) -> None:
        """Completes outstanding work."""

    @abstractmethod
    def commit(self) -> None:
        """Makes state and positions durable, after the caller has received the outputs that wait."""

    @abstractmethod
    def commit_due(self) -> None:
        """Commits if no output waits, and enough has happened since the last commit."""

    @abstractmethod
    def save(self, name: str) -> None:
        """Saves the whole state under a name."""

    @abstractmethod
    def restore(self, name: str | None) -> bool:
        """Returns to a saved state, or for None to the initial one. It returns False if there is none."""

    def evict(self, partition: Mapping[str, Any]) -> bool:
        """Evicts a partition. It returns False if the operator has no partitions."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Evaluates what was deferred, calls the callback `teardown`, and releases the store."""
