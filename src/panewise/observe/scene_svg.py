"""Draws a scene as SVG: event time on the x axis, arrival on the y axis, the newest row on top.

- A window is a column of cells, from the row in which it opened to the row in which it expired. Windows that
  overlap are in different lanes of a row.
- A mark in a cell is what was emitted for the window: its colour is the timing, its number that of the panes.
- The watermark is a line. A window is complete where the line has reached its end.
- A cross is late rows: at their event times if these are known, else at the watermark.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from panewise.observe.activity import Bounds
from panewise.observe.scene import MARKS, ArrivalRow, Cell, PaneScene
from panewise.observe.time_axis import TimeAxis

STYLE: Final = """
.pw { --paper: #fff; --ink: #1d2733; --faint: #5f6b78; --grid: #e4e8ee; --open: #dbe5f1; --edge: #a9bdd6;
  --early: #d99a1c; --on_time: #2c8a4b; --late: #7a4fa8; --rows: #3b7ea1; --retracted: #6d7683;
  --watermark: #1f6fb5; --late-rows: #c8332b; font: 11px system-ui, sans-serif }
@media (prefers-color-scheme: dark) { .pw { --paper: #14191f; --ink: #e3e8ee; --faint: #98a4b1;
  --grid: #28303a; --open: #24364b; --edge: #48688d; --early: #e0ab3f; --on_time: #43a866;
  --late: #a37bd0; --rows: #58a5cc;
  --retracted: #8b95a3; --watermark: #5aa9ec; --late-rows: #f0726a } }
.pw .paper { fill: var(--paper) } .pw text { fill: var(--ink) } .pw .faint { fill: var(--faint) }
.pw .title { font-size: 13px; font-weight: 600 } .pw .grid { stroke: var(--grid); stroke-width: 1 }
.pw .open { fill: var(--open); stroke: var(--edge); stroke-width: .5 } .pw .changed { fill: var(--edge) }
.pw .early { fill: var(--early) } .pw .on_time { fill: var(--on_time) } .pw .late { fill: var(--late) }
.pw .rows { fill: var(--rows) } .pw .retracted { fill: var(--paper); stroke: var(--retracted) }
.pw text.on { fill: #fff; font-weight: 600 } .pw text.off { fill: var(--ink); font-weight: 600 }
.pw text.on.early { fill: #1d1500 } .pw .end { text-anchor: end } .pw .middle { text-anchor: middle }
.pw .watermark { fill: none; stroke: var(--watermark); stroke-width: 2; stroke-linejoin: round }
.pw .halo { fill: none; stroke: var(--paper); stroke-width: 4; stroke-opacity: .7 }
.pw .cross { fill: none; stroke: var(--late-rows); stroke-width: 2; stroke-linecap: round }
.pw text.cross-text { fill: var(--late-rows); font-weight: 600 }
"""
_LANE = {1: 20, 2: 14, 3: 12, 4: 10, 5: 9, 6: 8}  # the height of a lane, by the number of lanes
_LEFT, _RIGHT, _BOTTOM = 128, 122, 40
_CHARACTER = 6.1  # about the width of a character


@dataclass(frozen=True)
class _Frame:
    """The places of a picture."""

    scene: PaneScene
    axis: TimeAxis
    lanes: list[dict[Bounds, int]]
    lane_height: int
    top: float
    width: int

    @property
    def row_height(self) -> int:
        return self.lane_height * _count_of(self.lanes) + 2

    @property
    def bottom(self) -> float:
        return self.top + self.row_height * len(self.scene.arrivals)

    def y(self, row: int) -> float:
        """Returns the upper edge of a row. Rows are numbered from the oldest, which is the lowest."""
        return self.bottom - self.row_height * (row + 1)


def scene_svg(scene: PaneScene, *, width: int = 960, style: bool = True) -> str:
    """Returns the picture as an <svg> element. Without the style the page must have :data:`STYLE`.

    All texts are escaped.
    """
    lanes = scene.lanes()
    axis = TimeAxis(*scene.span(), _LEFT, width - _RIGHT, scene.by_row_number, scene.zone)
    legend, below = _legend(scene, width)
    frame = _Frame(scene, axis, lanes, _LANE[_count_of(lanes)], below + 24, width)
    height = round(frame.bottom + _BOTTOM)
    name = escape(scene.title or "panes", quote=True)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw" {size} role="img" aria-label="{name}">',
        f"<style>{STYLE}</style>" if style else "",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        *legend,
        *_grid(frame),
        *(part for row, arrival in enumerate(scene.arrivals) for part in _row(frame, row, arrival)),
        *_watermark(frame),
        *(part for row, arrival in enumerate(scene.arrivals) for part in _late(frame, row, arrival)),
        "</svg>",
    ]
    return "\n".join(filter(None, parts))


def _legend(scene: PaneScene, width: int) -> tuple[list[str], float]:
    """Returns title and legend, and where they end."""
    y, parts = 8.0, list[str]()
    if scene.title:
        y += 16
        parts.append(_text(12, y - 2, scene.title, "title"))
    items = [("open", "live window")] if scene.windowed else []
    items += [(mark, MARKS[mark]) for mark in scene.marks]
    items += [("watermark", "watermark"), ("cross", "late rows")]
    x, y = 12.0, y + 14
    for name, label in items:
        needed = 22 + len(label) * _CHARACTER + 14
        if x + needed > width - 12:
            x, y = 12.0, y + 18
        parts += [_symbol(name, x, y), _text(x + 20, y, label)]
        x += needed
    return parts, y + 8


def _symbol(name: str, x: float, y: float) -> str:
    if name == "watermark":
        return f'<path class="watermark" d="M{x} {y - 4}h14"/>'
    if name == "cross":
        return _cross(x + 7, y - 4)
    return f'<rect class="{name}" x="{x}" y="{y - 9}" width="14" height="10" rx="2"/>'


def _grid(frame: _Frame) -> Iterator[str]:
    top, bottom, axis = frame.top, frame.bottom, frame.axis
    for x, label in axis.ticks():
        yield f'<path class="grid" d="M{x} {top}V{bottom + 4}"/>'
        yield _text(x, bottom + 17, label, "faint middle")
    yield f'<path class="grid" d="M{_LEFT} {bottom}H{frame.width - _RIGHT}"/>'
    yield _text((axis.left + axis.right) / 2, bottom + 33, axis.title, "faint middle")
    yield _text(12, top - 7, frame.scene.arrival_name, "faint")
    yield _text(frame.width - 62, top - 7, "emitted", "faint end")
    yield _text(frame.width - 12, top - 7, "late", "faint end")


def _row(frame: _Frame, row: int, arrival: ArrivalRow) -> Iterator[str]:
    """Yields the cells of a row, and its texts."""
    base = frame.y(row) + frame.row_height / 2 + 4
    yield _text(12, base, arrival.label)
    if arrival.emitted:
        yield _text(frame.width - 62, base, f"{arrival.emitted:,}", "end")
    if arrival.late:
        yield _text(frame.width - 12, base, f"{sum(arrival.late.values()):,}", "end cross-text")
    taken = _taken(frame, row, arrival)
    for bounds, cell in arrival.cells.items():
        if frame.axis.shows(*bounds):
            yield from _cell(frame, row, bounds, cell, taken)


def _taken(frame: _Frame, row: int, arrival: ArrivalRow) -> list[tuple[float, float]]:
    """Returns the ranges of x that crosses and watermarks take in a row. No number is drawn there."""
    marks = [
        at.watermark for at in frame.scene.arrivals[max(0, row - 1) : row + 1] if at.watermark is not None
    ]
    lines = [(frame.axis.x(mark) - 2, frame.axis.x(mark) + 2) for mark in marks]
    return lines + [(x - 13, x) for x in _late_points(frame, row, arrival)]


def _cell(
    frame: _Frame, row: int, bounds: Bounds, cell: Cell, taken: Sequence[tuple[float, float]]
) -> Iterator[str]:
    axis, (start, end) = frame.axis, bounds
    left = axis.left if start is None else axis.x(start)
    right = axis.right if end is None else axis.x(end)
    width = max(2.0, round(right - left - 1, 1))
    y, height = frame.y(row) + 1 + frame.lanes[row][bounds] * frame.lane_height, frame.lane_height - 1
    yield f"<g><title>{escape(_tooltip(frame, bounds, cell))}</title>"
    if cell.is_open:
        yield f'<rect class="open" x="{left}" y="{y}" width="{width}" height="{height}"/>'
        if cell.changed:
            yield f'<rect class="changed" x="{left}" y="{y + height - 2}" width="{width}" height="2"/>'
    present = [(mark, count) for mark, count in cell.marks.items() if count]
    for number, (mark, count) in enumerate(present):
        share = width / len(present)
        yield from _mark(mark, count, (left + number * share, y, share, height), taken)
    yield "</g>"


def _mark(
    mark: str, count: int, box: tuple[float, float, float, float], taken: Sequence[tuple[float, float]]
) -> Iterator[str]:
    x, y, width, height = box
    label = f"−{count:,}" if mark == "retracted" else f"{count:,}"
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(1.5, width - 1):.1f}" height="{height:.1f}"'
    yield f'<rect class="{mark}" {place} rx="2"/>'
    center = _free_center(x, width, len(label) * _CHARACTER + 8, taken)
    if height >= 11 and center is not None:
        colour = "off" if mark == "retracted" else f"on {mark}"
        yield _text(center, y + height / 2 + 4, label, f"{colour} middle")


def _free_center(x: float, width: float, needed: float, taken: Sequence[tuple[float, float]]) -> float | None:
    """Returns the center of a place in a mark where nothing else is, the middle if it can; None: nowhere."""
    first, last = x + needed / 2 + 1, x + width - needed / 2 - 2
    places = [x + width / 2, *(left - needed / 2 for left, _ in taken), *(to + needed / 2 for _, to in taken)]
    for center in places:
        is_inside = first <= center <= last
        if is_inside and all(center + needed / 2 <= left or to <= center - needed / 2 for left, to in taken):
            return center
    return None


def _tooltip(frame: _Frame, bounds: Bounds, cell: Cell) -> str:
    name = "window" if frame.scene.windowed else "event time"
    lines = [f"{name} {frame.axis.long(bounds[0])} to {frame.axis.long(bounds[1])}"]
    lines += [f"{MARKS[mark]}: {count:,}" for mark, count in cell.marks.items() if count]
    lines += [f"keys that changed it: {cell.changed:,}"] if cell.changed else []
    return "\n".join(lines)


def _watermark(frame: _Frame) -> Iterator[str]:
    """Yields the line of the watermark, from the oldest row upwards. It breaks where there is none."""
    path, before = "", False
    for row, arrival in enumerate(frame.scene.arrivals):
        mark = arrival.watermark
        if mark is not None:
            x, y = frame.axis.x(mark), frame.y(row)
            path += f"{'H' if before else 'M'}{x}{'' if before else f' {y + frame.row_height}'}V{y}"
        before = mark is not None
    if path:
        yield f'<path class="halo" d="{path}"/><path class="watermark" d="{path}"/>'


def _late(frame: _Frame, row: int, arrival: ArrivalRow) -> Iterator[str]:
    """Yields a cross for late rows. They are late by the watermark of the row before."""
    y = frame.y(row) + frame.row_height / 2
    words = ", ".join(f"{reason} {count:,}" for reason, count in sorted(arrival.late.items()))
    for x in _late_points(frame, row, arrival):
        yield f"<g><title>{escape(f'late rows: {words}')}</title>{_cross(x - 7, y)}</g>"


def _late_points(frame: _Frame, row: int, arrival: ArrivalRow) -> list[float]:
    """Returns the right ends of the crosses of a row."""
    if not arrival.late:
        return []
    times = [*arrival.late_times]
    if not times:
        earlier = frame.scene.arrivals[row - 1].watermark if row else None
        mark = arrival.watermark if earlier is None else earlier
        times = [] if mark is None else [mark]
    return sorted({frame.axis.x(time) for time in times} or {frame.axis.left})


def _cross(x: float, y: float) -> str:
    return f'<path class="cross" d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"/>'


def _text(x: float, y: float, text: str, names: str = "") -> str:
    kind = f' class="{names}"' if names else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _count_of(lanes: Iterable[dict[Bounds, int]]) -> int:
    return max((lane for of_row in lanes for lane in of_row.values()), default=0) + 1


def rows_that_fit(scene: PaneScene, height: int) -> int:
    """Returns how many rows of a scene fit into a height."""
    count = _count_of(scene.lanes())
    return max(4, height // (_LANE[count] * count + 2))
