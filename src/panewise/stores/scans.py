"""Scans over entries that a generator yields."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

from panewise.calls import Calls, one_thread_at_a_time


class Closing(ABC):
    """What is closed at the end of a `with` block."""

    @abstractmethod
    def close(self) -> None:
        """Releases what it pins; further calls change nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class GeneratedScan(Iterator[tuple[bytes, Any]], Closing):
    """The entries that an iterator yields, until it is closed or has ended."""

    def __init__(self, entries: Iterator[tuple[bytes, Any]]) -> None:
        self._entries: Iterator[tuple[bytes, Any]] = entries
        self._on_close: list[Callable[[], None]] = []

    def closing(self, on_close: Callable[[], None]) -> "GeneratedScan":
        """Returns this scan, which will call the function when it is closed or has ended."""
        self._on_close.append(on_close)
        return self

    def __next__(self) -> tuple[bytes, Any]:
        try:
            return next(self._entries)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> "GeneratedScan":
        return self

    def close(self) -> None:
        """Closes the scan and releases what it pins; further calls change nothing."""
        self._entries = iter(())
        while self._on_close:
            self._on_close.pop()()


class CheckedScan(GeneratedScan):
    """A scan of a map that is used without a store: one thread at a time uses the map and its scans."""

    def __init__(self, entries: Iterator[tuple[bytes, Any]], calls: Calls) -> None:
        super().__init__(entries)
        self._calls = calls

    @one_thread_at_a_time
    def __next__(self) -> tuple[bytes, Any]:
        return super().__next__()


def scan_of(entries: Iterator[tuple[bytes, Any]], calls: Calls | None) -> GeneratedScan:
    """Returns a scan. `calls` is that of the map, None if a store checks the calls."""
    return GeneratedScan(entries) if calls is None else CheckedScan(entries, calls)
