"""A query of Spark on the page of `panewise watch`, in Chromium, while it runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import panewise as pw
from panewise import functions as F
from panewise.observe.watch.server import WatchServer
from panewise.spark import observe, windowed
from tests.observe.watch.chromium import Page, chromium
from tests.observe.watch.test_page import ALL_PANES, OVERLAPS, shot
from tests.spark.conftest import Feed


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with chromium(tmp_path / "profile") as opened:
        yield opened


@pytest.mark.nightly
@pytest.mark.spark
def test_a_query_of_spark_as_it_runs(feed: Feed, page: Page) -> None:
    """Windows appear while the query runs. Its end and a reload change nothing (semantics 15.20)."""
    server = WatchServer(feed.folder / "journal")
    server.start()
    try:
        with observe(feed.spark, log=False, journal=feed.folder / "journal", hot_keys=3):
            stream = feed.stream().withWatermark("ts", "10 seconds")
            builder = windowed(stream, "ts").groupBy("k").window(pw.Tumbling("1 minute")).trigger(ALL_PANES)
            result = builder.agg(F.sum("v").alias("s"))
            page.open(server.url)
            page.wait_for("the journal has no queries yet")
            feed.put((0, "a", 1), (5, "b", 2))
            query = result.write(panes=feed.sink("panes"), checkpoint=feed.sink("checkpoint"), name="live")
            try:
                page.wait_for("#0")
                page.wait_for("running")
                feed.put((90, "a", 3), (1, "a", 4))
                page.wait_for("#1")
                page.wait_for("on-time pane: 2")
                feed.put((2, "b", 1), (95, "a", 1))
                page.wait_for("late rows: expired 1")
            finally:
                query.stop()
        page.wait_for("ended")
        assert page.value(OVERLAPS) == []
        shot(page, "query")
        shown = page.value("document.querySelector('svg.pw').textContent")
        page.open("about:blank")
        page.open(server.url)
        page.wait_for("ended")
        assert page.value("document.querySelector('svg.pw').textContent") == shown
        assert page.problems == []
    finally:
        server.close()
