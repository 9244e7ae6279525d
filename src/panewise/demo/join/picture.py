"""Draws departures by the weather: a column for each measure, mean delays above, cancellations below."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

DELAY, CANCELLED = "#1f6fb5", "#c8332b"
FRAME, LABEL_SIZE = "#d5dae1", 8


@dataclass(frozen=True)
class Panel:
    """A column of the picture.

    Args:
        name: the name of the measure, with its unit.
        classes: a row for each class: `name`, `flights`, `mean_delay`, `cancelled`.
    """

    name: str
    classes: pl.DataFrame


def draw(title: str, panels: Sequence[Panel]) -> Figure:
    """Returns the picture as a matplotlib figure. It needs no display."""
    figure = Figure(figsize=(11, 7), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    grid = figure.subplots(2, len(panels), sharex="col", sharey="row", squeeze=False)
    for column, panel in enumerate(panels):
        above, below = grid[0][column], grid[1][column]
        _bars(above, panel, "mean_delay", DELAY)
        _bars(below, panel, "cancelled", CANCELLED)
        flights = panel.classes.select("name", "flights").rows()
        below.set_xticks(range(len(flights)), [f"{name}\n{number:,}" for name, number in flights])
        below.set_xlabel(f"{panel.name}, flights")
    grid[0][0].set_ylabel("mean delay of departure (minutes)")
    grid[1][0].set_ylabel("cancelled (%)")
    return figure


def _bars(axes: Axes, panel: Panel, column: str, colour: str) -> None:
    heights = panel.classes[column].fill_null(0.0).to_list()
    bars = axes.bar(range(len(heights)), heights, width=0.7, color=colour)
    axes.bar_label(bars, fmt="%.1f", fontsize=LABEL_SIZE, padding=2)
    axes.tick_params(labelsize=LABEL_SIZE, labelleft=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FRAME, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.margins(y=0.1)
