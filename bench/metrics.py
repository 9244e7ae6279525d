"""Measures the cost of the counts in progress reports: `python -m bench.metrics`.

Queries with the counts and without them alternate.
"""

import argparse
from functools import partial

from bench import data, ours, session
from bench.measure import alternate, stream_seconds
from bench.shapes import SHAPES, Shape
from panewise.spark.session.settings import METRICS

_BATCH_ROWS, _BATCHES, _ROUNDS = (10_000, 1_000_000), 12, 6
_DEFAULT, _OFF = "panewise", ""


def main() -> None:
    """Measures small and large micro-batches of every shape on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.metrics", description="What the counts in progress reports cost."
    )
    parser.add_argument(
        "--shape", choices=SHAPES, nargs="+", default=["tumbling", "rows"], help="default: %(default)s"
    )
    asked = parser.parse_args()
    spark = session.start()

    def seconds(events: data.Events, shape: Shape, metrics: str) -> list[float]:
        with session.settings(spark, {METRICS: metrics}):
            return stream_seconds(ours.query(session.read(spark, events), shape), "append")

    for shape in map(SHAPES.__getitem__, asked.shape):
        for rows in _BATCH_ROWS:
            events = data.cached(rows, _BATCHES)
            with_counts, without = (partial(seconds, events, shape, name) for name in (_DEFAULT, _OFF))
            pair = alternate(with_counts, without, _ROUNDS, [with_counts, without])
            cost = 100 * (pair.ours_s / pair.peer_s - 1)
            print(
                f"{shape.name}, {rows:,} rows: {pair.ours_s:.3f} s with, {pair.peer_s:.3f} s without, "
                f"{cost:+.1f} %",
                flush=True,
            )
    spark.stop()


if __name__ == "__main__":
    main()
