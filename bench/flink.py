"""Compares windows of rows and OVER rows with Flink's: `python -m bench.flink`.

`make bench-peers` creates Flink's environment first. Ours reads the files as a stream on Spark, and each
micro-batch writes a checkpoint. Flink has their columns in memory before the clock starts, and checkpoints
its state twice a second, except with `--state memory`. Both have two cores, and run in turn.
"""

import argparse
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from bench import data, ours, report, session
from bench.measure import WARM_UP_BATCHES, alternate, stream_seconds
from bench.shapes import SHAPES

ENVIRONMENT = Path(__file__).parents[1] / ".venv-flink"
QUERIES = ("rows", "over")  # names of queries of bench.flink_job, and of shapes
STATES = {
    "heap": "on the heap, with checkpoints (default)",
    "rocksdb": "in RocksDB, with incremental checkpoints",
    "memory": "on the heap, without checkpoints: what is killed begins anew",
}
ROUNDS = 3
WARM_UP_RUNS = 4  # ours, in one JVM; a job of Flink's has its own warm-up
PARALLELISM = 2


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line.

    Raises:
        SystemExit: if they make no sense; the message says why.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.flink", description="Compares windows of rows with Flink's."
    )
    parser.add_argument(
        "--batch-rows", type=int, default=1_000_000, help="rows in a micro-batch; default: %(default)s"
    )
    parser.add_argument("--batches", type=int, default=7, help="micro-batches in a run; default: %(default)s")
    parser.add_argument("--query", choices=QUERIES, help="one of them; default: both")
    parser.add_argument(
        "--state",
        choices=STATES,
        default="heap",
        help="Flink's: " + "; ".join(f"{name}, {text}" for name, text in STATES.items()),
    )
    asked = parser.parse_args(argv)
    if asked.batch_rows < 1 or asked.batches <= WARM_UP_BATCHES:
        given = f"--batch-rows {asked.batch_rows} --batches {asked.batches}"
        parser.error(
            f"{given} | the first {WARM_UP_BATCHES} batches are warm-up | give such as 1000000 and "
            f"{WARM_UP_BATCHES + 1}"
        )
    return asked


def flink_seconds(query: str, events: data.Events, state: str) -> float:
    """Returns the seconds that Flink takes for as many rows as one file contains.

    Raises:
        SystemExit: if Flink is not installed.
    """
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"no {python} | Flink has an environment of its own | run make bench-peers")
    job = [
        str(python),
        str(Path(__file__).with_name("flink_job.py")),
        query,
        str(events.directory),
        str(PARALLELISM),
        state,
    ]
    told = subprocess.run(
        job, check=True, stdout=subprocess.PIPE, text=True
    ).stdout  # its errors are shown as they come
    return float(json.loads(told.splitlines()[-1])["seconds"]) / events.batches


def main() -> None:
    """Runs both in turn; stores each result at once, and prints the table at the end."""
    asked = arguments()
    events, spark = data.cached(asked.batch_rows, asked.batches), session.start()
    results = []
    for query in [asked.query] if asked.query else QUERIES:
        result = _compare(spark, events, query, asked.state)
        report.append(result)
        results.append(result)
        print(f"{query} beside flink: {result.ratio:.2f}", flush=True)
    spark.stop()
    print(f"\n{report.table(results)}")


def _compare(spark: SparkSession, events: data.Events, query: str, state: str) -> report.Result:
    def mine() -> list[float]:
        return stream_seconds(ours.query(session.read(spark, events), SHAPES[query]), "append")

    pair = alternate(mine, lambda: [flink_seconds(query, events, state)], ROUNDS, [mine] * WARM_UP_RUNS)
    return report.Result(
        query, f"flink, {state}", events.rows, events.batch_rows, pair.ratio, pair.ours_s, pair.peer_s
    )


if __name__ == "__main__":
    main()
