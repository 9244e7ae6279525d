"""Compares joins with Flink's: `python -m bench.joins flink`.

`make bench-peers` creates Flink's environment first. As in bench/flink.py, ours reads the files as streams on
Spark, and Flink has their columns in memory before the clock starts. Both have two cores, and run in turn.
"""

import argparse
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench import report, session
from bench.flink import ENVIRONMENT, PARALLELISM, ROUNDS, STATES
from bench.joins import data
from bench.joins.compare import SHAPES
from bench.joins.runs import Runs
from bench.measure import WARM_UP_BATCHES, alternate, warm

JOINS = {"interval": SHAPES["inner"], "window": SHAPES["window"]}


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line.

    Raises:
        SystemExit: if they make no sense; the message says why.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.joins flink", description="Compares joins with Flink's."
    )
    parser.add_argument("--join", choices=JOINS, help="one of them; default: both")
    parser.add_argument(
        "--batch-rows", type=int, default=1_000_000, help="rows of both sides; default: %(default)s"
    )
    parser.add_argument("--batches", type=int, default=6, help="micro-batches in a run; default: %(default)s")
    parser.add_argument("--state", choices=STATES, default="heap", help="Flink's, as in bench.flink")
    asked = parser.parse_args(argv)
    if asked.batch_rows < 2 or asked.batches <= WARM_UP_BATCHES:
        given = f"--batch-rows {asked.batch_rows} --batches {asked.batches}"
        rule = f"each side has a row or more, and the first {WARM_UP_BATCHES} batches are warm-up"
        parser.error(f"{given} | {rule} | give such as 1000000 and {WARM_UP_BATCHES + 1}")
    return asked


def flink_seconds(join: str, sides: data.Sides, state: str) -> float:
    """Returns the seconds that Flink takes for as many rows as a micro-batch has.

    Raises:
        SystemExit: if Flink is not installed.
    """
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"no {python} | Flink has an environment of its own | run make bench-peers")
    job = Path(__file__).with_name("flink_job.py")
    command = [str(python), str(job), join, str(sides.folder), str(PARALLELISM), state]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return float(json.loads(told.splitlines()[-1])["seconds"]) / sides.batches


def compare(runs: Runs, join: str, asked: argparse.Namespace) -> report.Result:
    """Compares one join of ours with Flink's."""
    shape = JOINS[join]
    sides = data.random(shape.name, asked.batch_rows, asked.batches, shape.partners)

    def ours() -> list[float]:
        return warm(runs.ours(sides, shape.join))

    pair = alternate(ours, lambda: [flink_seconds(join, sides, asked.state)], ROUNDS, [ours] * 2)
    name = f"flink, {STATES[asked.state]}"
    return report.Result(shape.name, name, sides.rows, asked.batch_rows, pair.ratio, pair.ours_s, pair.peer_s)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the comparisons; stores each result at once, and prints the table at the end."""
    asked = arguments(argv)
    runs = Runs(session.start())
    results = []
    for join in [asked.join] if asked.join else JOINS:
        result = compare(runs, join, asked)
        report.append(result)
        results.append(result)
        print(f"{join} beside flink: {result.ratio:.2f}", flush=True)
    runs.spark.stop()
    print(f"\n{report.table(results)}")
