"""What the record of a checkpoint refuses, and the remedies that it names."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError
from panewise.spark import windowed
from panewise.spark.queries import query_record
from panewise.spark.queries.query_record import check_place, check_reads
from tests.spark.conftest import Feed


@pytest.mark.parametrize(
    ("ours", "remedy"), [(1, "initial_state="), (2, r"or start from a new checkpoint \[PW-")]
)
def test_an_export_is_a_remedy_for_as_many_operators(spark: SparkSession, ours: int, remedy: str) -> None:
    """semantics 48.7, 48.13: the state of other operators is not imported."""
    stream = spark.readStream.format("rate").load().withWatermark("timestamp", "1 second")
    dataflow = windowed(stream, "timestamp").window(pw.Tumbling("1 minute")).agg(F.count()).dataflow
    reads = {"sources": 2, "stateful": [], "ours": ours}
    refusals: list[Callable[[], object]] = [lambda: check_reads({"reads": reads}, dataflow)]
    if ours == 1:
        refusals.append(lambda: check_place(spark, {"checkpoint": "/no/such/place"}, "/another"))
    for refused in refusals:
        with pytest.raises(StateError, match=remedy):
            refused()


def test_an_export_is_no_remedy_behind_an_operator_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 48.17"""
    any_dataflow: Any = None
    monkeypatch.setattr(
        query_record, "reads_of", lambda dataflow: {"sources": 1, "stateful": ["Join"], "ours": 1}
    )
    with pytest.raises(StateError, match=r"put them back, or start from a new checkpoint \["):
        check_reads({"reads": {"sources": 1, "stateful": [], "ours": 1}}, any_dataflow)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ({"sources": 2}, "a query with 1 sources | a checkpoint fixes the sources: this one has 2 "),
        (
            {"stateful": []},
            "a query with ['dedup'] stateful operators of Spark | a checkpoint fixes the stateful",
        ),
        ({"stateful": []}, ": this one has none "),
        ({"ours": 3}, "a query with no operators of panewise | "),
    ],
)
def test_a_query_with_other_sources_or_operators_is_refused(
    monkeypatch: pytest.MonkeyPatch, before: dict[str, Any], message: str
) -> None:
    """semantics 48.13"""
    now: dict[str, Any] = {"sources": 1, "stateful": ["dedup"], "ours": 0}
    monkeypatch.setattr(query_record, "reads_of", lambda dataflow: now)
    any_dataflow: Any = None
    check_reads({"reads": now}, any_dataflow)
    with pytest.raises(StateError, match=re.escape(message)):
        check_reads({"reads": {**now, **before}}, any_dataflow)


def test_the_checkpoint_of_another_query(feed: Feed) -> None:
    """semantics 47.27"""
    feed.put((1, "a", 1))
    stream, place = feed.stream().withWatermark("ts", "1 second"), feed.sink("checkpoint")
    result = windowed(stream, "ts").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    writer = stream.writeStream.format("noop").option("checkpointLocation", place)
    writer.trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(StateError, match="has started made this one"):
        result.write(panes=feed.sink("panes"), checkpoint=place, available_now=True)
    assert not (feed.folder / "panes").exists()


def test_a_damaged_checkpoint_is_named(feed: Feed) -> None:
    """semantics 47.28"""
    feed.put((1, "a", 1))
    stream, place = feed.stream().withWatermark("ts", "1 second"), Path(feed.sink("checkpoint"))
    result = windowed(stream, "ts").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))

    def start() -> None:
        result.write(panes=feed.sink("panes"), checkpoint=place, available_now=True).awaitTermination()

    start()
    (record,) = (place / "panewise" / "operator").glob("part-*")
    text = record.read_bytes()
    record.write_bytes(text[:9])  # Spark sees it by the checksum beside the file
    with pytest.raises(StateError, match=f"the checkpoint {place} .* a record .* which cannot be read"):
        start()
    record.write_bytes(text)
    (place / "metadata").write_text("")
    (place / ".metadata.crc").unlink()
    with pytest.raises(StateError, match=f"the checkpoint {place} .* when it starts a query: .* No content"):
        start()
