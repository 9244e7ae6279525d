"""One result as both sides of a join, with sinks of the earlier operator, a clock, an export and a change.

tests/spark/dataflow/test_dataflow.py has its rows without these.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame

import panewise as pw
from panewise import functions as F
from panewise.checkpoints.export import export_checkpoint
from panewise.observe.journal_reader import JournalReader
from panewise.observe.micro_batch import MicroBatch
from panewise.spark import JoinResult, ParquetSink, joined, observe, windowed
from tests.spark.conftest import Feed, beside

FILES = [
    [(5 * n, "ab"[n % 2], n) for n in range(12)],
    [(70, "a", 1), (75, "b", 2), (100, "a", 3)],
    [(110, "b", 4), (130, "a", 5), (170, "b", 6)],
    [(172, "a", 7), (230, "a", 8), (231, "b", 9)],
    [(232, "a", 10), (400, "c", 11)],
]


CLOCK = not version("pyspark").startswith("4.1.")  # there the last windows would wait (semantics 12.7)


def pairs(df: DataFrame, shards: int, *more: tuple[str, ...]) -> JoinResult:
    """Returns the pairs of the windows with themselves."""
    described = windowed(df, "ts").groupBy("k").window(pw.Tumbling("30 seconds")).shards(shards)
    described = described.options(timestamp="window_time")
    described = described.clock("1 hour") if CLOCK and df.isStreaming else described
    counts = described.agg(F.count().alias("n"))
    both = joined(counts, counts).on("k").within(0, 0).shards(shards + 1)
    return both.select("k", ("left", "n"), ("right", "window_start", "m"), *more).how("inner")


def write(feed: Feed, result: JoinResult, name: str, *outputs: str, file: str | None = None) -> None:
    sinks: Any = {output: ParquetSink(feed.sink(f"{name}-{output}")) for output in ("rows", *outputs)}
    query = result.write(
        sinks, checkpoint=feed.sink(name), available_now=True, initial_state=file, sequence="seq"
    )
    query.awaitTermination()


def read(feed: Feed, output: str, columns: list[str]) -> list[tuple[Any, ...]]:
    frames = [feed.read(f"{name}-{output}").select(columns) for name in ("one", "two")]
    return sorted(pl.concat(frames).rows())


@pytest.mark.nightly
def test_all_at_once(feed: Feed, tmp_path: Path) -> None:
    """semantics 42.9, 42.13, 47.16, 48.6: each pair and each pane is written once."""
    rest, journal = beside(feed, "rest"), tmp_path / "journal"
    late = feed.stream().withWatermark("ts", "10 seconds")
    with observe(feed.spark, journal=journal):
        for number, rows in enumerate(FILES[:3]):
            feed.put(*rows)
            if number:
                write(feed, pairs(late, 2), "one", "first_panes", *(["first_counts"] if number == 2 else []))
    export_checkpoint(feed.sink("one"), feed.sink("file"))
    rest.put(*FILES[3])
    later, file = rest.stream().withWatermark("ts", "10 seconds"), feed.sink("file")
    write(feed, pairs(later, 3), "two", "first_panes", file=file)
    rest.put(*FILES[4])
    write(feed, pairs(later, 3, ("left", "window_end", "e")), "two", "first_panes", file=file)
    for rows in FILES[3:]:
        feed.put(*rows)
    batch = pairs(feed.batch().where("ts < '2024-01-01 00:06:00'"), 1)
    expected = sorted(tuple(row) for row in pl.DataFrame(batch.rows.toArrow()).select("k", "n", "m").rows())
    assert read(feed, "rows", ["k", "n", "m"]) == expected
    panes = windowed(feed.batch().where("ts < '2024-01-01 00:06:00'"), "ts").groupBy("k")
    of_batch = panes.window(pw.Tumbling("30 seconds")).agg(F.count().alias("n")).panes
    once = sorted(pl.DataFrame(of_batch.toArrow()).select("k", "n", "window_start").rows())
    assert read(feed, "first_panes", ["k", "n", "window_start"]) == once
    entries = JournalReader(journal).new_entries()
    names = {name for entry in entries if isinstance(entry, MicroBatch) for name in entry.operators}
    assert names == {"panewise", "panewise_2", "panewise_3"}
    counts = feed.read("one-first_counts")
    assert counts["rows_in"].sum() == 3
