"""Tests of what notebooks show of specifications."""

from xml.etree import ElementTree

import pytest

import panewise as pw
from panewise import functions as F
from panewise.spec.describe import describe
from panewise.spec.display import timeline
from panewise.streamwindow import count

COUNT = F.count().alias("n")
WINDOWS = {
    "tumbling": (pw.Tumbling("1 hour"), 4),
    "tumbling rows": (pw.Tumbling(pw.rows(5)), 4),
    "hopping": (pw.Hopping("10 minutes", "5 minutes"), 6),
    "gaps": (pw.Hopping("5 minutes", "10 minutes", gaps=True), 4),
    "cumulating": (pw.Cumulating("1 day", "8 hours"), 6),
    "calendar": (pw.Calendar("month", zone="Europe/Berlin"), 4),
    "session": (pw.Session("30 minutes"), 3),
    "session by column": (pw.Session("gap<i>"[:3]), 3),
    "sliding": (pw.Sliding("5 minutes"), 4),
    "global": (pw.Global(), 1),
}


def inside(svg: str, name: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(svg).findall(f".//{{http://www.w3.org/2000/svg}}{name}")


@pytest.mark.parametrize("name", sorted(WINDOWS))
def test_the_timeline_of_windows(name: str) -> None:
    window, bars = WINDOWS[name]
    svg = timeline(window)
    drawn = inside(svg, "rect")
    assert len(drawn) == bars
    width = float(ElementTree.fromstring(svg).attrib["width"])
    for bar in drawn:
        assert 0 <= float(bar.attrib["x"]) <= float(bar.attrib["x"]) + float(bar.attrib["width"]) <= width
    lanes = [(bar.attrib["y"], float(bar.attrib["x"]), float(bar.attrib["width"])) for bar in drawn]
    for y, x, w in lanes:
        assert all(other[0] != y or other[1] <= x or other[1] >= x + w - 1 for other in lanes)


def test_windows_without_a_picture() -> None:
    own = pw.Custom.each(lambda row: [(0, 1)], name="own")
    assert timeline(own) == timeline(None) == ""


SPECS = {
    "windows": pw.WindowOperator(window=pw.Tumbling(5), aggregates=[COUNT]),
    "chain": pw.WindowOperator(window=pw.Tumbling(5), aggregates=[COUNT]).then(aggregates=[F.sum("n")]),
    "policy": pw.StreamWindow.tumbling(count(3)),
    "over": pw.spec.over_operator({"total": F.sum("v").over(pw.Window.orderBy("event_time"))}, "event_time"),
}


@pytest.mark.parametrize("name", sorted(SPECS))
def test_specifications_in_a_notebook(name: str) -> None:
    spec = SPECS[name]
    html = spec._repr_html_()
    shown = ElementTree.fromstring(html)
    assert (shown.find("pre").text or "") == describe(spec)  # type: ignore[union-attr]
    assert ("<svg" in html) == (name == "windows")


def test_names_are_escaped() -> None:
    spec = pw.WindowOperator(
        window=pw.Tumbling(5), keys=["<script>alert(1)</script>&"], aggregates=[F.count().alias('"<b>')]
    )
    html = spec._repr_html_()
    assert "<script" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in html
