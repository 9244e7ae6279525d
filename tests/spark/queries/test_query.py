"""Tests of the queries that `write` starts, and of what notebooks show of results and queries."""

from xml.etree import ElementTree

import pytest
from pyspark.sql.connect.streaming.query import StreamingQuery as ConnectQuery
from pyspark.sql.streaming.query import StreamingQuery

import panewise as pw
from panewise import functions as F
from panewise.spark import JoinResult, ParquetSink, WindowQuery, WindowResult, joined, windowed
from panewise.spark.queries.query import BatchQuery
from tests.spark.conftest import Feed


def counted(feed: Feed, *, stream: bool) -> WindowResult:
    df = feed.stream().withWatermark("ts", "10 seconds") if stream else feed.batch()
    return windowed(df, "ts").groupBy("k").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))


def public(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


@pytest.mark.parametrize("theirs", [StreamingQuery, ConnectQuery])
def test_a_query_has_all_that_a_streaming_query_has(theirs: type) -> None:
    assert public(theirs) - public(WindowQuery) == set()
    assert public(theirs) - public(BatchQuery) == set()


def test_a_query_of_a_stream(feed: Feed, capfd: pytest.CaptureFixture[str]) -> None:
    feed.put((0, "a", 1), (61, "b", 2))
    result = counted(feed, stream=True)
    sink = ParquetSink(feed.sink("panes"))
    query = result.write(panes=sink, checkpoint=feed.sink("checkpoint"), name="<i>'counts'</i>")
    query.processAllAvailable()
    theirs = query.query
    assert (query.id, query.runId, query.name) == (theirs.id, theirs.runId, "<i>'counts'</i>")
    assert query.status.keys() == theirs.status.keys()
    assert [one["batchId"] for one in query.recentProgress] == list(range(len(query.recentProgress)))
    query.explain()
    assert "TransformWithState" in capfd.readouterr().out
    assert repr(query) == f"<WindowQuery {query.name!r} id={query.id} active>"
    html = query._repr_html_()
    query.stop()
    assert repr(query).endswith(" ended>")
    rows = {row[0].text: row[1].text for row in ElementTree.fromstring(html).iter("tr")}
    assert rows["query"] == "<i>'counts'</i>"
    assert "<i>" not in html
    assert (rows["id"], rows["active"]) == (query.id, "True")
    assert rows["panewise: live"] == "2"
    assert query.exception() is None


def test_a_query_of_a_batch(feed: Feed, capfd: pytest.CaptureFixture[str]) -> None:
    feed.put((0, "a", 1))
    query = counted(feed, stream=False).write(panes=ParquetSink(feed.sink("panes")))
    assert (query.id, query.runId, query.recentProgress, query.isActive) == (None, None, [], False)
    assert query.awaitTermination()
    query.explain()
    assert "Scan parquet" in capfd.readouterr().out
    assert repr(query) == "<WindowQuery id=None ended>"
    assert "<td>written</td>" in query._repr_html_()


def test_results_are_short(feed: Feed) -> None:
    feed.put((0, "a", 1))
    result = counted(feed, stream=True)
    assert repr(result) == ("<WindowResult of a WindowOperator over a stream: panes, late, invalid, counts>")
    both = joined(feed.batch(), feed.batch(), "ts").on("k").within(0, 5).prefix(right="r_").how("inner")
    assert isinstance(both, JoinResult)
    assert repr(both) == (
        "<JoinResult of a JoinOperator over a batch: rows, left_late, left_invalid, left_counts, "
        "right_late, right_invalid, right_counts>"
    )
    for one in (result, both):
        html = one._repr_html_()
        table = {
            row[0].text: row[1].text or "" for row in ElementTree.fromstring(f"<p>{html}</p>").iter("tr")
        }
        assert set(table) == {"output", *repr(one).rstrip(">").split(": ")[1].split(", ")}
    assert "n bigint" in result._repr_html_()
    assert "<svg" in result._repr_html_()
    assert "r_v bigint" in both._repr_html_()
