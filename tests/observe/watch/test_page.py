"""Tests of the page in Chromium: it updates itself, survives what a user does, and can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.observe.entries import Ended, Started
from panewise.observe.journal import Journal
from panewise.observe.watch.server import WatchServer
from tests.house.sources import ROOT
from tests.observe.played import Played, micros
from tests.observe.watch.chromium import Page, chromium

pytestmark = pytest.mark.nightly

SUM: Any = {"keys": ["k"], "event_time": "ts", "aggregates": [F.sum("v").alias("s")]}
ALL_PANES = pw.AfterWatermark(early=pw.Always(), late=pw.Always())
# Texts of pictures whose boxes overlap, and texts of the page that do not fit into their line.
OVERLAPS = """[...document.querySelectorAll('svg.pw')].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll('text')].map((node) => [node.textContent, node.getBBox()]);
  return boxes.flatMap(([text, a], place) => boxes.slice(place + 1)
    .filter(([, b]) => a.x < b.x + b.width - 1 && b.x < a.x + a.width - 1
      && a.y < b.y + b.height - 4 && b.y < a.y + a.height - 4)
    .map(([other]) => `${text} / ${other}`));
})"""
WIDER = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
PICTURES = ROOT / "out" / "watch"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with chromium(tmp_path / "profile") as opened:
        yield opened


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchServer]:
    running = WatchServer(tmp_path / "journal")
    running.start()
    yield running
    running.close()


def shot(page: Page, name: str) -> None:
    """Keeps a picture of the page, which people look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    assert page.screenshot(PICTURES / f"{name}.png").startswith(b"\x89PNG")


def batches(count: int) -> list[tuple[list[tuple[float, str, int]], float]]:
    """Returns rows that are sometimes late, and the watermark after them."""
    rows = [
        [(20 * n - (7 * m) % 19 - (60 if n % 3 == 1 and m < 4 else 0), "aaabbc"[m % 6], 1) for m in range(30)]
        for n in range(count)
    ]
    return [(of, 20 * n - 20) for n, of in enumerate(rows)]


SPECS: dict[str, Any] = {
    "tumbling": pw.WindowOperator(
        window=pw.Tumbling("1 minute"), trigger=ALL_PANES, allowed_lateness="20 seconds", **SUM
    ),
    "hopping": pw.WindowOperator(
        window=pw.Hopping("2 minutes", "30 seconds"), trigger=ALL_PANES, accumulation="retracting", **SUM
    ),
    "sessions": pw.WindowOperator(window=pw.Session("20 seconds"), **SUM),
    "over": pw.OverOperator(
        keys=["k"], event_time="ts", columns=[pw.OverColumn(F.sum("v").alias("t"), pw.Frame("rows", -2, 0))]
    ),
    "rows": pw.WindowOperator(keys=["k"], window=pw.Tumbling(pw.rows(50)), aggregates=[F.count().alias("n")]),
}


def test_pictures_can_be_read(page: Page, server: WatchServer, tmp_path: Path) -> None:
    """No text is on another one, in light and dark, and the page is not too wide (semantics 15.21)."""
    journal = Journal(tmp_path / "journal")
    for name, spec in SPECS.items():
        journal.add(Started(name, name, micros(0)))
        operator = Played(spec, keys=5)
        for rows, mark in batches(26):
            journal.add(operator.micro_batch(rows, mark, name))
    journal.add(Started("<script>alert(1)</script>" * 3, "x", micros(0)))
    journal.add(Ended("sessions", "sessions", micros(1), "an error that is long " * 30))
    journal.close()
    for theme in ("light", "dark"):
        page.theme(theme)
        page.open(server.url)
        page.wait_until(f"document.querySelectorAll('svg.pw').length === {len(SPECS)}")
        assert page.value(OVERLAPS) == []
        assert not page.value(WIDER)
        shot(page, theme)
    assert page.problems == []


def test_a_server_that_ends_and_comes_back(page: Page, tmp_path: Path) -> None:
    """The page says so, and continues by itself (semantics 15.20)."""
    first = WatchServer(tmp_path / "journal")
    first.start()
    page.open(first.url)
    page.wait_for("there is no journal at this path yet")
    first.close()
    page.wait_for("no connection to panewise watch, trying again")
    journal = Journal(tmp_path / "journal")
    journal.add(Started("orders", "1", micros(0)))
    journal.close()
    second = WatchServer(tmp_path / "journal", port=first.port)
    second.start()
    try:
        page.wait_for("orders")
        page.wait_until("document.getElementById('connection').textContent === 'live'")
    finally:
        second.close()
