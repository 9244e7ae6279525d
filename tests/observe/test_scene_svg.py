"""Tests of the drawing: it is well-formed, and its texts and marks say what the scene has."""

from datetime import UTC, datetime
from xml.etree import ElementTree as ET
from zoneinfo import ZoneInfo

import pytest

from panewise.observe.scene import ArrivalRow, Cell, PaneScene
from panewise.observe.scene_svg import rows_that_fit, scene_svg
from panewise.observe.time_axis import TimeAxis, instant_text

SECOND = 1_000_000
NOON = int(datetime(2024, 1, 1, 12, tzinfo=UTC).timestamp()) * SECOND
WINDOW = (NOON, NOON + 60 * SECOND)
SVG = "{http://www.w3.org/2000/svg}"


def drawn(scene: PaneScene) -> ET.Element:
    return ET.fromstring(scene_svg(scene))


def classes(root: ET.Element, tag: str) -> list[str]:
    return [node.get("class", "") for node in root.iter(f"{SVG}{tag}")]


def texts(root: ET.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}text")]


def titles(root: ET.Element) -> list[str]:
    return [node.text or "" for node in root.iter(f"{SVG}title")]


def one_row(marks: dict[str, int], **fields: object) -> PaneScene:
    return PaneScene([ArrivalRow("#7", {WINDOW: Cell(marks, 3, is_open=True)}, NOON, 9, **fields)])  # type: ignore[arg-type]


def test_marks_have_the_colour_of_their_timing_and_their_number() -> None:
    """Early, on-time and late panes, and retractions (semantics 15.21, 15.22)."""
    root = drawn(one_row({"early": 2, "on_time": 3, "late": 4, "retracted": 5, "rows": 0}))
    rectangles = classes(root, "rect")
    assert [rectangles.count(mark) for mark in ("early", "on_time", "late", "retracted")] == [
        2
    ] * 4  # with the legend
    assert "rows" not in rectangles
    assert {"2", "3", "4", "−5", "9", "#7"} <= set(texts(root))
    (title,) = titles(root)
    assert title.splitlines() == [
        "window 2024-01-01 12:00:00 to 2024-01-01 12:01:00",
        "early pane: 2",
        "on-time pane: 3",
        "late pane: 4",
        "retraction: 5",
        "keys that changed it: 3",
    ]


def test_late_rows_are_crosses_with_their_reasons() -> None:
    """At the watermark, or at their event times (semantics 15.21, 15.22)."""
    root = drawn(one_row({}, late={"expired": 2, "behind": 1}))
    assert titles(root)[-1] == "late rows: behind 1, expired 2"
    assert classes(root, "path").count("cross") == 2  # with the legend
    several = drawn(one_row({}, late={"expired": 2}, late_times=[NOON, NOON + 30 * SECOND]))
    assert classes(several, "path").count("cross") == 3
    assert "late rows" in texts(several)


def test_the_watermark_is_a_line() -> None:
    rows = [ArrivalRow(f"#{n}", {}, None if n == 2 else NOON + n * SECOND) for n in range(5)]
    root = drawn(PaneScene(rows))
    (line,) = [
        node
        for node in root.iter(f"{SVG}path")
        if node.get("class") == "watermark" and "V" in node.get("d", "")
    ]
    assert line.get("d", "").count("M") == 2  # it breaks where there is none
    assert "watermark" in texts(root)


def test_nothing_becomes_markup() -> None:
    """Labels, titles and reasons are texts (semantics 15.20)."""
    evil = "<script>alert(1)</script>&\"'"
    scene = PaneScene(
        [ArrivalRow(evil, {WINDOW: Cell({"early": 1})}, NOON, late={evil: 1})], title=evil, arrival_name=evil
    )
    root = drawn(scene)
    assert not list(root.iter(f"{SVG}script"))
    assert texts(root).count(evil) == 3
    assert root.get("aria-label") == evil


def test_numbers_are_not_under_other_marks() -> None:
    """A number moves aside for the watermark, and is left out if there is no room."""
    bounds = (NOON, NOON + 600 * SECOND)
    free = drawn(PaneScene([ArrivalRow("#0", {bounds: Cell({"early": 8})})]))
    crossed = drawn(PaneScene([ArrivalRow("#0", {bounds: Cell({"early": 8})}, NOON + 300 * SECOND)]))
    places = [
        [node.get("x") for node in root.iter(f"{SVG}text") if node.text == "8"] for root in (free, crossed)
    ]
    assert len(places[0]) == len(places[1]) == 1
    assert places[0] != places[1]
    narrow = PaneScene([ArrivalRow("#0", {(NOON, NOON + 1): Cell({"early": 8}), bounds: Cell()})])
    assert "8" not in texts(drawn(narrow))


def test_an_empty_scene() -> None:
    assert "micro-batch" in texts(drawn(PaneScene([])))


@pytest.mark.parametrize("first", [-(2**62), 0, NOON, 2**62])
@pytest.mark.parametrize("length", [1, 10, 10**3, 10**6, 10**9, 10**13, 2**62])
@pytest.mark.parametrize("by_row_number", [False, True])
def test_there_are_some_ticks_on_any_axis(first: int, length: int, by_row_number: bool) -> None:
    axis = TimeAxis(first, first + length, 100, 1000, by_row_number)
    ticks = list(axis.ticks())
    assert 1 <= len(ticks) <= 201
    assert all(100 <= x <= 1000 for x, _ in ticks)
    assert axis.long(first)
    assert axis.title


def test_ticks_of_days_are_at_midnight_of_the_zone() -> None:
    """The axis has the time zone of the picture (semantics 15.22)."""
    axis = TimeAxis(NOON, NOON + 9 * 86_400 * SECOND, 0, 900, zone=ZoneInfo("Asia/Kolkata"))
    times = [NOON + x / 900 * 9 * 86_400 * SECOND for x, _ in axis.ticks()]
    assert {instant_text(round(time / SECOND) * SECOND, axis.zone)[11:16] for time in times} == {"00:00"}
    assert axis.title == "event time, 2024-01-01 to 2024-01-10 (Asia/Kolkata)"


def test_rows_that_fit() -> None:
    assert rows_that_fit(one_row({}), 440) == 20
    assert rows_that_fit(one_row({}), 10) == 4
