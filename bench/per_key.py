"""Uses transformWithStateInPandas as its documentation shows it: one call per key, one timer per window.

The windows of a key are in a MapState. The rows of one key and batch are aggregated before state is accessed,
so each window costs one read and one write a batch. The events contain no late rows, so the code does not
look for them.
"""

import statistics
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from bench import over
from bench.shapes import WATERMARK_DELAY, Counted, Framed, Sessions, Shape, Slides, Windows, output_mode

_WINDOW = "k BIGINT, start BIGINT, end BIGINT"
_MEASURES = {
    "totals": "n BIGINT, s BIGINT, m BIGINT",
    "median": "median DOUBLE",
    "list": "list ARRAY<BIGINT>",
}
_STATE_KEY, _STATE_VALUE = "start BIGINT, end BIGINT", "n BIGINT, s BIGINT, m BIGINT"

Window = tuple[int, int]  # start and end in microseconds
Totals = tuple[int, int, int]  # n, s, m


def query(events: DataFrame, shape: Shape) -> DataFrame:
    """Returns the panes of a shape. The query must run in the shape's output mode."""
    if isinstance(shape, Framed):
        return over.per_key(events, shape)
    if isinstance(shape, Slides):
        events = events.withColumn("k", sf.col("k") % shape.keys)
    keyed = events.withWatermark("ts", WATERMARK_DELAY).groupBy("k")
    output = f"{_WINDOW}, {_MEASURES[shape.measure]}"
    panes = keyed.transformWithStateInPandas(_processor(shape), output, output_mode(shape), "EventTime")
    if isinstance(shape, Counted):
        return panes
    return panes.withColumns({bound: sf.timestamp_micros(bound) for bound in ("start", "end")})


def _processor(shape: Windows | Sessions | Counted | Slides) -> StatefulProcessor:
    if isinstance(shape, Counted):
        return CountedProcessor(shape)
    if isinstance(shape, Slides):
        return SlidingProcessor(shape)
    if isinstance(shape, Sessions):
        return SessionProcessor(shape)
    return WindowProcessor(shape) if shape.measure == "totals" else FullProcessor(shape)


class WindowProcessor(StatefulProcessor):
    """Tumbling and hopping windows, emitted when they change or, if final, by the timer at their end.

    The timer purges the windows in both cases.
    """

    def __init__(self, shape: Windows) -> None:
        self.shape = shape

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self.handle = handle
        self.windows = handle.getMapState("windows", _STATE_KEY, _STATE_VALUE)

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Adds the rows to their windows."""
        changed = self._fold(_events(rows))
        for window, totals in changed.items():
            held = self.windows.getValue(window)
            if held is None:
                self.handle.registerTimer(window[1] // 1000)
            else:
                changed[window] = _merge(held, totals)
            self.windows.updateValue(window, changed[window])
        if not self.shape.final:
            yield _panes(key, changed)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """Purges the window that ends here, and emits it if the shape is final."""
        end = expiredTimerInfo.getExpiryTimeInMs() * 1000
        window = (end - self.shape.size_us, end)
        totals = self.windows.getValue(window)
        if self.shape.final and totals is not None:
            yield _panes(key, {window: (totals[0], totals[1], totals[2])})
        self.windows.removeKey(window)

    def _fold(self, events: Iterable[tuple[int, int]]) -> dict[Window, Totals]:
        size, hop = self.shape.size_us, self.shape.hop_us
        folded: dict[Window, Totals] = {}
        for t, v in events:
            for start in range(t - t % hop, t - size, -hop):
                window = (start, start + size)
                folded[window] = _merge(folded.get(window, (0, 0, v)), (1, v, v))
        return folded


class FullProcessor(StatefulProcessor):
    """Tumbling windows that need all their values, emitted and purged by the timer at their end."""

    def __init__(self, shape: Windows) -> None:
        self.shape = shape

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self.handle = handle
        self.windows = handle.getMapState("windows", _STATE_KEY, "list ARRAY<BIGINT>")

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Adds the values to their windows."""
        news: dict[Window, list[int]] = {}
        for t, v in _events(rows):
            start = t - t % self.shape.size_us
            news.setdefault((start, start + self.shape.size_us), []).append(v)
        for window, values in news.items():
            held = self.windows.getValue(window)
            if held is None:
                self.handle.registerTimer(window[1] // 1000)
            self.windows.updateValue(window, (values if held is None else [*held[0], *values],))
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """Emits and purges the window that ends here."""
        end = expiredTimerInfo.getExpiryTimeInMs() * 1000
        window = (end - self.shape.size_us, end)
        held = self.windows.getValue(window)
        if held is not None:
            self.windows.removeKey(window)
            measure = statistics.median(held[0]) if self.shape.measure == "median" else list(held[0])
            yield pd.DataFrame([(*key, *window, measure)], columns=["k", "start", "end", self.shape.measure])


class CountedProcessor(StatefulProcessor):
    """Windows of rows, emitted and purged by their last row. State is one value for each key."""

    def __init__(self, shape: Counted) -> None:
        self.shape = shape

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self.open = handle.getValueState("open", f"start BIGINT, {_STATE_VALUE}")

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Adds the rows to the key's window, one after the other."""
        start, n, s, m = self.open.get() or (0, 0, 0, 0)
        full: dict[Window, Totals] = {}
        for _, v in _events(rows):
            n, s, m = (1, v, v) if n == 0 else _merge((n, s, m), (1, v, v))
            if n == self.shape.rows:
                full[start, start + n] = (n, s, m)
                start, n, s, m = start + n, 0, 0, 0
        self.open.update((start, n, s, m))
        if full:
            yield _panes(key, full)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """There are no timers."""
        return iter(())


class SessionProcessor(StatefulProcessor):
    """Sessions, emitted and purged by the timer at their end. Timers of grown sessions do nothing."""

    def __init__(self, shape: Sessions) -> None:
        self.shape = shape

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self.handle = handle
        self.sessions = handle.getMapState("sessions", _STATE_KEY, _STATE_VALUE)

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Merges the rows with the stored sessions."""
        held = dict(self.sessions.iterator())
        events = [((t, t + self.shape.gap_us), (1, v, v)) for t, v in _events(rows)]
        merged = _merge_sessions([*held.items(), *events])
        for window in held.keys() - merged.keys():
            self.sessions.removeKey(window)
        for window, totals in merged.items():
            if held.get(window) != totals:
                self.sessions.updateValue(window, totals)
                self.handle.registerTimer(_timer(window))
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """Emits and purges the session that ends here, if one still does."""
        at = expiredTimerInfo.getExpiryTimeInMs()
        ended = {window: totals for window, totals in self.sessions.iterator() if _timer(window) == at}
        for window in ended:
            self.sessions.removeKey(window)
        if ended:
            yield _panes(key, ended)


class SlidingProcessor(StatefulProcessor):
    """A window for each different event time of a key.

    State is one value for each key: the rows that later windows contain, in order of event time. One sweep
    over the rows computes all complete windows. Every batch sweeps, and so does a timer for the first
    incomplete window.
    """

    def __init__(self, shape: Slides) -> None:
        self.shape = shape

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self.handle = handle
        self.held = handle.getValueState("held", "times ARRAY<BIGINT>, v ARRAY<BIGINT>, sent BIGINT")

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Adds the rows, and emits the windows that are complete."""
        return self._sweep(key, list(_events(rows)), timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """Emits the windows that are complete."""
        return self._sweep(key, [], timerValues)

    def _sweep(self, key: Any, more: list[tuple[int, int]], timers: TimerValues) -> Iterator[pd.DataFrame]:
        times, values, sent = self.held.get() or ([], [], -1)
        rows = sorted([*zip(times, values, strict=True), *more])
        watermark = timers.getCurrentWatermarkInMs() * 1000
        full = {
            window: totals
            for window, totals in _slid(rows, self.shape.size_us).items()
            if sent < window[1] < watermark
        }
        kept = [(t, v) for t, v in rows if t >= watermark - self.shape.size_us]
        self.held.update(([t for t, _ in kept], [v for _, v in kept], max([sent, *(end for _, end in full)])))
        waiting = next((t for t, _ in kept if t >= watermark), None)
        if waiting is not None:
            self.handle.registerTimer(waiting // 1000 + 1)
        if full:
            yield _panes(key, full)


def _slid(rows: list[tuple[int, int]], size: int) -> dict[Window, Totals]:
    """Returns the window that ends at each row's time. The last row of a time completes its window.

    The values in `largest` are strictly decreasing, so its first value is the maximum.
    """
    windows: dict[Window, Totals] = {}
    largest: deque[tuple[int, int]] = deque()
    first = total = 0
    for at, (t, v) in enumerate(rows):
        while largest and largest[-1][1] <= v:
            largest.pop()
        largest.append((t, v))
        total += v
        while rows[first][0] < t - size:
            total -= rows[first][1]
            first += 1
        while largest[0][0] < t - size:
            largest.popleft()
        windows[t - size, t] = (at - first + 1, total, largest[0][1])
    return windows


def _events(frames: Iterator[pd.DataFrame]) -> Iterator[tuple[int, int]]:
    for frame in frames:
        micros = frame["ts"].to_numpy().astype("datetime64[us]").astype("int64")
        yield from zip(micros.tolist(), frame["v"].tolist(), strict=True)


def _merge(a: Totals, b: Totals) -> Totals:
    return a[0] + b[0], a[1] + b[1], max(a[2], b[2])


def _merge_sessions(pieces: list[tuple[Window, Totals]]) -> dict[Window, Totals]:
    pieces.sort()
    (start, end), totals = pieces[0]
    merged: dict[Window, Totals] = {}
    for (next_start, next_end), more in pieces[1:]:
        if next_start < end:
            end, totals = max(end, next_end), _merge(totals, more)
        else:
            merged[start, end] = totals
            start, end, totals = next_start, next_end, more
    merged[start, end] = totals
    return merged


def _timer(window: Window) -> int:
    return -(-window[1] // 1000)  # timers have milliseconds: the first at or after the end


def _panes(key: tuple[int], windows: dict[Window, Totals]) -> pd.DataFrame:
    rows = [(*key, *window, *totals) for window, totals in windows.items()]
    return pd.DataFrame(rows, columns=["k", "start", "end", "n", "s", "m"])
