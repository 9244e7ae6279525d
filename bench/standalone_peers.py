"""Compares `add_batch` with Bytewax and Pathway: `python -m bench.standalone_peers`.

`make bench-peers` creates their environment first. All of them compute the sums of 10 thousand keys in
tumbling windows over the same rows, in a process of their own, on one core. They run in turn. The rows are in
memory or in a file before the clock starts, in the form that each of them takes. Their sums must be those
of a query of Polars.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl

from bench.standalone import SIZE, SPEC, TYPES, WINDOW, rows
from panewise.standalone import StandaloneOperator

ENVIRONMENT = Path(__file__).parents[1] / ".venv-peers"
JOBS = Path(__file__).with_name("peer_jobs")
SMALL = 10_000  # with one row, Bytewax's default, 10,000 rows take more than 100 seconds
PEERS = {  # by name: the program, its way, and the rows of a batch, None for as many as panewise has
    "Bytewax, fold_window, small batches": ("bytewax_job.py", "fold", SMALL),
    "Bytewax, fold_window": ("bytewax_job.py", "fold", None),
    "Bytewax, stateful_batch": ("bytewax_job.py", "batch", None),
    "Pathway, csv": ("pathway_job.py", "csv", None),
    "Pathway, pandas": ("pathway_job.py", "pandas", None),
}
OURS, QUERY = "add_batch", "Polars, one query"
ONE_CORE = {"POLARS_MAX_THREADS": "1", "PATHWAY_THREADS": "1", "OMP_NUM_THREADS": "1"}


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line.

    Raises:
        SystemExit: if they make no sense; the message says why.
    """
    parser = argparse.ArgumentParser(
        prog="python -m bench.standalone_peers", description="Compares add_batch with Bytewax and Pathway."
    )
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--rows", default=SIZE, help="rows of a batch; default: %(default)s", **number)
    parser.add_argument("--batches", default=2, help="batches of a run; default: %(default)s", **number)
    parser.add_argument("--rounds", default=3, help="runs of each; default: %(default)s", **number)
    parser.add_argument("--run-once", nargs=2, help=argparse.SUPPRESS)  # what a process of ours does
    asked = parser.parse_args(argv)
    if min(asked.rows, asked.batches, asked.rounds) < 1:
        parser.error("a number below 1 | rows, batches and rounds are 1 or more | give a greater number")
    return asked


def expected(given: pl.DataFrame) -> pl.DataFrame:
    """Returns the sums by key and window."""
    start = (pl.col("event_time") // WINDOW * WINDOW).alias("start")
    return given.group_by("k", start).agg(pl.col("v").sum().alias("total")).sort("start", "k")


def added(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Returns the sums that an operator emits, whose watermark follows each batch by one window."""
    operator, found = StandaloneOperator(SPEC, TYPES), list[pl.DataFrame]()
    for part in parts:
        operator.add_batch(part)
        operator.advance(watermark=int(part["event_time"].max()) - WINDOW)  # type: ignore[arg-type]
        found += [emission.rows for emission in operator.drain()]
    operator.finish()
    found += [emission.rows for emission in operator.drain()]
    return pl.concat(found).select("k", pl.col("window_start").alias("start"), "total")


def run_once(name: str, folder: Path) -> None:
    """Computes the sums of the rows in a folder, prints the seconds as JSON, and writes the sums.

    A first operator warms up. It has the same part in a run as the few rows of Pathway's warm-up.
    """
    given = pl.read_parquet(folder / "rows.parquet")
    parts = given.partition_by("batch", maintain_order=True, include_key=False)
    added([part.head(1000) for part in parts])
    expected(given.head(1000))
    began = time.perf_counter()
    sums = added(parts) if name == OURS else expected(given)
    seconds = time.perf_counter() - began
    sums.write_parquet(folder / "sums.parquet")
    print(json.dumps({"seconds": seconds}))


def seconds_of(name: str, folder: Path, core: int, batch: int, wanted: pl.DataFrame) -> float:
    """Returns the seconds of a run in a process of its own, after checking its sums.

    Raises:
        SystemExit: if the peer is not installed.
        AssertionError: if its sums are not those of the query.
    """
    command = [sys.executable, "-m", "bench.standalone_peers", "--run-once", name, str(folder)]
    if name in PEERS:
        python, (job, way, own) = ENVIRONMENT / "bin" / "python", PEERS[name]
        if not python.exists():
            raise SystemExit(f"no {python} | peers have an environment of their own | run make bench-peers")
        files = [str(folder / "rows.parquet"), str(folder / "sums.parquet"), str(own or batch)]
        command = [str(python), "-W", "ignore", str(JOBS / job), way, *files]
    done = subprocess.run(
        ["taskset", "--cpu-list", str(core), *command],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if name.startswith("Pathway") else None,  # it logs every step
        text=True,
        env={**os.environ, **ONE_CORE},
    )
    found = pl.read_parquet(folder / "sums.parquet").select(wanted.columns).sort("start", "k")
    assert found.equals(wanted), f"{name}: other sums than those of the query"
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])


def main() -> None:
    """Runs all of them in turn; prints the medians, and how many times as fast ours is."""
    asked = arguments()
    if asked.run_once:
        run_once(asked.run_once[0], Path(asked.run_once[1]))
        return
    made = [rows(n, asked.rows).with_columns(batch=pl.lit(n)) for n in range(asked.batches)]
    given, core = pl.concat(made), max(os.sched_getaffinity(0))
    wanted, seconds = expected(given), dict[str, list[float]]()
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as folder:
        given.write_parquet(Path(folder) / "rows.parquet")
        for _ in range(asked.rounds):
            for name in (OURS, QUERY, *PEERS):
                seconds.setdefault(name, []).append(seconds_of(name, Path(folder), core, asked.rows, wanted))
    rates = {name: given.height / median(taken) for name, taken in seconds.items()}
    print(
        f"{asked.batches} batches of {asked.rows:,} rows, one core, the same sums; medians of {asked.rounds}"
    )
    for name, rate in rates.items():
        print(f"{name:<38} {rate:>12,.0f} events/s   ours is {rates[OURS] / rate:>6.1f} times as fast")


if __name__ == "__main__":
    main()
