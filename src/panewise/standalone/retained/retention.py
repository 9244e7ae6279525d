"""Which windows have expired, by time and by number of messages (semantics 26.2).

Windows of a fixed size expire in the order of their starts: a window expires by number only after all before
it. So one instant, the *floor*, says which windows have expired, also those that were never opened. Sessions
expire one by one.

Invariant: the first session of each key is in the queue of ends and in that of numbers, unless it is not full
yet: then it is in the queue of boundaries. So expired sessions are found without a search of all of them.
"""

from collections.abc import Iterator
from itertools import takewhile

from panewise.chrono import saturating_add
from panewise.standalone.retained.progress import Progress
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.table import DueQueue, RetainedTable
from panewise.standalone.retained.window import RetainedWindow


class WindowRetention:
    """Finds expired windows of a table.

    The progress has the floor as of the windows that have expired; the retention by time may be ahead of it.
    """

    def __init__(self, settings: AggregatorSettings, windows: RetainedTable, progress: Progress) -> None:
        self._size, self._us = settings.retention_size, settings.retained_us
        self._sessions, self._by_time = settings.session_key is not None, settings.by_time
        self._windows, self._progress = windows, progress
        self._ends = DueQueue(lambda window: window.end)
        self._numbers = DueQueue(lambda window: window.last_number)
        self._unfull = DueQueue(lambda window: window.boundary)

    def add(self, window: RetainedWindow) -> None:
        """Queues a window that was added, or whose bounds have changed."""
        if self._sessions:
            self._ends.put(window)
            self._numbers.put(window)

    def removed(self, window: RetainedWindow) -> None:
        """Queues the next session of the key of a removed window: no other one of the key expires before."""
        following = next(self._windows.of_session_key(window.session_key), None) if self._sessions else None
        if following is not None:
            self.add(following)

    @property
    def expired_until(self) -> int:
        """The instant up to which windows have expired."""
        floor, watermark = self._progress.floor, self._progress.watermark
        return floor if watermark is None else max(floor, saturating_add(watermark, -self._us))

    def expired(self) -> Iterator[RetainedWindow]:
        """Returns expired windows, the first ones first. The caller removes each before the next one."""
        until, received = self.expired_until, self._progress.received
        oldest = received - self._size
        if self._sessions:
            progress = self._progress.watermark if self._by_time else received - 1
            yield from self._sessions_expired(until, oldest, progress)
            return
        while (window := self._windows.first()) is not None and window.full:
            if window.end > until and window.last_number >= oldest:
                break
            if self._by_time:
                self._progress.raise_floor([window.end])
            yield window

    def _sessions_expired(self, until: int, oldest: int, progress: int | None) -> list[RetainedWindow]:
        """Returns expired sessions in the order of their starts.

        A session that is reached too early leaves the queues until it is full, or until `removed` adds it.
        """
        windows = self._windows
        if progress is not None:
            for window in self._unfull.reached(progress, windows):
                self.add(window)
        first_of_key: dict[bytes, RetainedWindow] = {}
        for queue, limit in ((self._ends, until), (self._numbers, oldest - 1)):
            for window in queue.reached(limit, windows):
                if window.full:
                    first_of_key[window.place[1]] = window
                else:
                    self._unfull.put(window)
        expired: list[RetainedWindow] = []
        for window in first_of_key.values():
            sessions = windows.of_session_key(window.session_key)
            expired += takewhile(
                lambda window: window.full and (window.end <= until or window.last_number < oldest), sessions
            )
        return sorted(expired, key=lambda window: window.place)
