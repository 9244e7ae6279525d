"""`python -m bench`: compares panewise with every peer in every shape, or with one peer or in one shape."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from bench import data, report, session
from bench.measure import WARM_UP_BATCHES, Run, alternate, stream_seconds
from bench.peers import PEERS
from bench.shapes import SHAPES, Shape

Query = Callable[[DataFrame, Shape], DataFrame]

ROUNDS = 3
# Native is at its steady time from the third run of a JVM. Panewise has more code for the JVM to compile:
# --warm-up 6 shows what a query takes that has run for some minutes.
WARM_UP_ROUNDS = 2
SLOW_BATCHES = WARM_UP_BATCHES + 1  # per_key takes 10 seconds or more for a batch of a million rows


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line.

    Raises:
        SystemExit: if they make no sense; the message says why.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Compares panewise with what else runs the same windows."
    )
    parser.add_argument("--shape", choices=SHAPES, help="one shape; default: all")
    parser.add_argument("--peer", choices=PEERS, help="one peer; default: all")
    parser.add_argument(
        "--batch-rows", type=int, default=1_000_000, help="rows in a micro-batch; default: %(default)s"
    )
    parser.add_argument("--batches", type=int, default=7, help="micro-batches in a run; default: %(default)s")
    parser.add_argument(
        "--warm-up", type=int, default=WARM_UP_ROUNDS, help="runs of each before; default: %(default)s"
    )
    asked = parser.parse_args(argv)
    if asked.warm_up < 0:
        parser.error(f"--warm-up {asked.warm_up} | the number of runs that do not count | give 0 or more")
    if asked.batch_rows < 1:
        parser.error(
            f"--batch-rows {asked.batch_rows} | a batch has a row or more | give a number such as 1000000"
        )
    if asked.shape and asked.peer and not PEERS[asked.peer].can(SHAPES[asked.shape]):
        parser.error(
            f"--shape {asked.shape} --peer {asked.peer} | Spark has no such windows on streams | leave "
            "--peer out"
        )
    if asked.batches <= WARM_UP_BATCHES:
        rule = f"the first {WARM_UP_BATCHES} batches of a run are warm-up"
        parser.error(f"--batches {asked.batches} | {rule} | give {WARM_UP_BATCHES + 1} or more")
    return asked


def compare(
    spark: SparkSession, query: Query, shape: Shape, name: str, asked: argparse.Namespace
) -> report.Result:
    """Compares ours, made by `query`, with one peer. A slow peer gets fewer batches of the same size."""
    peer, batch_rows, batches = PEERS[name], asked.batch_rows, asked.batches
    events = data.cached(batch_rows, batches)

    def ours() -> list[float]:
        return stream_seconds(query(session.read(spark, events), shape), "append")

    theirs = partial(
        peer.run, spark, data.cached(batch_rows, min(batches, SLOW_BATCHES)) if peer.slow else events, shape
    )
    warm_up: list[Run] = (
        [ours, ours] if peer.slow else [ours, theirs]
    )  # ours is measured in a JVM that has run four queries, unless --warm-up says otherwise
    pair = alternate(ours, theirs, 1 if peer.slow else ROUNDS, warm_up * asked.warm_up)
    return report.Result(shape.name, name, events.rows, batch_rows, pair.ratio, pair.ours_s, pair.peer_s)


def main() -> None:
    """Runs the comparisons; stores each result at once, and prints the table at the end."""
    asked = arguments()
    query = _ours()
    spark = session.start()
    results = []
    for shape in [asked.shape] if asked.shape else SHAPES:
        for peer in (
            [asked.peer] if asked.peer else [name for name, peer in PEERS.items() if peer.can(SHAPES[shape])]
        ):
            result = compare(spark, query, SHAPES[shape], peer, asked)
            report.append(result)
            results.append(result)
            print(f"{shape} beside {peer}: {result.ratio:.2f}", flush=True)
    spark.stop()
    print(f"\n{report.table(results)}")


def _ours() -> Query:
    try:
        from bench import ours  # noqa: PLC0415
    except ImportError as error:
        raise SystemExit(
            f"{error} | ours is run through panewise.spark | install panewise with the extra 'spark'"
        ) from error
    return ours.query


if __name__ == "__main__":
    main()
