"""Compares joins with every peer: `python -m bench.joins`.

The peers are Spark's own join, with each state store and state format, two empty Python stages, for the as-of
join, which Spark does not have, one call for each key, and for the cogroup two aggregations that are joined.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bench import report, session
from bench.joins import data
from bench.joins.queries import NATIVE, AnyJoin, Cogroup, InWindows, Join, LatestBefore
from bench.joins.runs import Runs
from bench.measure import WARM_UP_BATCHES, alternate, warm

ROUNDS = 2
_EMPTY, _PER_KEY, _AGGREGATES = "empty", "per_key", "aggregates"
_ROCKSDB = tuple(name for name in NATIVE if name.startswith("rocksdb"))
SLOW = (*_ROCKSDB, "hdfs_v2", _PER_KEY)  # ten seconds and more for a batch of a million rows
SLOW_BATCHES = 2  # the last one counts: the first one starts with an empty state
PEERS = (*NATIVE, _EMPTY, _PER_KEY, _AGGREGATES)
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A join and its input, in which a row has on average `partners` partners."""

    name: str
    join: AnyJoin
    partners: float
    peers: tuple[str, ...]


_HALF = math.log(2)  # the number of partners has a Poisson distribution, in which half are then 0
SHAPES = {
    "inner": Shape("join_inner", Join("inner", 0, _SECOND_US), 1.0, (*NATIVE, _EMPTY)),
    "left": Shape("join_left", Join("left", 0, _SECOND_US), _HALF, _ROCKSDB),
    "window": Shape("join_window", InWindows(_SECOND_US), 1.0, _ROCKSDB),
    "as_of": Shape("join_as_of", LatestBefore(), 1.0, (_PER_KEY,)),
    "cogroup": Shape("cogroup", Cogroup(60 * _SECOND_US), 1.0, (_AGGREGATES,)),
}


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line.

    Raises:
        SystemExit: if they make no sense; the message says why.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.joins", description="Compares joins with what else joins two streams."
    )
    parser.add_argument("--shape", choices=SHAPES, help="one shape; default: all")
    parser.add_argument("--peer", choices=PEERS, help="one peer; default: all of the shape")
    parser.add_argument(
        "--batch-rows", type=int, default=1_000_000, help="rows of both sides; default: %(default)s"
    )
    parser.add_argument(
        "--batches", type=int, default=10, help="micro-batches in a run; default: %(default)s"
    )
    asked = parser.parse_args(argv)
    if asked.batch_rows < 2:
        parser.error(
            f"--batch-rows {asked.batch_rows} | each side has a row or more | give a number such as 1000000"
        )
    if asked.batches <= WARM_UP_BATCHES:
        rule = f"the first {WARM_UP_BATCHES} batches of a run are warm-up"
        parser.error(f"--batches {asked.batches} | {rule} | give {WARM_UP_BATCHES + 1} or more")
    return asked


def compare(runs: Runs, shape: Shape, peer: str, batch_rows: int, batches: int) -> report.Result:
    """Compares ours with one peer. A slow peer runs once, over fewer batches of the same size."""
    sides = data.random(shape.name, batch_rows, batches, shape.partners)

    def ours() -> list[float]:
        return warm(runs.ours(sides, shape.join))

    if peer in SLOW:
        few = data.random(shape.name, batch_rows, SLOW_BATCHES, shape.partners)

        def slow() -> list[float]:
            if peer == _PER_KEY:
                return runs.per_key(few, shape.join)[-1:]
            return runs.native(peer, few, shape.join)[-1:]

        pair = alternate(
            ours,
            slow,
            1,
            [partial(runs.ours, few, shape.join), ours],  # so that the numbers of rows are compared
        )
    else:

        def theirs() -> list[float]:
            if peer == _EMPTY:
                return warm(runs.empty(sides, shape.join))
            if peer == _AGGREGATES:
                return warm(runs.aggregates(sides, shape.join))
            return warm(runs.native(peer, sides, shape.join))

        pair = alternate(ours, theirs, ROUNDS, [ours, theirs])
    name = peer if peer in (_EMPTY, _PER_KEY, _AGGREGATES) else f"native, {peer}"
    return report.Result(shape.name, name, sides.rows, batch_rows, pair.ratio, pair.ours_s, pair.peer_s)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the comparisons; stores each result at once, and prints the table at the end."""
    asked = arguments(argv)
    runs = Runs(session.start())
    results = []
    for shape in [SHAPES[asked.shape]] if asked.shape else SHAPES.values():
        for peer in [asked.peer] if asked.peer else shape.peers:
            result = compare(runs, shape, peer, asked.batch_rows, asked.batches)
            report.append(result)
            results.append(result)
            print(f"{shape.name} beside {result.peer}: {result.ratio:.2f}", flush=True)
    runs.spark.stop()
    for (sides, _), rows in runs.emitted.items():
        print(f"{sides.folder.name}: {rows:,} rows out, in all runs")
    print(f"\n{report.table(results)}\n{', '.join(SLOW)}: the last of {SLOW_BATCHES} batches")
