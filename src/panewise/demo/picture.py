"""Draws a picture that explains panes, with event time on the x axis and arrival time on the y axis.

- A row is a point. A row on the diagonal arrived at its event time, a row above it arrived later.
- A window is a vertical band.
- A pane is a bar across its window, at the arrival time of its firing. The value of the pane that it retracts
  is written at its left.
- The watermark is a line. A window is complete where the line has reached its end.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from panewise.demo.page import Table, render

COLOURS = {"EARLY": "#d99a1c", "ON_TIME": "#2c8a4b", "LATE": "#7a4fa8"}
NAMES = {"EARLY": "early pane", "ON_TIME": "on-time pane", "LATE": "late pane"}
ROW, LATE_ROW, WATERMARK, FAINT = "#31465c", "#c8332b", "#1f6fb5", "#8a8f98"
LABEL_SIZE = 7
LABEL_BOX = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.6}  # readable on points


@dataclass(frozen=True)
class Scene:
    """The content of a picture. Times are Datetime columns with a time zone.

    Args:
        rows: a row for each input row: `event_time`, `arrival`, `late` (Boolean: emitted to the late output).
        watermarks: the watermark from one arrival time to another: `since`, `until`, `watermark` (null if
            there is none yet). In the order of arrival.
        panes: a row for each pane: `window_start`, `window_end`, `arrival`, `timing`, `op`, `value` (a
            string, written beside the bar).
        lateness: the allowed lateness, drawn as a second line.
        events: the first and the last event time on the x axis.
        arrivals: the first and the last arrival time on the y axis.
        zone: the time zone of the axes, by its IANA name.
        title: the title above the picture.
        value_name: the meaning of `value`, for the legend.
    """

    rows: pl.DataFrame
    watermarks: pl.DataFrame
    panes: pl.DataFrame
    lateness: timedelta
    events: tuple[datetime, datetime]
    arrivals: tuple[datetime, datetime]
    zone: str
    title: str
    value_name: str


def draw(scene: Scene) -> Figure:
    """Returns the picture as a matplotlib figure. It needs no display."""
    figure = Figure(figsize=(11, 9), layout="constrained")
    axes = figure.add_subplot()
    _windows(axes, scene)
    _lines(axes, scene)
    _panes(axes, scene)
    _rows(axes, scene)
    _frame(axes, scene)
    return figure


def write_page(figure: Figure, image: Path, title: str, text: str, tables: Sequence[Table]) -> None:
    """Writes a figure to a PNG file, and the page that explains it to index.html beside it."""
    figure.savefig(image, dpi=130)
    page = render(title, text, svg(figure), tables)
    image.with_name("index.html").write_text(page, encoding="utf-8")


def svg(figure: Figure) -> str:
    """Returns the figure as an <svg> element for an HTML page. Equal figures give equal text."""
    text = io.StringIO()
    # fonttype "none" keeps text as text, which is smaller and searchable. A fixed hashsalt gives fixed ids.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "panewise"}):
        figure.savefig(
            text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    drawing = text.getvalue()
    return drawing[drawing.index("<svg") :]


def _windows(axes: Axes, scene: Scene) -> None:
    windows = scene.panes.select("window_start", "window_end").unique().sort("window_start", "window_end")
    for number, (start, end) in enumerate(windows.iter_rows()):
        _x(
            axes.axvspan,
            start,
            end,
            facecolor="#eef1f5" if number % 2 else "#f8f9fb",
            edgecolor="#d5dae1",
            linewidth=0.6,
            zorder=0,
        )


def _lines(axes: Axes, scene: Scene) -> None:
    low, high = max(scene.events[0], scene.arrivals[0]), min(scene.events[1], scene.arrivals[1])
    _x(axes.plot, [low, high], [low, high], color=FAINT, linewidth=0.8, linestyle=":", zorder=1)
    known = scene.watermarks.drop_nulls("watermark")
    arrivals = [at for pair in known.select("since", "until").iter_rows() for at in pair]
    watermarks = [at for at in known["watermark"] for _ in range(2)]
    _x(axes.plot, watermarks, arrivals, color=WATERMARK, linewidth=1.8, zorder=4)
    expired = [at - scene.lateness for at in watermarks]
    _x(axes.plot, expired, arrivals, color=WATERMARK, linewidth=1.1, linestyle="--", zorder=4)


def _panes(axes: Axes, scene: Scene) -> None:
    columns = ("window_start", "window_end", "arrival", "timing", "op", "value")
    style: dict[str, Any] = {"fontsize": LABEL_SIZE, "clip_on": True, "va": "center", "zorder": 6}
    style["bbox"] = LABEL_BOX
    for start, end, arrival, timing, op, value in scene.panes.select(columns).iter_rows():
        inset = (end - start) * 0.06
        if op == "-":
            _x(axes.text, start + inset, arrival, f"−{value}", color=FAINT, ha="left", **style)
            continue
        colour, left, right = COLOURS[timing], start + inset * 3.5, end - inset * 3
        _x(axes.hlines, arrival, left, right, color=colour, linewidth=3.2, zorder=3)
        text = {"color": colour, "ha": "right", "weight": "bold", **style}
        _x(axes.text, end - inset * 0.5, arrival, f"+{value}", **text)


def _rows(axes: Axes, scene: Scene) -> None:
    applied: dict[str, Any] = {"s": 9, "color": ROW, "alpha": 0.75, "linewidths": 0, "zorder": 5}
    late: dict[str, Any] = {"s": 30, "color": LATE_ROW, "marker": "x", "linewidths": 1.4, "zorder": 7}
    for rows, style in ((scene.rows.filter(~pl.col("late")), applied), (scene.rows.filter("late"), late)):
        _x(axes.scatter, rows["event_time"].to_list(), rows["arrival"].to_list(), **style)


def _frame(axes: Axes, scene: Scene) -> None:
    axes.set_title(scene.title, loc="left", fontsize=11)
    axes.set_xlabel(f"event time ({scene.zone})")
    axes.set_ylabel(f"arrival time ({scene.zone})")
    axes.set_xlim(*scene.events)  # type: ignore[arg-type]
    axes.set_ylim(*scene.arrivals)  # type: ignore[arg-type]
    for axis in (axes.xaxis, axes.yaxis):
        locator = AutoDateLocator(tz=scene.zone)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator, tz=scene.zone, show_offset=False))
    axes.legend(handles=_legend(scene), loc="upper left", fontsize=8, framealpha=0.95)


def _legend(scene: Scene) -> list[Line2D]:
    def dot(marker: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], marker=marker, color=colour, linestyle="", markersize=5, label=label)

    panes = [
        Line2D([], [], color=COLOURS[timing], linewidth=3.2, label=name) for timing, name in NAMES.items()
    ]
    return [
        dot("o", ROW, "row"),
        dot("x", LATE_ROW, "late row"),
        Line2D([], [], color=WATERMARK, linewidth=1.8, label="watermark"),
        Line2D([], [], color=WATERMARK, linewidth=1.1, linestyle="--", label="watermark − allowed lateness"),
        Line2D([], [], color=FAINT, linewidth=0.8, linestyle=":", label="arrival = event time"),
        *panes,
        Line2D([], [], linestyle="", label=f"+n emitted, −n retracted; n: {scene.value_name}"),
    ]


def _x(method: Any, *values: Any, **style: Any) -> None:
    """Calls a drawing method with instants, which matplotlib accepts although its type hints do not."""
    method(*values, **style)
