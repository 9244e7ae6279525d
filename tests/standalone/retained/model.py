"""A slow model of S1's windows that follows sentences 26.1 to 26.8, with lists and loops."""

from dataclasses import dataclass, field
from typing import Any

from panewise import Every
from panewise.standalone import AggregatorSettings

Message = dict[str, Any]
NEVER = 10**15


@dataclass
class ModelWindow:
    """A window with its messages: their number, offset and values."""

    start: int
    end: int
    key: str | None
    boundary: int
    members: list[tuple[int, int, Message]] = field(default_factory=list)
    fresh: list[tuple[int, int, Message]] = field(default_factory=list)
    full: bool = False
    since: int | None = None
    emitted: Any = None

    @property
    def place(self) -> tuple[int, str]:
        return self.start, self.key or ""

    @property
    def last_number(self) -> int:
        return max(number for number, _, _ in self.members)

    def values(self) -> list[int]:
        """Returns the values in the order of the offsets."""
        return [message["v"] for _, _, message in sorted(self.members, key=lambda one: one[0])]


class Model:
    """Plays steps. `add` and `clock` return what becomes of a message, and the outputs.

    An output is the start and the key of its window, why it fired, and its values: all of them in an
    aggregator, those that are new in a join window operator, sorted.
    """

    def __init__(self, settings: AggregatorSettings) -> None:
        self._settings, self._is_join = settings, settings.is_join
        self._sessions, self._by_time = settings.session_key is not None, settings.by_time
        self.windows: list[ModelWindow] = []
        self._received, self._watermark, self._clock = 0, -NEVER, 0
        self._gone = -NEVER  # windows that end here or before have expired by number
        self._outputs: list[Any] = []

    def add(self, message: Message, offset: int) -> tuple[str, list[Any]]:
        """Adds a message with a higher offset than all before."""
        time, number = message["event_time"], self._received
        spans = self._spans(time, message["k"], number, offset)
        if not spans:
            return "out_of_retention", []
        kind, before = self._classified(time, message["k"]), self._progress()
        opened, found = False, list[ModelWindow]()
        for start, end, key, boundary, parts in spans:
            window = next((one for one in parts if one.start == start), None)
            opened = opened or not parts
            if window is None:
                window = ModelWindow(start, end, key, boundary)
                window.full = boundary <= before if parts or self._is_join else False
            elif self._sessions and self._by_time and (end, len(parts)) != (window.end, 1):
                window.full = boundary <= before
            self._absorb(window, [one for one in parts if one is not window])
            window.end, window.boundary = end, boundary
            window.members.append((number, offset, message))
            found.append(window)
        for window in found[:1] if self._is_join else found:
            window.fresh.append((number, offset, message))
            window.since = self._clock if window.since is None else window.since
        self._received, self._watermark = number + 1, max(self._watermark, time)
        self._emit_and_expire()
        return "future" if opened and not self._by_time and number else kind, self._taken()

    def clock(self, reading: int) -> list[Any]:
        """Reads the clock."""
        self._clock = max(self._clock, reading)
        self._emit_and_expire()
        return self._taken()

    def _progress(self) -> int:
        return self._watermark if self._by_time else self._received - 1

    def _floor(self) -> int:
        return max(self._gone, self._watermark - self._settings.retained_us)

    def _spans(self, time: int, key: str, number: int, offset: int) -> list[Any]:
        """Returns start, end, key, boundary and the present parts of each window of a message."""
        size, windows = self._settings.length, self.windows
        if self._sessions and self._by_time:
            of_key = [one for one in windows if one.key == key]
            parts = [one for one in of_key if one.start - size <= time <= one.end - 1]
            if not parts and time + size + 1 <= self._floor():
                return []
            start = min([time, *(one.start for one in parts)])
            end = max([time + size + 1, *(one.end for one in parts)])
            return [(start, end, key, end, sorted(parts, key=lambda one: one.start))]
        if self._sessions:
            mine = [one for one in windows if one.key == key and number - one.last_number - 1 <= size]
            latest = max([time + 1, *(one.end for one in mine)])
            return [(mine[0].start if mine else offset, latest, key, number + size + 1, mine)]
        if self._by_time:
            starts = [at for at in range(time - size + 1, time + 1) if not self._is_off(at)]
            starts = [at for at in starts if at + size > self._floor()]
            return [(at, at + size, None, at + size, [w for w in windows if w.start == at]) for at in starts]
        found = [one for one in windows if one.members[0][0] > number - size]
        spans: list[Any] = [(one.start, max(one.end, time + 1), None, one.boundary, [one]) for one in found]
        if number % self._settings.step == 0:
            boundary = number + size - (self._settings.full == "at_size")
            spans.append((offset, time + 1, None, boundary, []))
        return spans

    def _is_off(self, start: int) -> bool:
        return (start - self._settings.origin) % self._settings.step != 0

    def _absorb(self, window: ModelWindow, others: list[ModelWindow]) -> None:
        for one in others:
            self.windows.remove(one)
            window.members += one.members
            window.fresh += one.fresh
            window.since = min([at for at in (window.since, one.since) if at is not None], default=None)
            if one.emitted is not None and not self._is_join:
                self._outputs.append((one.start, one.key, "retraction", one.emitted))
        if window not in self.windows:
            self.windows.append(window)
        self.windows.sort(key=lambda one: one.place)

    def _classified(self, time: int, key: str) -> str:
        mine = [one for one in self.windows if not self._sessions or one.key == key]
        if not self._by_time or not mine or mine[-1].start <= time < mine[-1].end:
            return "in_time"
        return "past" if time < mine[-1].start else "future"

    def _emit_and_expire(self) -> None:
        for window in list(self.windows):
            became_full = not window.full and window.boundary <= self._progress()
            window.full = window.full or became_full
            if window.since is None:
                continue
            if became_full:
                self._fire(window, "full")
            elif self._due(window) <= self._clock:
                self._fire(window, "late" if window.full else "early")
        for window in list(self.windows):
            if self._expires(window):
                if window.since is not None:
                    self._fire(window, "late")
                self.windows.remove(window)
                if self._by_time and not self._sessions:
                    self._gone = max(self._gone, window.end)

    def _expires(self, window: ModelWindow) -> bool:
        """Returns whether a window expires. All windows before it have been looked at."""
        earlier = self.windows[: self.windows.index(window)]
        blocked = [one for one in earlier if one.key == window.key]
        by_number = window.last_number < self._received - self._settings.retention_size
        return window.full and not blocked and (window.end <= self._floor() or by_number)

    def _due(self, window: ModelWindow) -> int:
        """Returns when a window emits by its policy."""
        policy = self._settings.late if window.full else self._settings.early
        since = window.since
        assert since is not None
        if policy is None or policy == "each":
            return NEVER if policy is None else since
        if window.full and isinstance(policy, int):
            return since + policy
        period, offset = (policy.period.us, policy.offset.us) if isinstance(policy, Every) else (policy, 0)
        return next(at for at in range(since + 1, since + 1 + period) if (at - offset) % period == 0)

    def _fire(self, window: ModelWindow, firing: str) -> None:
        values = sorted(one["v"] for _, _, one in window.fresh) if self._is_join else window.values()
        window.fresh, window.since = [], None
        window.emitted = values if self._sessions else None
        self._outputs.append((window.start, window.key, firing, values))

    def _taken(self) -> list[Any]:
        outputs, self._outputs = self._outputs, []
        return outputs
