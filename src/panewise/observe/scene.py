"""What a picture of panes shows: windows over event time and arrival. It knows no colours and no points.

The page of `panewise watch` and :func:`panewise.observe.picture` make the same scene, which
:mod:`panewise.observe.scene_svg` draws.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from itertools import pairwise
from typing import Final

from panewise.observe.activity import Bounds

MOST_LANES: Final = 6
# The counts of a cell that are marks, with what the legend calls them. A retraction is counted alone.
MARKS: Final = {
    "early": "early pane",
    "on_time": "on-time pane",
    "late": "late pane",
    "rows": "emitted rows",
    "retracted": "retraction",
}
_WIDEST = 60  # how many windows of the usual size fit into a picture


@dataclass(frozen=True)
class Cell:
    """What happened to a window at one arrival.

    Attributes:
        marks: the counts of emitted rows, by the names in :data:`MARKS`.
        changed: of how many keys the stored window was changed.
        is_open: whether the window was live.
    """

    marks: Mapping[str, int] = field(default_factory=dict)
    changed: int = 0
    is_open: bool = False


@dataclass(frozen=True)
class ArrivalRow:
    """A row of the picture: a micro-batch, or a processing time.

    Attributes:
        label: its name.
        cells: what happened to windows, by their bounds.
        watermark: the watermark at its end, None if there is none.
        emitted: how many rows were emitted.
        late: the late rows by reason.
        late_times: the event times of late rows, where they are known.
    """

    label: str
    cells: Mapping[Bounds, Cell]
    watermark: int | None = None
    emitted: int = 0
    late: Mapping[str, int] = field(default_factory=dict)
    late_times: Sequence[int] = ()


@dataclass(frozen=True)
class PaneScene:
    """A picture.

    Attributes:
        arrivals: the rows, the oldest first.
        by_row_number: whether bounds are row numbers, and not microseconds.
        zone: the time zone of the axis.
        title: a text above the picture.
        arrival_name: what a row is.
        windowed: whether emitted rows have windows, which open and expire.
        more_marks: marks that the legend has even if no cell does.
    """

    arrivals: Sequence[ArrivalRow]
    by_row_number: bool = False
    zone: tzinfo = UTC
    title: str = ""
    arrival_name: str = "micro-batch"
    windowed: bool = True
    more_marks: frozenset[str] = frozenset()

    @property
    def marks(self) -> list[str]:
        """The marks that the legend explains, in their order."""
        cells = (cell for arrival in self.arrivals for cell in arrival.cells.values())
        present = {mark for cell in cells for mark, count in cell.marks.items() if count}
        return [mark for mark in MARKS if mark in present | self.more_marks]

    @property
    def bounds(self) -> list[Bounds]:
        """The bounds of all windows, by their start."""
        return _by_start({bounds for arrival in self.arrivals for bounds in arrival.cells})

    def lanes(self) -> list[dict[Bounds, int]]:
        """Returns the lane of each window, for each row. Windows in one lane do not overlap if they can.

        A window has the same lane in all rows, unless that needs too many lanes, as it does for windows that
        grow, such as sessions.
        """
        of_all = _lanes(self.bounds)
        if max(of_all.values(), default=0) < MOST_LANES:
            return [of_all for _ in self.arrivals]
        by_row = (_lanes(_by_start(arrival.cells)) for arrival in self.arrivals)
        return [{bounds: min(lane, MOST_LANES - 1) for bounds, lane in lanes.items()} for lanes in by_row]

    def span(self) -> tuple[int, int]:
        """Returns the first and the last time of the picture.

        If windows are far apart, only those near the newest watermark or window are shown.
        """
        closed = [(start, end) for start, end in self.bounds if start is not None and end is not None]
        times = [time for bounds in closed for time in bounds]
        marks = [arrival.watermark for arrival in self.arrivals if arrival.watermark is not None]
        late = [time for arrival in self.arrivals for time in arrival.late_times]
        if not times and not marks and not late:
            return 0, 1
        first, last = min(times + marks + late), max(times + marks + late)
        usual = _median([end - start for start, end in closed]) if closed else last - first
        usual = max(usual, _median([after - mark for mark, after in pairwise(marks) if after > mark]))
        if usual and last - first > _WIDEST * usual:
            center = marks[-1] if marks else max(end for _, end in closed)
            first = max(first, center - _WIDEST * usual * 2 // 3)
            last = min(last, center + _WIDEST * usual // 3)
        return (first, last) if last > first else (first, first + max(usual, 1))


def _by_start(windows: Iterable[Bounds]) -> list[Bounds]:
    return sorted(windows, key=lambda bounds: (bounds[0] is not None, bounds[0] or 0, bounds[1] or 0))


def _lanes(windows: Iterable[Bounds]) -> dict[Bounds, int]:
    """Returns the first free lane of each window. The windows are sorted by their start.

    If none is free, it is :data:`MOST_LANES`, which is no lane. Invariant: a lane has the end of its last
    window, and no window in it overlaps another one. Cost: one look at each lane for each window.
    """
    ends: list[float] = []
    lanes: dict[Bounds, int] = {}
    for start, end in windows:
        first = float("-inf") if start is None else start
        free = next((lane for lane, until in enumerate(ends) if until <= first), len(ends))
        lanes[start, end] = min(free, MOST_LANES)
        if free < MOST_LANES:
            ends[free : free + 1] = [float("inf") if end is None else end]
    return lanes


def _median(values: Iterable[int]) -> int:
    """Returns the median, 0 if there are no values."""
    ranked = sorted(values)
    return ranked[len(ranked) // 2] if ranked else 0
