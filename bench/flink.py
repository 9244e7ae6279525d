"""Windows and frames of rows beside Flink's: `python -m bench.flink`, or `make bench-peers`, which makes Flink's environment first.

Ours reads the files as a stream on Spark, with a checkpoint; Flink has their columns in memory before the clock starts, keeps its state on
the heap, and makes no checkpoints. Both have two cores, and run in turn.
"""

import argparse
import json
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench import data, ours, report, session
from bench.measure import WARM_UP_BATCHES, stream_seconds
from bench.shapes import SHAPES

ENVIRONMENT = Path(__file__).parents[1] / ".venv-flink"
QUERIES = ("rows", "over")  # of bench.flink_job, and shapes of ours
ROUNDS = 3
_PARALLELISM = 2


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """What is asked for on the command line.

    Raises:
        SystemExit: where it makes no sense; the message says why.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.flink", description="Compares windows of rows with Flink's.")
    parser.add_argument("--batch-rows", type=int, default=1_000_000, help="rows in a micro-batch; default: %(default)s")
    parser.add_argument("--batches", type=int, default=7, help="micro-batches in a run; default: %(default)s")
    asked = parser.parse_args(argv)
    if asked.batch_rows < 1 or asked.batches <= WARM_UP_BATCHES:
        given = f"--batch-rows {asked.batch_rows} --batches {asked.batches}"
        parser.error(f"{given} | the first {WARM_UP_BATCHES} batches are warm-up | give such as 1000000 and {WARM_UP_BATCHES + 1}")
    return asked


def flink_seconds(query: str, events: data.Events) -> float:
    """Seconds that Flink takes for as many rows as are in one file.

    Raises:
        SystemExit: if there is no Flink.
    """
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"no {python} | Flink has an environment of its own | run make bench-peers")
    job = [str(python), str(Path(__file__).with_name("flink_job.py")), query, str(events.directory), str(_PARALLELISM)]
    told = subprocess.run(job, check=True, stdout=subprocess.PIPE, text=True).stdout  # its errors are shown as they come
    return float(json.loads(told.splitlines()[-1])["seconds"]) / events.batches


def main() -> None:
    """Runs both in turn; results are kept as they come, the table is printed at the end."""
    asked = arguments()
    events, spark = data.cached(asked.batch_rows, asked.batches), session.start()
    results = []
    for query in QUERIES:
        shape = SHAPES[query]
        mine, theirs = list[float](), list[float]()
        for number in range(ROUNDS + 1):
            seconds = stream_seconds(ours.query(session.read(spark, events), shape), "append")
            mine += seconds if number else []  # the first run warms the JVM up
            theirs += [flink_seconds(query, events)] if number else []
        flink, median = statistics.median(theirs), statistics.median(mine)
        results.append(report.Result(query, "flink", events.rows, asked.batch_rows, flink / median, median, flink))
        report.append(results[-1])
        print(f"{query} beside flink: {results[-1].ratio:.2f}", flush=True)
    spark.stop()
    print(f"\n{report.table(results)}")


if __name__ == "__main__":
    main()
