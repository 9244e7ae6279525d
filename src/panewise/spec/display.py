"""Specifications as HTML: their words, and a timeline of their windows as inline SVG.

A timeline shows where windows lie relative to each other, not at what times.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from panewise.chrono import Duration
from panewise.spec.describe import describe
from panewise.spec.family_parts import parts
from panewise.spec.protocol import Specification
from panewise.spec.windows.kinds import Calendar, Cumulating, Global, Hopping, Session, Tumbling
from panewise.spec.windows.size_in_rows import Rows
from panewise.spec.windows.sliding import Sliding

_WIDTH: Final = 420  # pixels of the axis
_ROW: Final = 14  # pixels from one bar to the next
_LANES: Final = 6  # bars that are drawn at most
Bar = tuple[float, float]  # where a window starts and ends, from 0 to 1


def html_of(spec: Specification) -> str:
    """Returns a specification as HTML: a timeline of its windows, if there is one, and its words."""
    words, picture = escape(describe(spec)), timeline(parts(spec).drawn_windows(spec))
    return f'<div>{picture}<pre style="white-space:pre-wrap">{words}</pre></div>'


def timeline(window: object) -> str:
    """Returns a timeline of windows as SVG; an empty text where their bounds cannot be drawn.

    Points on the axis are rows, and bars are windows.
    """
    bars, rows = _drawn(window)
    if not bars:
        return ""
    lanes = _in_lanes(bars)
    axis = max(lanes, default=0) * _ROW + 26
    shapes = [
        f'<rect x="{_x(start)}" y="{lane * _ROW + 4}" width="{max(_x(end) - _x(start), 2)}" height="10" '
        'rx="2" fill="#7aa6d6" fill-opacity="0.6" stroke="#2c5f9e"/>'
        for (start, end), lane in zip(bars, lanes, strict=True)
    ]
    shapes.append(f'<line x1="0" y1="{axis}" x2="{_WIDTH + 20}" y2="{axis}" stroke="#555"/>')
    shapes += [f'<circle cx="{_x(at)}" cy="{axis}" r="3" fill="#c0392b"/>' for at in rows]
    label = escape(str(window))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + 20}" height="{axis + 8}" role="img" '
        f'aria-label="{label}"><title>{label}</title>{"".join(shapes)}</svg>'
    )


def _x(at: float) -> int:
    return 10 + round(at * _WIDTH)


def _drawn(window: object) -> tuple[Sequence[Bar], Sequence[float]]:
    """Returns the bars of windows, and where rows are that make them."""
    match window:
        case Tumbling() | Calendar():
            return _equal(1, 1), ()
        case Hopping():
            return _equal(_length(window.size), _length(window.hop)), ()
        case Cumulating():
            steps = min(round(_length(window.size) / _length(window.step)), _LANES // 2)
            return [(half / 2, half / 2 + n / steps / 2) for half in (0, 1) for n in range(1, steps + 1)], ()
        case Session():
            sessions = ((0.04, 0.1, 0.2), (0.52, 0.58), (0.9,))
            bars = [(session[0], min(session[-1] + 0.1, 1)) for session in sessions]
            return bars, [at for session in sessions for at in session]
        case Sliding():
            rows = (0.3, 0.45, 0.6, 0.95)
            return [
                (at - 0.3, at) if window.anchor != "start" else (at, min(at + 0.3, 1)) for at in rows
            ], rows
        case Global():
            return [(0, 1)], (0.1, 0.35, 0.4, 0.8)
    return (), ()


def _equal(size: float, hop: float) -> list[Bar]:
    """Returns a few windows of one length, at equal distances."""
    count = max(2, min(_LANES, round(4 * size / hop))) if hop <= size else 4
    span = (count - 1) * hop + size
    return [(n * hop / span, (n * hop + size) / span) for n in range(count)]


def _length(value: Duration | Rows) -> float:
    return float(value.n if isinstance(value, Rows) else value.us)


def _in_lanes(bars: Sequence[Bar]) -> list[int]:
    """Returns the lane of each bar, so that no two of a lane overlap."""
    free: list[float] = []
    lanes = []
    for start, end in bars:
        lane = next((n for n, at in enumerate(free) if at <= start + 1e-9), len(free))
        free[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes
