"""Draws a run of an operator as SVG: a row for each event, with the rows that arrive and what is emitted.

Event time runs to the right. A dot is a row at its event time, or at its number; a bar is an emitted row with
its window, or a pair of a join. The line is the watermark. The colours are those of
`panewise.observe.picture`, in light and dark.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any, Final

from panewise.observe.scene_svg import STYLE

LEFT, GAP, DOTS, LANE, HEAD = 128, 28, 30, 19, 74
CHARACTER = 6.6
OWN_STYLE: Final = """
.pw .left { fill: var(--rows) } .pw .right { fill: var(--late) } .pw .missing { fill: var(--early) }
.pw .pair { fill: var(--on_time) } .pw .line-right { stroke-dasharray: 4 3 }
.pw text.on.missing { fill: #1d1500 } .pw .arrow { fill: none; stroke: var(--faint); stroke-width: 1.5 }
.pw .chart-left { fill: none; stroke: var(--rows); stroke-width: 2 }
.pw .chart-missing { fill: none; stroke: var(--early); stroke-width: 2 }
"""
LEGEND: Final = {
    "left": "row",
    "right": "right row",
    "cross": "late row",
    "early": "early pane",
    "on_time": "on-time pane",
    "late": "late pane",
    "pair": "pair",
    "missing": "row without a partner",
    "retracted": "retraction",
    "watermark": "watermark",
    "line-right": "right watermark",
}
TIMINGS: Final = {"EARLY": "early", "ON_TIME": "on_time", "LATE": "late"}


@dataclass(frozen=True)
class Dot:
    """A row that arrives; its kind is `left`, `right` or `cross`."""

    at: float
    text: str
    kind: str = "left"


@dataclass(frozen=True)
class Bar:
    """An emitted row from one time to another; its kind is one of the legend."""

    start: float
    end: float
    kind: str
    text: str


@dataclass(frozen=True)
class Step:
    """An event, with the watermarks after it: `left`, and in joins `right`."""

    label: str
    dots: Sequence[Dot] = ()
    bars: Sequence[Bar] = ()
    marks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """The steps of a run; several beside one another have the same events."""

    title: str
    steps: Sequence[Step]


@dataclass(frozen=True)
class Axis:
    """The axis of event time or of row numbers, with a tick at each multiple of the step."""

    first: int
    last: int
    step: int
    name: str = "event time"


@dataclass(frozen=True)
class _Place:
    """Where a panel is."""

    axis: Axis
    left: float
    right: float

    def x(self, time: float) -> float:
        share = (time - self.axis.first) / (self.axis.last - self.axis.first)
        return round(self.left + min(1.0, max(0.0, share)) * (self.right - self.left), 1)


def drawn(title: str, panels: Sequence[Panel], axis: Axis, *, width: int = 760) -> str:
    """Returns the picture."""
    heights = [_height(steps) for steps in zip(*(panel.steps for panel in panels), strict=True)]
    height = HEAD + sum(heights) + 42
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    each = (width - LEFT - GAP * len(panels)) / len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pw" {size} role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}{OWN_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        text(12, 22, title, "title"),
        *_legend(panels),
    ]
    y: float = HEAD
    for step, needed in zip(panels[0].steps, heights, strict=True):
        parts += [f'<path class="grid" d="M8 {y}H{width - 8}"/>', text(12, y + 19, step.label)]
        y += needed
    for number, panel in enumerate(panels):
        left = LEFT + number * (each + GAP)
        parts += _panel(panel, _Place(axis, left, left + each), heights)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(panels: Sequence[Panel]) -> Iterator[str]:
    """Yields what the kinds that are in the picture mean."""
    steps = [step for panel in panels for step in panel.steps]
    present = {item.kind for step in steps for item in (*step.dots, *step.bars)}
    sides = {side for step in steps for side in step.marks}
    present |= {name for name, side in (("watermark", "left"), ("line-right", "right")) if side in sides}
    x = 12.0
    for kind, label in LEGEND.items():
        if kind not in present:
            continue
        two_sides = "right" in present
        words = f"left {label}" if two_sides and kind in ("left", "watermark") else label
        yield from (_symbol(kind, x, 42), text(x + 20, 46, words))
        x += 34 + len(words) * CHARACTER


def _symbol(kind: str, x: float, y: float) -> str:
    if kind in ("left", "right", "cross"):
        return _dot(kind, x + 7, y, 6)
    if kind in ("watermark", "line-right"):
        return f'<path class="watermark {kind}" d="M{x} {y}h16"/>'
    return f'<rect class="{kind}" x="{x}" y="{y - 6}" width="14" height="12" rx="2"/>'


def _dot(kind: str, x: float, y: float, radius: int) -> str:
    if kind == "cross":
        return f'<path class="cross" d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"/>'
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _panel(panel: Panel, place: _Place, heights: Sequence[int]) -> Iterator[str]:
    bottom = HEAD + sum(heights)
    middle = (place.left + place.right) / 2
    if panel.title:
        yield text(middle, HEAD - 8, panel.title, "middle")
    first = -(-place.axis.first // place.axis.step) * place.axis.step
    for tick in range(first, place.axis.last + 1, place.axis.step):
        yield f'<path class="grid" d="M{place.x(tick)} {HEAD}V{bottom + 4}"/>'
        yield text(place.x(tick), bottom + 17, str(tick), "faint middle")
    yield text(middle, bottom + 33, place.axis.name, "faint middle")
    for side in ("left", "right"):
        yield from _watermark(panel, place, heights, side)
    y: float = HEAD
    for step, height in zip(panel.steps, heights, strict=True):
        for dot in step.dots:
            yield _dot(dot.kind, place.x(dot.at), y + 15, 10)
            if dot.kind != "cross":
                yield text(place.x(dot.at), y + 19, dot.text, "on middle")
            else:
                yield text(place.x(dot.at) + 9, y + 19, dot.text, "cross-text")
        top = y + (DOTS if step.dots else 6)
        for bar, lane in zip(step.bars, _lanes(step.bars), strict=True):
            yield from _bar(bar, place, top + lane * LANE)
        y += height


def _watermark(panel: Panel, place: _Place, heights: Sequence[int], side: str) -> Iterator[str]:
    """Yields the line of a watermark. Within the row of its event it moves above what is emitted then."""
    path, y = "", float(HEAD)
    for (before, step), height in zip(pairwise([None, *panel.steps]), heights, strict=True):
        mark = step.marks.get(side)
        if mark is not None:
            x = place.x(mark)
            is_first = before is None or side not in before.marks
            path += f"M{place.left} {y + 3}H{x}V{y + height}" if is_first else f"V{y + 3}H{x}V{y + height}"
        y += height
    if path:
        kind = "watermark" if side == "left" else "watermark line-right"
        yield f'<path class="halo" d="{path}"/><path class="{kind}" d="{path}"/>'


def _bar(bar: Bar, place: _Place, y: float) -> Iterator[str]:
    left, right = place.x(bar.start), place.x(bar.end)
    if right - left < 22:
        left, right = left - 11, left + 11
    label = f"−{bar.text}" if bar.kind == "retracted" else bar.text
    box = f'x="{left + 1:.1f}" y="{y}" width="{right - left - 2:.1f}" height="15" rx="2"'
    yield f'<rect class="{bar.kind}" {box}/>'
    colour = "off" if bar.kind == "retracted" else f"on {bar.kind}"
    yield text((left + right) / 2, y + 11.5, label, f"{colour} middle")


def _lanes(bars: Sequence[Bar]) -> list[int]:
    """Returns the lane of each bar. Those that follow one another may share a lane if they do not overlap."""
    lanes: list[int] = []
    for number, bar in enumerate(bars):
        taken = [
            lane
            for lane, other in zip(lanes, bars[:number], strict=True)
            if other.start < bar.end and bar.start < other.end
        ]
        lanes.append(max(taken, default=-1) + 1)
    return lanes


def _height(steps: Sequence[Step]) -> int:
    dots = DOTS if any(step.dots for step in steps) else 6
    lanes = max((max(_lanes(step.bars), default=-1) + 1 for step in steps), default=0)
    return max(28, dots + lanes * LANE + 4)


def text(x: float, y: float, content: str, names: str = "") -> str:
    """Returns a text of a picture, with its classes."""
    kind = f' class="{names}"' if names else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}">{escape(content)}</text>'


def of_windows(
    events: Sequence[Mapping[str, Any]],
    outputs: Sequence[Mapping[str, Any]],
    value: str,
    *,
    by_number: bool = False,
) -> list[Step]:
    """Returns the steps of a window operator. A pane shows the column `value`.

    `by_number` shows a row at its number, from 0, not at its event time.
    """
    steps, marks, arrived = list[Step](), dict[str, float](), 0
    for event, output in zip(events, outputs, strict=True):
        rows = event.get("rows", [])
        late = [entry["row"] for entry in output["late"]]
        if event["op"] == "watermark":
            marks = {"left": event["to"]}
        dots = [
            Dot(
                arrived + number if by_number else row["event_time"],
                str(next(iter(value for name, value in row.items() if name != "event_time"))),
                "cross" if row in late else "left",
            )
            for number, row in enumerate(rows)
        ]
        arrived += len(rows)
        bars = [
            Bar(
                pane["window_start"],
                pane["window_end"],
                "retracted" if pane["op"] == "-" else TIMINGS[pane["timing"]],
                str(pane[value]),
            )
            for pane in output["panes"]
        ]
        steps.append(Step(_label(event), dots, bars, marks))
    return steps


def of_join(
    events: Sequence[Mapping[str, Any]],
    outputs: Sequence[Mapping[str, Any]],
    times: tuple[str, str],
    key: str,
) -> list[Step]:
    """Returns the steps of a join. `times` are the columns of both event times."""
    steps, marks = list[Step](), dict[str, float]()
    for event, output in zip(events, outputs, strict=True):
        side = event.get("input", "left")
        if event["op"] == "watermark":
            marks = {**marks, side: event["to"]}
        time = times[side == "right"]
        dots = [Dot(row[time], str(row[key]), side) for row in event.get("rows", [])]
        bars = [
            Bar(
                min(known := [row[name] for name in times if row[name] is not None]),
                max(known),
                "retracted" if row["op"] == "-" else "missing" if row["missing"] else "pair",
                str(row[key]),
            )
            for row in output["panes"]
        ]
        steps.append(Step(_label(event), dots, bars, marks))
    return steps


def _label(event: Mapping[str, Any]) -> str:
    if event["op"] == "add":
        return f"{event['input']} rows" if "input" in event else "rows"
    side = f"{event['input']} " if "input" in event else ""
    return f"{side}{event['op']} {event.get('to', '')}".strip()
