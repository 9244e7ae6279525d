"""The windows in retention, in the order of their starts, with queues of those at which something is due.

S1 keeps the metadata of all windows in retention. They are far fewer than the messages, so all are in memory.

Invariant: each queue has one valid entry for each window that can be due, with a value that is not above the
window's present one. So an entry that is reached is compared with the window, and put back if it was too low.
"""

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import Final, TypeAlias

from sortedcontainers import SortedDict

from panewise.standalone.retained.window import Window, session_bytes
from panewise.stores.keys import KeyValue

Place: TypeAlias = tuple[int, bytes]
_SPARE: Final = 100  # a queue has so many entries more than windows before it is rebuilt


class DueQueue:
    """Windows by the value at which something happens to them.

    Args:
        value: returns the present value of a window; None: nothing can happen.
    """

    def __init__(self, value: Callable[[Window], int | None]) -> None:
        self._value = value
        self._heap: list[tuple[int, Place]] = []
        self._lowest: dict[Place, int] = {}  # the value of the valid entry of each place

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, window: Window) -> None:
        """Adds a window with its present value."""
        value = self._value(window)
        if value is not None:
            self._push(window.place, value)

    def reached(self, limit: int, windows: "WindowTable") -> Iterator[Window]:
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

    def _push(self, place: Place, value: int) -> None:
        if value < self._lowest.get(place, value + 1):
            self._lowest[place] = value
            heappush(self._heap, (value, place))

    def _rebuild(self, windows: "WindowTable") -> None:
        """Drops the entries of windows that were removed, and those that are not valid."""
        found = ((place, value) for place, value in self._lowest.items() if windows.at(place) is not None)
        self._lowest = dict(found)
        self._heap = sorted((value, place) for place, value in self._lowest.items())


class WindowTable:
    """The windows in retention.

    Attributes:
        changed: the windows that have changed since the last flush, by their place.
        removed: the stored keys of windows that were removed since then.
    """

    def __init__(self) -> None:
        self._windows: SortedDict[Place, Window] = SortedDict()
        self._sessions: dict[bytes, SortedDict[int, Window]] = {}
        self.changed: dict[Place, Window] = {}
        self.removed: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._windows)

    def __iter__(self) -> Iterator[Window]:
        return iter(self._windows.values())

    def at(self, place: Place) -> Window | None:
        """Returns the window at a place."""
        found: Window | None = self._windows.get(place)
        return found

    def first(self) -> Window | None:
        """Returns the window with the lowest start."""
        return self._windows.peekitem(0)[1] if self._windows else None

    def backward(self) -> Iterator[Window]:
        """Returns the windows from the highest start on."""
        return (self._windows[place] for place in reversed(self._windows))

    def from_start(self, start: int, last: int) -> Iterator[Window]:
        """Returns the windows whose start is at least `start` and at most `last`."""
        places = self._windows.irange((start, b""), (last + 1, b""), inclusive=(True, False))
        return (self._windows[place] for place in places)

    def latest(self, last: int, session_key: KeyValue | None, most: int) -> list[Window]:
        """Returns the windows with the highest starts up to `last`, of a key if there are sessions."""
        if session_key is not None:
            return list(islice(self.sessions_backward(session_key, last), most))[::-1]
        places = self._windows.irange(None, (last + 1, b""), inclusive=(True, False), reverse=True)
        return [self._windows[place] for place in islice(places, most)][::-1]

    def of_key(self, session_key: KeyValue | None) -> Iterator[Window]:
        """Returns the windows in the order of their starts, with a session key those of this key."""
        return iter(self) if session_key is None else self.sessions(session_key)

    def sessions(self, session_key: KeyValue | None) -> Iterator[Window]:
        """Returns the sessions of a key, in the order of their starts."""
        return iter(self._sessions.get(session_bytes(session_key), {}).values())

    def sessions_backward(self, session_key: KeyValue | None, last: int | None = None) -> Iterator[Window]:
        """Returns the sessions of a key from the highest start on, or from the highest one up to `last`."""
        found = self._sessions.get(session_bytes(session_key))
        return (found[start] for start in found.irange(None, last, reverse=True)) if found else iter(())

    def put(self, window: Window) -> None:
        """Adds a window."""
        self._windows[window.place] = window
        if window.session_key is not None:
            self._sessions.setdefault(window.place[1], SortedDict())[window.start] = window
        self.touch(window)

    def touch(self, window: Window) -> None:
        """Marks a window as changed."""
        self.changed[window.place] = window

    def remove(self, window: Window) -> None:
        """Removes a window."""
        start, session = window.place
        del self._windows[start, session]
        if window.session_key is not None:
            del self._sessions[session][start]
            if not self._sessions[session]:
                del self._sessions[session]
        self.changed.pop((start, session), None)
        self.removed.add(window.stored_key())
