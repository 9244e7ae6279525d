"""Draws docs/pictures/panes.svg: rows, the watermark, and the panes of a window, from a run of the engine.

The stream is that of the first query in README.md: each batch of rows is a micro-batch, and the watermark
moves behind the rows of the next one. `make names` writes the picture; a test compares it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import panewise as pw
from panewise import functions as F
from panewise.testing import run

PICTURE: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "panes.svg"
MINUTE: Final = 60_000_000
DELAY: Final = 5
# The rows of each micro-batch: minutes after 12:00, and cups.
BATCHES: Final = (((1, 3), (4, 5)), ((8, 2), (16, 7)), ((31, 1),), ((6, 4),), ((9, 6),))
SPEC: Final = pw.WindowOperator(
    window=pw.Tumbling("10 minutes"),
    trigger=pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always()),
    allowed_lateness="10 minutes",
    aggregates=[F.sum("cups").alias("cups")],
)

LEFT, TOP, ROW, SCALE, WIDTH = 106, 78, 50, 12, 830
OUT = LEFT + 35 * SCALE + 24
COLORS = {"EARLY": "#b45309", "ON_TIME": "#15803d", "LATE": "#6d28d9", "late row": "#b91c1c"}


def watermarks() -> Iterator[int | None]:
    """Yields the watermark that is reached in each micro-batch: it follows the rows of those before."""
    latest: int | None = None
    for rows in BATCHES:
        yield None if latest is None else latest - DELAY
        latest = max(latest or 0, *(minute for minute, _ in rows))


def outputs() -> list[list[tuple[str, int, int]]]:
    """Returns what each micro-batch emits: a timing or "late row", a minute of the event time, and cups."""
    emitted: list[list[tuple[str, int, int]]] = []
    events: list[dict[str, Any]] = []
    for rows, watermark in zip(BATCHES, watermarks(), strict=True):
        batch = [{"event_time": minute * MINUTE, "cups": cups} for minute, cups in rows]
        events.append({"op": "add", "rows": batch})
        if watermark is not None:
            events.append({"op": "watermark", "to": watermark * MINUTE})
    for event, output in zip(events, run(SPEC, events, "engine"), strict=True):
        if event["op"] == "add":
            emitted.append([])
        panes = [(pane["timing"], pane["window_start"], pane["cups"]) for pane in output["panes"]]
        late = [("late row", late["row"]["event_time"], late["row"]["cups"]) for late in output["late"]]
        emitted[-1] += [(what, time // MINUTE, cups) for what, time, cups in panes + late]
    return emitted


def picture() -> str:
    """Returns the picture as SVG."""
    height = TOP + len(BATCHES) * ROW + 40
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="13" role="img">'
    )
    title = "<title>Panes of the window from 12:00 to 12:10: early, on time and late, and a late row</title>"
    back = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, title, back, *_axis(height), *_watermark(), *_batches(), "</svg>"]) + "\n"


def _x(minute: float) -> int:
    return int(LEFT + minute * SCALE)


def _text(x: float, y: float, text: str, **style: str) -> str:
    named = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:g}" y="{y:g}"{named}>{text}</text>'


def _axis(height: int) -> Iterator[str]:
    """Yields the windows, the event times above, and the columns' headings."""
    bottom = height - 40
    yield f'<rect x="{_x(0)}" y="{TOP}" width="{10 * SCALE}" height="{bottom - TOP}" fill="#dbeafe"/>'
    yield _text(_x(5), bottom + 18, "window", text_anchor="middle", fill="#1e3a8a")
    yield _text(_x(5), bottom + 33, "12:00 to 12:10", text_anchor="middle", fill="#1e3a8a")
    for minute in range(0, 36, 5):
        yield f'<line x1="{_x(minute)}" y1="{TOP - 6}" x2="{_x(minute)}" y2="{bottom}" stroke="#e5e7eb"/>'
        yield _text(
            _x(minute), TOP - 12, f"12:{minute:02}", text_anchor="middle", fill="#6b7280", font_size="11"
        )
    heading = {"fill": "#111827", "font_weight": "bold"}
    yield _text(8, 22, "micro-batch", **heading)
    yield _text(LEFT, 22, "rows, by their event time", **heading)
    yield _text(OUT, 22, "emitted", **heading)
    yield _text(LEFT, 40, "dashed: the watermark", fill="#b91c1c")


def _watermark() -> Iterator[str]:
    """Yields the watermark: within a micro-batch it moves below the rows."""
    points: list[str] = []
    for number, minute in enumerate(watermarks()):
        if minute is not None:
            x, y = _x(max(minute, 0)), TOP + number * ROW + 38
            points += [f"{points[-1].split(',')[0]},{y}"] if points else []
            points.append(f"{x},{y}")
    points.append(f"{points[-1].split(',')[0]},{TOP + len(BATCHES) * ROW}")
    yield (
        f'<polyline points="{" ".join(points)}" fill="none" stroke="#b91c1c" stroke-width="2" '
        'stroke-dasharray="5 3"/>'
    )


def _batches() -> Iterator[str]:
    """Yields the rows of each micro-batch, and what it emits."""
    for number, (rows, emitted) in enumerate(zip(BATCHES, outputs(), strict=True)):
        y = TOP + number * ROW
        late = {minute for what, minute, _ in emitted if what == "late row"}
        yield f'<line x1="8" y1="{y}" x2="{WIDTH - 8}" y2="{y}" stroke="#d1d5db"/>'
        yield _text(8, y + 24, str(number + 1), fill="#111827")
        for minute, cups in rows:
            color = COLORS["late row"] if minute in late else "#1d4ed8"
            yield f'<circle cx="{_x(minute)}" cy="{y + 19}" r="10" fill="{color}"/>'
            yield _text(_x(minute), y + 23.5, str(cups), text_anchor="middle", fill="#ffffff")
        for place, (what, minute, cups) in enumerate(emitted):
            of = "expired, in the late output" if what == "late row" else f"of the window from 12:{minute:02}"
            text = f'<tspan font-weight="bold">{what} {cups}</tspan> {of}'
            yield _text(OUT, y + 20 + 18 * place, text, fill=COLORS[what])
