"""Measures the cost of a hot key: `python -m bench.skew`.

One key gets half of all rows. The baseline is the same rows, evenly spread over the keys.
"""

import argparse
import shutil
from functools import partial

import polars as pl

from bench import data, ours, session
from bench.measure import alternate, stream_seconds
from bench.shapes import SHAPES, Shape

_BATCH_ROWS, _BATCHES, _ROUNDS = 1_000_000, 6, 2


def skewed(even: data.Events) -> data.Events:
    """Returns the events with every second row given to one key; creates the files if they are missing."""
    folder = even.directory.with_name(f"{even.directory.name}-skewed")
    if not folder.exists():
        staging = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        hot = pl.when(pl.int_range(pl.len()) % 2 == 0).then(0).otherwise(pl.col("k")).alias("k")
        for number, path in enumerate(sorted(even.directory.glob("*.parquet"))):
            data.put(pl.read_parquet(path).with_columns(hot), staging, number)
        staging.rename(folder)
    return data.Events(folder, even.batch_rows, even.batches)


def main() -> None:
    """Measures every shape on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.skew", description="What a key that gets half of all rows costs."
    )
    parser.add_argument(
        "--shape",
        choices=SHAPES,
        nargs="+",
        default=["tumbling", "session", "median"],
        help="default: %(default)s",
    )
    asked = parser.parse_args()
    spark = session.start()
    even = data.cached(_BATCH_ROWS, _BATCHES)
    hot = skewed(even)

    def seconds(events: data.Events, shape: Shape) -> list[float]:
        return stream_seconds(ours.query(session.read(spark, events), shape), "append")

    for name in asked.shape:
        shape = SHAPES[name]
        of_even = partial(seconds, even, shape)
        pair = alternate(partial(seconds, hot, shape), of_even, _ROUNDS, [of_even])
        print(
            f"{name}: skewed {pair.ours_s:.3f} s, even {pair.peer_s:.3f} s, "
            f"{pair.ours_s / pair.peer_s:.2f} times",
            flush=True,
        )
    spark.stop()


if __name__ == "__main__":
    main()
