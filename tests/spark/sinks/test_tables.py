"""Outputs of one query in several tables, which have the answer of the batch (semantics 49.40 to 49.45)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise import SpecError
from panewise import functions as F
from panewise.spark import ConsoleSink, DeltaSink, MemorySink, ParquetSink, PostgresSink, windowed
from panewise.spark.sinks.arguments import check_sinks, resolved_sink
from panewise.spark.sinks.local_session import check_in_driver
from tests.connectors.database import Database, running
from tests.spark.conftest import Feed


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with running() as database:
        yield database


def sessions(feed: Feed, df: Any) -> Any:
    """Returns sessions that merge, with early panes."""
    rows = windowed(df.withWatermark("ts", "5 seconds") if df.isStreaming else df, "ts").groupBy("k")
    rows = rows.window(pw.Session("10 seconds")).trigger(
        pw.AfterWatermark(early=pw.Always(), late=pw.Always())
    )
    return rows.accumulation("retracting").allowed_lateness("5 seconds").agg(F.sum("v").alias("s"))


def test_outputs_of_a_query(feed: Feed, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """A restarted query goes on with its table (semantics 49.40, 49.41, 49.45)."""
    late, answer = MemorySink(), MemorySink()
    runs = ([[(0, "a", 1), (15, "a", 2)], [(7, "a", 4), (60, None, 8)]], [[(61, None, 32)], [(1, "a", 16)]])
    for files in runs:
        for rows in files:
            feed.put(*rows)
        query = sessions(feed, feed.stream()).write(
            panes=PostgresSink(database.dsn, "sessions", mode="upsert"),
            late=late,
            counts=ConsoleSink(),
            checkpoint=feed.sink("checkpoint"),
            available_now=True,
        )
        query.awaitTermination()
    kept = feed.batch().where("v != 16")
    sessions(feed, kept).write(panes=answer)
    table = answer.table()
    assert table is not None
    expected = {(row["k"], row["window_start"], row["window_end"], row["s"]) for row in table.to_pylist()}
    stored = database.rows("SELECT k, window_start, window_end, s FROM sessions")
    assert len(stored) == len(expected) == 2
    assert set(stored) == expected
    rejected = late.table()
    assert rejected is not None
    assert [row["v"] for row in rejected["row"].to_pylist()] == [16]
    assert "counts, micro-batch 0:\n" in capsys.readouterr().out
    late.clear()
    assert late.table() is None


def test_tables_that_are_missing_at_a_restart(
    feed: Feed, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """They are made again, with a warning (semantics 49.53)."""

    def run(counts: str) -> None:
        feed.put((0, "a", 1))
        query = sessions(feed, feed.stream()).write(
            panes=PostgresSink(database.dsn, "dropped"),
            counts=ParquetSink(feed.sink(counts)),
            checkpoint=feed.sink("checkpoint"),
            available_now=True,
        )
        query.awaitTermination()

    run("counts")
    run("counts")
    assert "was missing" not in caplog.text
    database.run("DROP TABLE dropped")
    run("other")
    warnings = [record.getMessage() for record in caplog.records if record.name == "panewise.sinks"]
    assert [warning.split("(")[0] for warning in warnings] == ["panes=PostgresSink", "counts=ParquetSink"]
    assert all("was missing at the restart: it has only" in warning for warning in warnings)
    assert database.rows("SELECT sum(s) FROM dropped WHERE op = '+'") == [(3,)]


def test_the_columns_that_the_driver_gets(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    """They are those of the output, and a sequence only if it has a name (semantics 49.1, 49.45)."""
    feed.put((0, "a", 1))
    result, memory, numbered = sessions(feed, feed.batch()), MemorySink(), MemorySink()
    result.write(panes=memory)
    result.write(panes=numbered, sequence="number")
    result.write(panes=ConsoleSink())
    (plain, more) = (sink.table() for sink in (memory, numbered))
    assert plain is not None
    assert more is not None
    assert plain.column_names == result.panes.columns
    assert more.column_names == [*result.panes.columns, "number"]
    printed = capsys.readouterr().out.splitlines()[2]
    assert [name.strip() for name in printed.strip("|").split("|")] == result.panes.columns


def test_what_an_argument_stands_for() -> None:
    """A path, a table or a sink (semantics 49.5, 49.48)."""
    assert resolved_sink("out/panes") == ParquetSink("out/panes")
    assert resolved_sink(Path("out")) == ParquetSink("out")
    assert resolved_sink("s3a:bucket") == ParquetSink("s3a:bucket")
    assert resolved_sink("reports.current") == DeltaSink("reports.current")
    assert resolved_sink(None) is None
    sink = MemorySink()
    assert resolved_sink(sink) is sink


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (DeltaSink("a/b"), DeltaSink("a//b/")),
        (DeltaSink("a/b"), ParquetSink("a/b")),
        (DeltaSink("Reports.t"), DeltaSink("reports.T", mode="upsert")),
        (PostgresSink("dsn", "t"), PostgresSink("dsn", "t")),
    ],
)
def test_two_outputs_in_one_table_are_refused(one: Any, other: Any) -> None:
    """See semantics 49.40."""
    with pytest.raises(
        SpecError, match=r"panes and late with the .* \| two outputs of a query have one place"
    ):
        check_sinks({"panes": one, "late": other})


def test_one_memory_for_two_outputs_is_refused() -> None:
    """See semantics 49.45."""
    sink = MemorySink()
    with pytest.raises(SpecError, match="panes and late with the sink MemorySink"):
        check_sinks({"panes": sink, "late": sink})
    check_sinks({"panes": sink, "late": MemorySink()})


def test_sinks_of_the_driver_are_refused_through_connect() -> None:
    """See semantics 49.45."""

    class Output:
        name, session, checkpoint = "panes", object(), "a/checkpoint"

    with pytest.raises(
        SpecError, match=r"panes=a MemorySink \| through Connect a stream is written by the server"
    ):
        check_in_driver("a MemorySink", Output())  # type: ignore[arg-type]


def test_an_empty_name_of_a_table_is_refused() -> None:
    with pytest.raises(SpecError, match=r"DeltaSink\(table=''\) \| a Delta table has a name or a path"):
        DeltaSink("")


def test_wrong_numbers_of_rows_are_refused() -> None:
    with pytest.raises(SpecError, match=r"ConsoleSink\(rows=0\) \| a console shows 1 row or more \| give"):
        ConsoleSink(rows=0)
    with pytest.raises(SpecError, match=r"ConsoleSink\(rows='5'\) \| a console shows 1 row or more"):
        ConsoleSink("5")  # type: ignore[arg-type]


def test_a_table_of_a_session_without_delta(feed: Feed) -> None:
    """See semantics 49.49."""
    with pytest.raises(
        pw.SetupError,
        match=r"^panes='minutes', a Delta table, in a session without delta \| .*'./minutes' for Parquet",
    ):
        sessions(feed, feed.stream()).write(
            panes="minutes", checkpoint=feed.sink("checkpoint"), available_now=True
        )
    assert not Path(feed.sink("checkpoint")).exists()
