"""Tests of pictures of recorded panes, of frames of any library."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from panewise.errors import InputError, SpecError
from panewise.observe import picture

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def pane(start: float, arrived: float, timing: str = "ON_TIME", op: str = "+") -> dict[str, Any]:
    bounds = {"window_start": at(start), "window_end": at(start + 60)}
    return {**bounds, "timing": timing, "op": op, "processing_time": at(arrived)}


PANES = [pane(0, 70, "EARLY"), pane(0, 90), pane(0, 90, op="-"), pane(60, 150), pane(0, 150, "LATE")]
LATE = [{"row": {"ts": at(5)}, "reason": "expired", "processing_time": at(150)}]
COUNTS = [
    {"watermark": at(mark), "processing_time": at(arrived)}
    for mark, arrived in ((50, 70), (40, 70), (60, 90), (130, 150))
]
FRAMES = {"list": list, "polars": pl.DataFrame, "arrow": pa.Table.from_pylist, "pandas": pd.DataFrame}


def parsed(svg: str) -> tuple[list[str], list[str], list[str]]:
    """Returns classes, texts and titles."""
    root = ET.fromstring(svg)
    names = [node.get("class", "") for node in root.iter()]
    return names, *([node.text or "" for node in root.iter(f"{SVG}{tag}")] for tag in ("text", "title"))


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_any_library(library: str) -> None:
    """The same panes give the same picture (semantics 15.22)."""
    of: Any = FRAMES[library]
    made = picture(of(PANES), late=of(LATE), counts=of(COUNTS), event_time="ts", title="minutes")
    names, texts, titles = parsed(made.svg)
    # Each mark once more in the legend.
    assert {mark: names.count(mark) - 1 for mark in ("early", "on_time", "late", "retracted", "cross")} == {
        "early": 1,
        "on_time": 2,
        "late": 1,
        "retracted": 1,
        "cross": 1,
    }
    assert {"minutes", "01-01 12:01:10", "01-01 12:02:30", "−1", "processing time"} <= set(texts)
    assert "late rows: expired 1" in titles
    assert names.count("halo") == 1
    assert made._repr_svg_() == made._repr_html_() == made.svg
    if library != "list":
        assert made == picture(PANES, late=LATE, counts=COUNTS, event_time="ts", title="minutes")


def test_an_output_of_an_operator() -> None:
    """Integers are microseconds, as operators in this process emit them (semantics 15.22)."""
    from panewise import Tumbling, WindowOperator
    from panewise import functions as F
    from panewise.engine.windows.operator import WindowEngine

    spec = WindowOperator(
        keys=["k"], event_time="ts", window=Tumbling("1 minute"), aggregates=[F.count().alias("n")]
    )
    rows = {"ts": [at(0), at(10), at(70)], "k": ["a", "b", "a"]}
    frame = pl.DataFrame(rows, schema={"ts": pl.Datetime("us", "UTC"), "k": pl.String})
    operator = WindowEngine(spec, dict(frame.schema))
    operator.add(frame)
    operator.advance(processing_time=int(at(90).timestamp()) * 1_000_000)
    output = operator.advance(watermark=int(at(60).timestamp()) * 1_000_000)
    _, texts, titles = parsed(picture(output.panes).svg)
    assert titles == ["event time 2024-01-01 12:00:00 to 2024-01-01 12:01:00\non-time pane: 2"]
    assert "01-01 12:01:30" in texts


def test_rows_without_windows() -> None:
    """They are counted by stretches of event time (semantics 15.22)."""
    rows = [{"ts": at(n), "processing_time": at(60), "op": "-" if n == 3 else "+"} for n in range(4)]
    names, _, titles = parsed(picture(rows, event_time="ts").svg)
    assert (names.count("rows"), names.count("retracted")) == (1 + 3, 1 + 1)
    assert titles[0] == "event time 2024-01-01 12:00:00 to 2024-01-01 12:00:00.1\nemitted rows: 1"


def test_windows_of_rows() -> None:
    """Their bounds are numbers, not instants (semantics 15.22)."""
    panes = [{"window_start": 0, "window_end": 100, "timing": "ON_TIME", "processing_time": at(60)}]
    _, texts, titles = parsed(picture(panes).svg)
    assert titles == ["event time 0 to 100\non-time pane: 1"]
    assert "row number" in texts


def test_numbers_of_micro_batches() -> None:
    """An arrival may be the number of a micro-batch, for windows of time and of rows (semantics 15.22)."""
    panes = [{**pane(0, 70, "EARLY"), "batch_id": 2}, {**pane(0, 90), "batch_id": 1_200}]
    _, texts, titles = parsed(picture(panes, arrival="batch_id").svg)
    assert {"2", "1,200", "batch id"} <= set(texts)
    assert titles[0] == "event time 2024-01-01 12:00:00 to 2024-01-01 12:01:00\nearly pane: 1"
    of_rows = [{"window_start": 0, "window_end": 100, "timing": "ON_TIME", "batch_id": 3}]
    _, texts, titles = parsed(picture(of_rows, arrival="batch_id").svg)
    assert titles == ["event time 0 to 100\non-time pane: 1"]
    assert "row number" in texts


def test_without_arrivals_there_is_one_row() -> None:
    """Late rows have none, unless they are given one (semantics 15.22)."""
    bare = [{name: value for name, value in pane.items() if name != "processing_time"} for pane in PANES]
    _, texts, _ = parsed(picture(bare, late=[{"ts": at(5)}], event_time="ts").svg)
    assert texts.count("not recorded") == 1
    _, texts, titles = parsed(picture(PANES, late=[{"ts": at(5)}], event_time="ts").svg)
    assert texts.count("not recorded") == 1
    assert "late rows: late 1" in titles


def test_many_arrivals_are_put_together() -> None:
    """There are at most 60 rows (semantics 15.22)."""
    _, texts, _ = parsed(picture([pane(60 * n, 60 * n + 61.5) for n in range(500)]).svg)
    rows = [text for text in texts if text.startswith("01-01 ")]
    assert 50 <= len(rows) <= 60


def test_the_zone_is_that_of_the_labels() -> None:
    """The axis and the rows have it (semantics 15.22)."""
    _, texts, titles = parsed(picture(PANES, zone="Asia/Kolkata").svg)
    assert {"01-01 17:31:10", "event time, 2024-01-01 (Asia/Kolkata)"} <= set(texts)
    assert titles[0].startswith("event time 2024-01-01 17:30:00 ")


def test_no_panes() -> None:
    assert ET.fromstring(picture([]).svg).tag == f"{SVG}svg"


def test_files(tmp_path: Path) -> None:
    made = picture(PANES)
    assert repr(made) == "Picture()"
    made.save(tmp_path / "panes.svg")
    made.save(str(tmp_path / "panes.html"))
    assert (tmp_path / "panes.svg").read_text() == made.svg
    page = (tmp_path / "panes.html").read_text()
    assert page.startswith("<!doctype html>")
    assert made.svg in page
    with pytest.raises(
        SpecError, match=r"save\(.*panes.png'\) \| a picture is SVG.* \| end the name in .svg"
    ):
        made.save(tmp_path / "panes.png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"panes": 5}, r"panes: int \| panes is a frame \| give a Polars, Arrow or pandas frame"),
        ({"panes": None}, r"panes: NoneType \| panes is a frame \| give"),
        ({"panes": [5]}, r"panes: a list of int \| panes is a frame \| give"),
        ({"panes": PANES, "late": "x"}, r"late: str \| late is a frame \| give"),
        (
            {"panes": [{"v": 1}]},
            r"panes with the columns \['v'\] \| .*event_time='timestamp' \| name the column",
        ),
        (
            {"panes": [], "late": [{"row": {"v": 1}}]},
            r"columns \['v'\] \| late rows have the column event_time",
        ),
        ({"panes": [{"timestamp": "x"}]}, r"timestamp='x' \| the column timestamp has .* \| cast the column"),
        (
            {"panes": [{"timestamp": True}]},
            r"timestamp=True \| the column timestamp has .* \| cast the column",
        ),
    ],
)
def test_what_is_no_frame(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        picture(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"zone": "Mars"}, r"zone='Mars' \| a time zone has a IANA name \| give 'Europe/Berlin'"),
        ({"width": 100}, r"width=100 \| a picture is 480 pixels wide or more \| give 960"),
    ],
)
def test_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        picture(PANES, **arguments)


def test_the_package_has_no_other_names() -> None:
    import panewise.observe

    with pytest.raises(AttributeError, match=r"module 'panewise.observe' has no attribute 'pictures_of'"):
        _ = panewise.observe.pictures_of
