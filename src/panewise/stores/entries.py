"""Iterators over the entries of a store."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from panewise.calls import Calls, one_thread_at_a_time
from panewise.stores.scans import Closing

E = TypeVar("E")


class Entries(Iterator[E], Closing, Generic[E]):
    """The entries of a range as they were when the iterator was opened (semantics 34.3).

    It is an iterator and a context manager. Close it, or use it in a `with` block, unless you read it to its
    end: an open iterator pins what the store changes meanwhile.

    >>> from panewise.stores import TimeSeriesStore
    >>> store = TimeSeriesStore()
    >>> store.put("a", 1, time=10)
    >>> with store.get("a", start=0, end=20) as entries:
    ...     entries.peek()
    TimedValue(time=10, value=1)

    Source: S3, the iterator of the window store.
    """

    def __init__(self, entries: Iterator[E], release: Callable[[], None], calls: Calls) -> None:
        self._entries: Iterator[E] = entries
        self._next: list[E] = []
        self._calls = calls  # of the store: an iterator sorts its keys
        self._release: Callable[[], None] | None = release

    def __iter__(self) -> "Entries[E]":
        return self

    @one_thread_at_a_time
    def __next__(self) -> E:
        if self._next:
            return self._next.pop()
        try:
            return next(self._entries)
        except BaseException:
            self.close()
            raise

    @one_thread_at_a_time
    def peek(self) -> E | None:
        """Returns the next entry, which remains the next one, or None at the end."""
        if not self._next:
            self._next.extend(entry for entry in (next(self, None),) if entry is not None)
        return self._next[0] if self._next else None

    def close(self) -> None:
        """Closes the iterator and releases what it pins; further calls change nothing."""
        self._entries = iter(())
        self._next = []
        release, self._release = self._release, None
        if release is not None:
            release()
