"""A text of SQL that has changed goes on with its checkpoint, or is refused (semantics 47.22 to 47.25)."""

from collections.abc import Mapping
from typing import Any

import pytest

from panewise.checkpoints.export import export_checkpoint
from panewise.errors import StateError
from panewise.spark import ParquetSink, sql
from panewise.spark.queries.query_record import records_of
from tests.spark.conftest import Feed

WINDOWS = "FROM TUMBLE(t, ts, INTERVAL '10' SECONDS) GROUP BY k, window_start, window_end"
SUMS = f"SELECT k, sum(v) AS s {WINDOWS}"
UPDATES = "EMIT EARLY EVERY UPDATE RETRACTING"
FIRST = "SELECT k, v FROM t QUALIFY {}() OVER (PARTITION BY k ORDER BY v DESC) <= {}"
OF_WINDOWS = """SELECT k, v FROM TUMBLE(t, ts, INTERVAL '10' SECONDS) QUALIFY
    ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v {}) <= {}"""
JOIN = """SELECT a.k, a.v AS x{} FROM t a LEFT JOIN t b ON a.k = b.k AND b.ts BETWEEN a.ts
    AND a.ts + INTERVAL '5' SECONDS AND b.v > 100 {}"""


def run(feed: Feed, text: str, name: str = "checkpoint", **options: Any) -> None:
    result = sql(text, t=feed.stream().withWatermark("ts", "1 second"))
    sinks: Mapping[str, Any] = {type(result).OUTPUT: ParquetSink(feed.sink(f"{name}-rows"))}
    query = result.write(sinks, checkpoint=feed.sink(name), available_now=True, **options)
    query.awaitTermination()


def rows(feed: Feed, *columns: str) -> list[tuple[Any, ...]]:
    read = feed.spark.read.option("mergeSchema", True).parquet(feed.sink("checkpoint-rows"))
    return sorted(map(tuple, read.select(*columns).collect()))


def test_having_over_an_added_aggregate(feed: Feed) -> None:
    """semantics 47.23: it is refused before anything is recorded; with a word about null it works."""
    feed.put((1, "a", 3))
    run(feed, SUMS)
    feed.put((21, "a", 4), (41, "a", 5))
    recorded = records_of(feed.spark, feed.sink("checkpoint"))
    for other, dropped in (("", "1"), ("(count(*) IS NULL OR count(*) > 1) AND ", "2")):
        message = rf"^the condition `count\(\*\)` >= {dropped} .* the added 'count\(\*\)'"
        with pytest.raises(StateError, match=message):  # each part of a condition speaks for itself
            run(feed, f"{SUMS} HAVING {other}count(*) >= {dropped}")
    assert records_of(feed.spark, feed.sink("checkpoint")) == recorded
    run(feed, f"{SUMS} HAVING count(*) IS NULL OR count(*) >= 1")
    assert rows(feed, "k", "s") == [("a", 3), ("a", 4)]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (OF_WINDOWS.format("DESC", 1), OF_WINDOWS.format("DESC", 2), "a changed Top-N"),
        (OF_WINDOWS.format("DESC", 2), OF_WINDOWS.format("ASC", 2), "a changed Top-N"),
        (FIRST.format("ROW_NUMBER", 1), FIRST.format("ROW_NUMBER", 2), "a changed Top-N"),
        (FIRST.format("RANK", 2), FIRST.format("RANK", 3), r"retracted \(rank <= 2 -> rank <= 3\)"),
        (FIRST.format("RANK", 2), FIRST.format("DENSE_RANK", 2), "over rows that are retracted"),
        (
            f"{SUMS} HAVING s >= 1 {UPDATES}",
            f"{SUMS} HAVING s >= 9 {UPDATES}",
            r"\(\(`s`\) >= 1 -> \(`s`\) >= 9\)",
        ),
        (f"{SUMS} {UPDATES}", f"SELECT * FROM ({SUMS} {UPDATES}) WHERE s > 1", r"\(none -> `s` > 1\)"),
        (JOIN.format("", ""), JOIN.format("", "WHERE a.ts > '2020-01-01'"), "with the added "),
    ],
)
def test_changes_that_would_lose_rows(feed: Feed, old: str, new: str, message: str) -> None:
    """semantics 47.23, 47.24"""
    feed.put((1, "a", 3))
    run(feed, old)
    with pytest.raises(StateError, match=message):
        run(feed, new)
    run(feed, old)  # nothing of the change is recorded


@pytest.mark.nightly
def test_changes_that_lose_nothing(feed: Feed, caplog: pytest.LogCaptureFixture) -> None:
    """semantics 47.22, 47.25: another condition of panes that stay, other names, another SELECT list."""
    feed.put((1, "a", 3), (2, "b", 9))
    run(feed, f"{SUMS} HAVING s >= 1")
    feed.put((11, "a", 5), (12, "b", 7))
    run(feed, f"SELECT k, sum(v) AS total {WINDOWS} HAVING total > 6")
    feed.put((41, "c", 1))
    run(feed, f"SELECT upper(k) AS k, sum(v) AS s {WINDOWS} HAVING sum(v) > 6")
    assert rows(feed, "k", "s", "total") == [("B", 7, None), ("b", None, 9)]
    lines = [record.getMessage() for record in caplog.records if record.name == "panewise.evolution"]
    assert [line.partition(" with ")[2] for line in lines] == [
        "a changed specification (aggregate 's' renamed to 'total')",
        "changed conditions ((`s`) >= 1 -> (`total`) > 6)",
        "a changed specification (aggregate 'total' renamed to 's')",
    ]


@pytest.mark.nightly
def test_another_select_list_over_retractions(feed: Feed) -> None:
    """semantics 47.25: a retraction has the columns of now."""
    feed.put((1, "a", 3))
    run(feed, f"SELECT k, sum(v) AS s {WINDOWS} {UPDATES}")
    feed.put((2, "a", 4))
    run(feed, f"SELECT k, sum(v) AS s, sum(v) * 2 AS twice {WINDOWS} {UPDATES}")
    assert sorted(rows(feed, "op", "k", "s"), key=str) == [("+", "a", 3), ("+", "a", 7), ("-", "a", 3)]


@pytest.mark.nightly
def test_a_condition_over_an_imported_state(feed: Feed) -> None:
    """semantics 47.22, 48.9: the file has the conditions, too."""
    feed.put((1, "a", 3))
    run(feed, f"{SUMS} HAVING s >= 1 {UPDATES}")
    file = feed.sink("state")
    export_checkpoint(feed.sink("checkpoint"), file)
    with pytest.raises(StateError, match=r"retracted \(\(`s`\) >= 1 -> "):
        run(feed, f"{SUMS} HAVING s >= 9 {UPDATES}", "other", initial_state=file)
    run(feed, f"{SUMS} HAVING sum(v) >= 1 {UPDATES}", "other", initial_state=file)
