"""Compares deduplication with Spark's own: `python -m bench.deduplicate`.

Half of the rows are copies: each has the key of one of the last rows that were new. With a million rows a
micro-batch, as many keys are live. Both have the same watermark; in Spark its delay also says how far apart
copies may be.
"""

import argparse
from functools import partial

import numpy as np
import polars as pl
from pyspark.sql import DataFrame

from bench import data, session
from bench.measure import alternate, stream_seconds
from panewise.spark import deduplicate

WITHIN = "1 minute"
_ROUNDS = 2
_SPREAD = 2_654_435_761  # a prime, which spreads consecutive numbers
_MIXED = 1 << 40


def events(batch_rows: int, batches: int) -> data.Events:
    """Returns rows of which half are copies; creates the files if they are missing."""
    made = data.Events(data.CACHE / f"{batches}x{batch_rows}-copies", batch_rows, batches)

    def fill(folder: object) -> None:
        for batch in range(batches):
            data.put(frame(batch, batch_rows), folder, batch)  # type: ignore[arg-type]

    data.make(made.directory, fill)
    return made


def frame(batch: int, rows: int) -> pl.DataFrame:
    """Returns the rows of one micro-batch, which covers a minute. Every second row is a copy."""
    random, half = np.random.default_rng(batch), rows // 2
    new = batch * half + np.arange(half)
    number = np.empty(half * 2, dtype=np.int64)
    number[0::2], number[1::2] = new, np.maximum(0, new - random.integers(1, half, half))
    order = batch * rows + np.arange(half * 2)
    ts = data.START_US + order * 60_000_000 // rows + random.integers(0, data.DISORDER_US, half * 2)
    columns = {"ts": ts, "k": number * _SPREAD % _MIXED, "v": random.integers(0, 1_000_000, half * 2)}
    return pl.DataFrame(columns).with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))


def ours(rows: DataFrame) -> DataFrame:
    """Returns the first row of each key."""
    return deduplicate(rows.withWatermark("ts", WITHIN), "ts").on("k").within(WITHIN).rows


def native(rows: DataFrame) -> DataFrame:
    """Returns the same by Spark's own deduplication."""
    return rows.withWatermark("ts", WITHIN).dropDuplicatesWithinWatermark(["k"])


def main() -> None:
    """Measures both in turn."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.deduplicate", description="Compares deduplication with Spark's own."
    )
    parser.add_argument("--batch-rows", type=int, default=1_000_000, help="default: %(default)s")
    parser.add_argument("--batches", type=int, default=6, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="default: %(default)s")
    asked = parser.parse_args()
    spark = session.start()
    given = events(asked.batch_rows, asked.batches)
    mine, theirs = (
        partial(lambda query: stream_seconds(query(session.read(spark, given)), "append"), query)
        for query in (ours, native)
    )
    pair = alternate(mine, theirs, asked.rounds, [mine, theirs])
    print(f"panewise {pair.ours_s:.3f} s, Spark {pair.peer_s:.3f} s, {pair.ratio:.2f} times", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
