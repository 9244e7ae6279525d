"""A text of SQL goes on with an exported state, and with another text (semantics 47.9, 48.6)."""

from typing import Any

import pytest

from panewise.checkpoints.export import export_checkpoint
from panewise.spark import ParquetSink, sql
from tests.spark.conftest import Feed, beside

FILES = [
    [(1, "a", 1), (2, "b", 4), (7, "a", 2)],
    [(12, "a", 3), (14, "b", 6), (13, "a", 7), (13, "c", -1)],
    [(18, "a", 1), (23, "b", 2), (24, "c", 2), (26, "b", 1)],
    [(41, "c", 1), (42, "d", 2), (48, "c", 3), (90, "d", 3)],
]


def text(more: str = "") -> str:
    return f"""SELECT window_start, sum(n) * 1 AS n{more} FROM TABLE(TUMBLE(TABLE (
        SELECT window_time AS rt, k, count(*) AS n FROM TUMBLE(t, ts, INTERVAL '5' SECONDS)
        WHERE v > 0 GROUP BY k, window_start, window_end), DESCRIPTOR(rt), INTERVAL '10' SECONDS))
    GROUP BY window_start, window_end HAVING sum(n) > 1"""


def run(feed: Feed, of: str, name: str, file: str | None = None) -> None:
    result = sql(of, t=feed.stream().withWatermark("ts", "1 second"))
    sinks = {"panes": ParquetSink(feed.sink(f"{name}-panes"))}
    options: Any = {"available_now": True, "initial_state": file}
    result.write(sinks, checkpoint=feed.sink(name), **options).awaitTermination()


def rows(feed: Feed, name: str) -> list[tuple[Any, ...]]:
    return feed.read(f"{name}-panes").select("window_start", "n").rows()


@pytest.mark.nightly
@pytest.mark.usefixtures("restored_settings")
def test_two_operators_in_other_shards_and_with_another_aggregate(feed: Feed) -> None:
    """semantics 46.18, 47.3, 47.9, 48.7"""
    rest, whole, names = beside(feed, "rest"), beside(feed, "whole"), "spark.sql.shuffle.partitions"
    for place, file in enumerate(FILES):
        (feed if place < 2 else rest).put(*file)
        whole.put(*file)
        if place == 1:
            run(feed, text(), "first")
            export_checkpoint(feed.sink("first"), feed.sink("file"))
            feed.spark.conf.set(names, "3")
        if place == 2:
            run(rest, text(), "second", feed.sink("file"))
    run(rest, text(", max(n) AS most"), "second")
    run(whole, text(), "one")
    assert sorted(rows(feed, "first") + rows(rest, "second")) == sorted(rows(whole, "one"))
    added = rest.spark.read.option("mergeSchema", True).parquet(rest.sink("second-panes"))
    found = added.where("window_start > '2024-01-01 00:00:15'").orderBy("window_start").collect()
    # the first window has rows from before the change
    assert [(row.n, row.most) for row in found] == [(3, None), (3, 1)]
