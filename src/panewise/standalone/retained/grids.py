"""Which windows a message belongs to: of a fixed length of time, of a number of messages, or sessions.

Windows are opened when their first message arrives. A window is full when the progress reaches its boundary.
The progress is the watermark for windows of time, and the number of the last message otherwise.

Invariant: the table has each window in retention that contains an applied message, unless a caller deleted
it. So the windows of a message are found by their starts, and sessions by a search back from its time.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from itertools import islice, takewhile

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.table import RetainedTable
from panewise.standalone.retained.window import Arrival, RetainedWindow


@dataclass
class Placement:
    """The windows of a message.

    Attributes:
        windows: the windows that contain it, in the order of their starts.
        opened: those among them that are new.
        grown: sessions among them whose bounds have changed.
        merged: sessions that became a part of one of them, and are in the table no more.
    """

    windows: list[RetainedWindow]
    opened: list[RetainedWindow] = field(default_factory=list)
    grown: list[RetainedWindow] = field(default_factory=list)
    merged: list[RetainedWindow] = field(default_factory=list)


class Grid(ABC):
    """Assigns messages to the windows of one measure.

    Windows of time that end at a `floor` or before it have expired. Windows of messages do not depend on it.
    """

    @abstractmethod
    def place(self, windows: RetainedTable, arrival: Arrival, floor: int) -> Placement:
        """Returns the windows of a message. It opens and merges windows, and covers the message."""

    @abstractmethod
    def present_parts(
        self, windows: RetainedTable, arrival: Arrival, floor: int
    ) -> list[list[RetainedWindow]]:
        """Returns for each window that `place` would return the present windows that become a part of it."""

    def is_out(self, windows: RetainedTable, arrival: Arrival, floor: int) -> bool:
        """Returns whether all windows of a message have expired: they end at `floor` or before."""
        return False

    def in_range(self, time: int) -> bool:
        """Returns whether a window of an event time has bounds that are instants (semantics 6.3)."""
        return True

    def first_position(self, windows: RetainedTable, floor: int, mark: int) -> int:
        """Returns the first time or offset at which a message can belong to a window in retention.

        Messages of sessions have no such bound: each can extend a session, and they are deleted by key.
        """
        return MIN_INSTANT


def grid_of(settings: AggregatorSettings) -> Grid:
    """Returns the grid of the windows that the settings describe."""
    if settings.session_key is not None:
        return _TimeSessions(settings) if settings.by_time else _TupleSessions(settings)
    return _TimeGrid(settings) if settings.by_time else _TupleGrid(settings)


def _opened(arrival: Arrival, start: int, boundary: int, end: int) -> RetainedWindow:
    offset, number = arrival.offset, arrival.number
    return RetainedWindow(
        arrival.session_key, start, boundary, end, offset, offset, number, number, last_time=arrival.time
    )


class _TimeGrid(Grid):
    """Windows of a fixed length of time, [start, start + size)."""

    def __init__(self, settings: AggregatorSettings) -> None:
        self._size, self._step, self._origin = settings.length, settings.step, settings.origin

    def _starts(self, time: int, floor: int) -> range:
        last = (time - self._origin) // self._step * self._step + self._origin
        first = last - (last + self._size - 1 - time) // self._step * self._step
        lowest, highest = max(floor - self._size + 1, MIN_INSTANT), MAX_INSTANT - self._size
        if first < lowest:
            first -= (first - lowest) // self._step * self._step
        return range(first, min(last, highest) + 1, self._step)

    def place(self, windows: RetainedTable, arrival: Arrival, floor: int) -> Placement:
        placement = Placement([])
        for start in self._starts(arrival.time, floor):
            window = windows.at((start, b""))
            if window is None:
                end = start + self._size
                window = _opened(arrival, start, end, end)
                windows.put(window)
                placement.opened.append(window)
            window.cover(arrival)
            placement.windows.append(window)
        return placement

    def present_parts(
        self, windows: RetainedTable, arrival: Arrival, floor: int
    ) -> list[list[RetainedWindow]]:
        present = (windows.at((start, b"")) for start in self._starts(arrival.time, floor))
        return [[] if window is None else [window] for window in present]

    def is_out(self, windows: RetainedTable, arrival: Arrival, floor: int) -> bool:
        return not self._starts(arrival.time, floor)

    def in_range(self, time: int) -> bool:
        return bool(self._starts(time, MIN_INSTANT))

    def first_position(self, windows: RetainedTable, floor: int, mark: int) -> int:
        """Returns the first start of a window that ends after the floor.

        While messages are restored no window is removed, so one in the table may start before.
        """
        lowest = floor - self._size + 1
        first = lowest + (self._origin - lowest) % self._step
        present = windows.first()
        return max(MIN_INSTANT, first if present is None else min(first, present.start))


class _TupleGrid(Grid):
    """Windows of a fixed number of messages: every `advance` messages one of them starts."""

    def __init__(self, settings: AggregatorSettings) -> None:
        self._size, self._step = settings.length, settings.step
        self._full_at = self._size - (settings.full == "at_size")

    def place(self, windows: RetainedTable, arrival: Arrival, floor: int) -> Placement:
        placement = Placement(self._containing(windows, arrival))
        for window in placement.windows:
            window.cover(arrival)
            window.bound(window.last_time + 1)
        if arrival.number % self._step == 0:
            boundary = arrival.number + self._full_at
            window = _opened(arrival, arrival.offset, boundary, arrival.time + 1)
            windows.put(window)
            placement.opened.append(window)
            placement.windows.append(window)
        return placement

    def _containing(self, windows: RetainedTable, arrival: Arrival) -> list[RetainedWindow]:
        containing = []
        for window in windows.backward():
            if window.first_number <= arrival.number - self._size:
                break
            containing.append(window)
        return containing[::-1]

    def present_parts(
        self, windows: RetainedTable, arrival: Arrival, floor: int
    ) -> list[list[RetainedWindow]]:
        opens: list[list[RetainedWindow]] = [[]] if arrival.number % self._step == 0 else []
        return [[window] for window in self._containing(windows, arrival)] + opens

    def first_position(self, windows: RetainedTable, floor: int, mark: int) -> int:
        """Returns the start of the first window. Without a window only later messages will be in one."""
        first = windows.first()
        return mark + 1 if first is None else first.start


class _TimeSessions(Grid):
    """Sessions of a key: two messages at most a gap of event time apart are in the same one."""

    def __init__(self, settings: AggregatorSettings) -> None:
        self._gap = settings.length

    def _touching(self, windows: RetainedTable, arrival: Arrival) -> list[RetainedWindow]:
        low, high = arrival.time - self._gap, arrival.time + self._gap
        before = windows.backward(arrival.session_key, high)
        return list(takewhile(lambda window: window.last_time >= low, before))[::-1]

    def place(self, windows: RetainedTable, arrival: Arrival, floor: int) -> Placement:
        """Returns the session of a message, which may be one into which others were merged."""
        touching = self._touching(windows, arrival)
        if not touching:
            end = arrival.time + self._gap + 1
            window = _opened(arrival, arrival.time, end, end)
            windows.put(window)
            return Placement([window], [window])
        first, *others = touching
        start = min(first.start, arrival.time)
        replaced = touching if start < first.start else others
        before = first.start, first.end
        for window in replaced:
            windows.remove(window)
        window = first if first not in replaced else first.renamed(start)
        for other in others:
            window.absorb(other)
        window.cover(arrival)
        end = window.last_time + self._gap + 1
        window.bound(end, end)
        windows.put(window)
        grown = [] if before == (window.start, window.end) else [window]
        return Placement([window], grown=grown, merged=replaced)

    def present_parts(
        self, windows: RetainedTable, arrival: Arrival, floor: int
    ) -> list[list[RetainedWindow]]:
        return [self._touching(windows, arrival)]

    def is_out(self, windows: RetainedTable, arrival: Arrival, floor: int) -> bool:
        """Returns whether a session of the message alone would have expired, and there is no other one."""
        return arrival.time + self._gap + 1 <= floor and not self._touching(windows, arrival)

    def in_range(self, time: int) -> bool:
        """Returns whether the end of a session of this event time is an instant."""
        return time + self._gap + 1 <= MAX_INSTANT


class _TupleSessions(Grid):
    """Sessions of a key that end after more than a number of messages with other keys."""

    def __init__(self, settings: AggregatorSettings) -> None:
        self._most = settings.length

    def _last(self, windows: RetainedTable, arrival: Arrival) -> list[RetainedWindow]:
        sessions = islice(windows.backward(arrival.session_key), 1)
        return [session for session in sessions if arrival.number - session.last_number - 1 <= self._most]

    def place(self, windows: RetainedTable, arrival: Arrival, floor: int) -> Placement:
        placement = Placement(self._last(windows, arrival))
        if not placement.windows:
            window = _opened(arrival, arrival.offset, 0, 0)
            windows.put(window)
            placement = Placement([window], [window])
        (window,) = placement.windows
        window.cover(arrival)
        window.bound(window.last_time + 1, arrival.number + self._most + 1)
        return placement

    def present_parts(
        self, windows: RetainedTable, arrival: Arrival, floor: int
    ) -> list[list[RetainedWindow]]:
        return [self._last(windows, arrival)]
