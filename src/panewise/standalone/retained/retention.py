"""Which windows have expired, by time and by number of messages (semantics 26.2).

Windows of a fixed size expire in the order of their starts: a window expires by number only after all before
it. So one instant, the *floor*, says which windows have expired, also those that were never opened. Sessions
expire one by one.

Invariant: the first session of each key is in the queue of ends and in that of numbers, unless it is not full
yet: then it is in the queue of boundaries. So expired sessions are found without a search of all of them.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile

from panewise.chrono import MIN_INSTANT, saturating_add
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.table import DueQueue, RetainedTable
from panewise.standalone.retained.window import RetainedWindow


class WindowRetention:
    """Finds expired windows.

    Args:
        settings: the settings of the operator.
        floor: windows of time that end at or before it have expired.

    Attributes:
        floor: this instant. It does not contain the retention by time.
    """

    def __init__(self, settings: AggregatorSettings, floor: int = MIN_INSTANT) -> None:
        self._size, self._us = settings.retention_size, settings.retained_us
        self._sessions, self._by_time = settings.session_key is not None, settings.by_time
        self.floor = floor
        self._ends = DueQueue(lambda window: window.end)
        self._numbers = DueQueue(lambda window: window.last_number)
        self._unfull = DueQueue(lambda window: window.boundary)

    def add(self, window: RetainedWindow) -> None:
        """Queues a window that was added, or whose bounds have changed."""
        if self._sessions:
            self._ends.put(window)
            self._numbers.put(window)

    def removed(self, window: RetainedWindow, windows: RetainedTable) -> None:
        """Queues the next session of the key of a removed window: no other one of the key expires before."""
        following = next(windows.of_session_key(window.session_key), None) if self._sessions else None
        if following is not None:
            self.add(following)

    def raise_floor(self, ends: Iterable[int]) -> None:
        """Marks windows with these ends, and all before them, as expired."""
        self.floor = max([self.floor, *ends])

    def floor_at(self, watermark: int | None) -> int:
        """Returns the instant up to which windows have expired."""
        if watermark is None:
            return self.floor
        return max(self.floor, saturating_add(watermark, -self._us))

    def expired(
        self, windows: RetainedTable, watermark: int | None, received: int
    ) -> Iterator[RetainedWindow]:
        """Returns expired windows, the first ones first. The caller removes each before the next one."""
        floor, oldest = self.floor_at(watermark), received - self._size
        if self._sessions:
            progress = watermark if self._by_time else received - 1
            yield from self._sessions_expired(windows, floor, oldest, progress)
            return
        while (window := windows.first()) is not None and window.full:
            if window.end > floor and window.last_number >= oldest:
                break
            if self._by_time:
                self.raise_floor([window.end])
            yield window

    def _sessions_expired(
        self, windows: RetainedTable, floor: int, oldest: int, progress: int | None
    ) -> list[RetainedWindow]:
        """Returns expired sessions in the order of their starts.

        A session that is reached too early leaves the queues until it is full, or until `removed` adds it.
        """
        if progress is not None:
            for window in self._unfull.reached(progress, windows):
                self.add(window)
        first_of_key: dict[bytes, RetainedWindow] = {}
        for queue, limit in ((self._ends, floor), (self._numbers, oldest - 1)):
            for window in queue.reached(limit, windows):
                if window.full:
                    first_of_key[window.place[1]] = window
                else:
                    self._unfull.put(window)
        expired: list[RetainedWindow] = []
        for window in first_of_key.values():
            sessions = windows.of_session_key(window.session_key)
            expired += takewhile(
                lambda one: one.full and (one.end <= floor or one.last_number < oldest), sessions
            )
        return sorted(expired, key=lambda one: one.place)
