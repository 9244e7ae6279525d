"""The picture of rows, watermark and panes, from hand-made frames."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from panewise.demo import picture


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 8, hour, minute, tzinfo=UTC)


@pytest.fixture
def scene() -> picture.Scene:
    panes: list[tuple[Any, ...]] = [
        (at(10), at(11), at(10, 40), "EARLY", "+", "2"),
        (at(10), at(11), at(11, 30), "EARLY", "-", "2"),
        (at(10), at(11), at(11, 30), "ON_TIME", "+", "3"),
        (at(11), at(12), at(13), "LATE", "+", "1"),
    ]
    return picture.Scene(
        rows=pl.DataFrame(
            {"event_time": [at(10, 10), at(10, 20)], "arrival": [at(10, 12), at(15)], "late": [False, True]}
        ),
        watermarks=pl.DataFrame(
            {"since": [at(10), at(11)], "until": [at(11), at(12)], "watermark": [None, at(10, 30)]}
        ),
        panes=pl.DataFrame(
            panes, schema=["window_start", "window_end", "arrival", "timing", "op", "value"], orient="row"
        ),
        lateness=timedelta(hours=2),
        events=(at(10), at(12)),
        arrivals=(at(10), at(16)),
        zone="UTC",
        title="three panes",
        value_name="rows",
    )


@pytest.fixture
def figure(scene: picture.Scene) -> Figure:
    return picture.draw(scene)


def test_sent_panes_are_bars_in_the_colour_of_their_timing(figure: Figure) -> None:
    bars = [c for c in figure.axes[0].collections if type(c).__name__ == "LineCollection"]
    seen = [(to_hex(bar.get_edgecolor()[0]), bar.get_paths()[0].vertices[0][1]) for bar in bars]  # type: ignore[index]
    colours = picture.COLOURS
    expected = [(colours["EARLY"], at(10, 40)), (colours["ON_TIME"], at(11, 30)), (colours["LATE"], at(13))]
    assert seen == [(colour, pytest.approx(date2num(time))) for colour, time in expected]


def test_values_stand_beside_panes(figure: Figure) -> None:
    assert [text.get_text() for text in figure.axes[0].texts] == ["+2", "−2", "+3", "+1"]


def test_late_rows_are_apart(figure: Figure) -> None:
    applied, late = (c for c in figure.axes[0].collections if type(c).__name__ == "PathCollection")
    assert [tuple(p) for p in applied.get_offsets()] == [(date2num(at(10, 10)), date2num(at(10, 12)))]  # type: ignore[union-attr]
    assert [tuple(p) for p in late.get_offsets()] == [(date2num(at(10, 20)), date2num(at(15)))]  # type: ignore[union-attr]


def test_the_watermark_is_a_line_from_its_first_value(figure: Figure) -> None:
    _, watermark, expiry = figure.axes[0].lines
    assert list(watermark.get_xdata()) == [at(10, 30)] * 2  # type: ignore[arg-type]
    assert list(watermark.get_ydata()) == [at(11), at(12)]  # type: ignore[arg-type]
    assert list(expiry.get_xdata()) == [at(8, 30)] * 2  # type: ignore[arg-type]


def test_windows_are_bands(figure: Figure) -> None:
    bands = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in figure.axes[0].patches]  # type: ignore[attr-defined]
    assert bands == [(pytest.approx(date2num(at(h))), pytest.approx(date2num(at(h + 1)))) for h in (10, 11)]


def test_equal_scenes_give_equal_svg(scene: picture.Scene) -> None:
    drawing = picture.svg(picture.draw(scene))
    assert drawing.startswith("<svg")
    assert drawing.rstrip().endswith("</svg>")
    assert drawing == picture.svg(picture.draw(scene))
    assert "three panes" in drawing
