"""Tests of the sequence of emitted rows, and of their net effect in sinks of the user."""

from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark import WindowBuilder, current, windowed
from panewise.spec.conditions.text import in_backticks
from panewise.standalone import current as current_in_process
from tests.spark.conftest import Feed


def sessions(df: DataFrame) -> WindowBuilder:
    described = windowed(df.withWatermark("ts", "1 hour"), "ts").groupBy("k").window(pw.Session("10 seconds"))
    return described.trigger(pw.Repeatedly(pw.AfterCount(1))).accumulation("retracting")


class Table:
    """A table by key and window, to which a sink applies the net effect of each micro-batch."""

    def __init__(self) -> None:
        self.rows = dict[tuple[Any, ...], int]()
        self.emitted = list[pl.DataFrame]()
        self.changes = list[list[tuple[str, str]]]()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        # The order of the rows does not matter, as they have the sequence.
        changes = current(rows.repartition(3), sequence="seq")
        assert changes.columns[-2:] == ["seq", "operation"]
        assert "op" not in changes.columns
        for row in changes.collect():
            key = (row.k, row.window_start, row.window_end)
            if row.operation == "delete":
                self.rows.pop(key, None)
            else:
                self.rows[key] = row.s
        self.changes.append(sorted((row.k, row.operation) for row in changes.collect()))
        self.emitted.append(pl.DataFrame(rows.toArrow()))
        assert [number >> 32 for number in self.emitted[-1]["seq"]] == [batch_id] * rows.count()


def run(feed: Feed, table: Table, checkpoint: str = "checkpoint") -> None:
    result = sessions(feed.stream()).agg(F.sum("v").alias("s"))
    query = result.write(panes=table, sequence="seq", checkpoint=feed.sink(checkpoint), available_now=True)
    query.awaitTermination()


def test_a_table_of_sessions_that_merge(feed: Feed) -> None:
    """The sequence ascends over restarts, and merged sessions are deleted (semantics 49.1, 49.3, 49.4)."""
    table = Table()
    feed.put((0, "a", 1), (0, "b", 8), (15, "a", 2))
    run(feed, table)
    assert table.changes == [[("a", "upsert"), ("a", "upsert"), ("b", "upsert")]]
    feed.put((7, "a", 4))
    run(feed, table)
    assert table.changes[1:] == [[("a", "delete"), ("a", "delete"), ("a", "upsert")]]
    assert sorted((k, s) for (k, *_), s in table.rows.items()) == [("a", 7), ("b", 8)]
    emitted = pl.concat(table.emitted)
    for rows in emitted.partition_by("k"):
        assert rows["seq"].is_sorted()
        assert rows["seq"].is_unique().all()
    again = current_in_process(emitted.drop("seq"))
    left = again.filter(pl.col("operation") == "upsert").select("k", "s").rows()
    assert sorted(left) == [("a", 7), ("b", 8)]


@pytest.mark.parametrize("name", ["last", "a.b", "a`b"])
def test_any_name_of_a_key(spark: SparkSession, name: str) -> None:
    """See semantics 49.3."""
    ddl = f"{in_backticks(name)} STRING, op STRING, sequence BIGINT"
    rows = spark.createDataFrame([("x", "+", 1), ("y", "+", 2), ("x", "-", 3)], ddl)
    changes = current(rows, key=[name])
    assert changes.columns == [name, "sequence", "operation"]
    assert sorted(map(tuple, changes.collect())) == [("x", 3, "delete"), ("y", 2, "upsert")]


def test_a_sequence_that_cannot_be_written_is_refused(feed: Feed) -> None:
    """semantics 49.1, 49.3"""
    feed.put((0, "a", 1))
    table, hours = Table(), windowed(feed.batch(), "ts").groupBy("k").window(pw.Tumbling("1 hour"))
    result = hours.agg(F.sum("v").alias("s"))
    with pytest.raises(
        SpecError, match=r"^sequence='K' \| the emitted rows have .* \| give another name \[PW-"
    ):
        result.write(panes=table, sequence="K")
    with pytest.raises(SpecError, match=r"^sequence='seq' \| the sequence is a new column of emitted rows"):
        result.write(late=table, sequence="seq")
    with pytest.raises(SpecError, match=r"^current\(\) with the column 'sequence' \| the rows have the col"):
        current(result.panes)
    result.write(panes=table, late=print, sequence="seq")
    assert [(rows["seq"].to_list(), rows.columns[-1]) for rows in table.emitted] == [([0], "seq")]
    assert list(table.rows.values()) == [1]


@pytest.mark.nightly
def test_panes_of_an_earlier_operator_have_a_sequence(feed: Feed) -> None:
    """They pass the second operator in closed envelopes (semantics 42.9, 49.1)."""
    first, second, each = Table(), Table(), pw.Repeatedly(pw.AfterCount(1))
    hours = windowed(feed.stream().withWatermark("ts", "1 hour"), "ts").groupBy("k")
    early = hours.window(pw.Tumbling("1 hour")).trigger(each).options(timestamp="window_time")
    days = windowed(early.agg(F.sum("v").alias("s")), "timestamp").groupBy("k").window(pw.Tumbling("1 day"))
    result = days.trigger(each).agg(F.max("s").alias("s"))
    for seconds in (0, 5, 9):
        feed.put((seconds, "a", 1), (seconds, "b", 2))
        sinks = {"first_panes": first, "panes": second}
        query = result.write(sinks, sequence="seq", checkpoint=feed.sink("checkpoint"), available_now=True)
        query.awaitTermination()
    assert sorted(first.rows.values()) == [3, 6]
    assert sorted(second.rows.values()) == [3, 6]
    for table in (first, second):
        for rows in pl.concat(table.emitted).partition_by("k"):
            assert rows["seq"].is_sorted()
            assert rows["seq"].is_unique().all()
