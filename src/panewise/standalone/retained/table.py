"""The windows in retention, in the order of their starts, with queues of those at which something is due.

They are far fewer than the messages, so all are in memory.

Invariant: each queue has one valid entry for each window that can be due, with a value that is not above the
window's present one. So an entry that is reached is compared with the window, and put back if it was too low.
A message costs O(log n) with n windows for each window that contains it, however many windows have expired.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice, pairwise
from typing import Any, Final, TypeAlias

from sortedcontainers import SortedDict

from panewise.standalone.retained.window import RetainedWindow, session_bytes
from panewise.stores.keys import KeyValue

WindowPlace: TypeAlias = tuple[int, bytes]
_SPARE: Final = 100  # a queue has so many entries more than windows before it is rebuilt


class DueQueue:
    """Windows by the value at which something happens to them.

    Args:
        value: returns the present value of a window; None: nothing can happen.
    """

    def __init__(self, value: Callable[[RetainedWindow], int | None]) -> None:
        self._value = value
        self._heap: list[tuple[int, WindowPlace]] = []
        self._lowest: dict[WindowPlace, int] = {}  # the value of the valid entry of each place

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, window: RetainedWindow) -> None:
        """Adds a window with its present value."""
        value = self._value(window)
        if value is not None:
            self._push(window.place, value)

    def reached(self, limit: int, windows: "RetainedTable") -> Iterator[RetainedWindow]:
        """Removes and returns the windows whose value is at most `limit`."""
        if len(self._heap) > 2 * len(windows) + _SPARE:
            self._rebuild(windows)
        while self._heap and self._heap[0][0] <= limit:
            entry, place = heappop(self._heap)
            if self._lowest.get(place) != entry:
                continue
            del self._lowest[place]
            window = windows.at(place)
            value = None if window is None else self._value(window)
            if window is None or value is None:
                continue
            if value <= limit:
                yield window
            else:
                self._push(place, value)

    def _push(self, place: WindowPlace, value: int) -> None:
        if value < self._lowest.get(place, value + 1):
            self._lowest[place] = value
            heappush(self._heap, (value, place))

    def _rebuild(self, windows: "RetainedTable") -> None:
        """Drops the entries of windows that were removed, and those that are not valid."""
        live = ((place, value) for place, value in self._lowest.items() if windows.at(place) is not None)
        self._lowest = dict(live)
        self._heap = sorted((value, place) for place, value in self._lowest.items())


class RetainedTable:
    """The windows in retention.

    Attributes:
        changed: the windows that have changed since the last flush, by their place.
        removed: the stored keys of windows that were removed since then.
        in_order: whether a later window, with sessions a later one of the same key, never has a lower last
            offset. This stays so when windows open. Only windows that a caller puts can break it.
    """

    def __init__(self) -> None:
        self._windows: SortedDict[WindowPlace, RetainedWindow] = SortedDict()
        self._sessions: dict[bytes, SortedDict[int, RetainedWindow]] = {}
        self.changed: dict[WindowPlace, RetainedWindow] = {}
        self.removed: set[bytes] = set()
        self.in_order = True

    def __len__(self) -> int:
        return len(self._windows)

    def __iter__(self) -> Iterator[RetainedWindow]:
        return iter(self._windows.values())

    def at(self, place: WindowPlace) -> RetainedWindow | None:
        """Returns the window at a place."""
        window: RetainedWindow | None = self._windows.get(place)
        return window

    def first(self) -> RetainedWindow | None:
        """Returns the window with the lowest start."""
        return self._windows.peekitem(0)[1] if self._windows else None

    def count(self, session_key: KeyValue | None) -> int:
        """Returns the number of sessions of a key."""
        return len(self._sessions.get(session_bytes(session_key), ()))

    def of_session_key(self, session_key: KeyValue | None) -> Iterator[RetainedWindow]:
        """Returns the windows in the order of their starts, with a session key those of this key."""
        if session_key is None:
            return iter(self)
        return iter(self._sessions.get(session_bytes(session_key), {}).values())

    def backward(
        self, session_key: KeyValue | None = None, last: int | None = None
    ) -> Iterator[RetainedWindow]:
        """Returns the windows from the highest start on, or from the highest one up to `last`."""
        if session_key is None:
            end = None if last is None else (last + 1, b"")
            places = self._windows.irange(None, end, inclusive=(True, False), reverse=True)
            return (self._windows[place] for place in places)
        sessions = self._sessions.get(session_bytes(session_key), SortedDict())
        return (sessions[start] for start in sessions.irange(None, last, reverse=True))

    def latest(self, last: int, session_key: KeyValue | None, most: int) -> list[RetainedWindow]:
        """Returns the windows with the highest starts up to `last`, of a key if there are sessions."""
        return list(islice(self.backward(session_key, last), most))[::-1]

    def check_order(self, mark: int) -> None:
        """Sets `in_order` by all windows.

        Windows that open later have last offsets above the mark, the highest offset of an applied message. So
        those of the present windows are not above it, either.
        """
        orders: Iterable[SortedDict[Any, RetainedWindow]] = self._sessions.values() or (self._windows,)
        lasts = ([window.last_offset for window in windows.values()] for windows in orders)
        self.in_order = all(
            offset <= following for offsets in lasts for offset, following in pairwise((*offsets, mark))
        )

    def put(self, window: RetainedWindow) -> None:
        """Adds a window."""
        self._windows[window.place] = window
        if window.session_key is not None:
            self._sessions.setdefault(window.place[1], SortedDict())[window.start] = window
        self.mark_changed(window)

    def mark_changed(self, window: RetainedWindow) -> None:
        """Marks a window as changed."""
        self.changed[window.place] = window

    def note_flush(self) -> None:
        """Notes that all changes are stored."""
        self.changed.clear()
        self.removed.clear()

    def remove(self, window: RetainedWindow) -> None:
        """Removes a window."""
        start, session = window.place
        del self._windows[start, session]
        if window.session_key is not None:
            del self._sessions[session][start]
            if not self._sessions[session]:
                del self._sessions[session]
        self.changed.pop((start, session), None)
        self.removed.add(window.stored_key())
