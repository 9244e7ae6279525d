"""How the time of a micro-batch grows with the state: `python -m bench.flat`.

Every key has one window. The state is filled with each key once. Batches of 100 thousand rows of random keys
follow, and every batch emits the windows that it changes. For each number of keys, ours and native run one
after the other over the same files.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from pyspark.sql import DataFrame, SparkSession

from bench import data, native, ours, report, session
from bench.measure import seconds_of
from bench.shapes import Windows

BATCH_ROWS = 100_000
FILL_ROWS = 1_000_000
BATCHES = 24
_WARM_UP = 4
_START_US = 1_767_225_600_000_000  # 2026-01-01
WINDOW = Windows("flat", 100 * 3_600_000_000, 100 * 3_600_000_000)


@dataclass(frozen=True, slots=True)
class Flat:
    """The result of one runner at one size of the state."""

    runner: str
    keys: int
    median_s: float
    worst_s: float
    batch_bytes: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells of its row in the table."""
        worst = f"{self.worst_s / self.median_s:.1f}"
        return (self.runner, f"{self.keys:,}", f"{self.median_s:.3f}", worst, f"{self.batch_bytes / 1e6:.1f}")


def events(keys: int, cache: Path = data.CACHE) -> data.Events:
    """Returns files that fill the state, followed by those that are measured; creates missing files."""
    folder = cache / f"flat-{keys}"
    fills = -(-keys // FILL_ROWS)
    if not folder.exists():
        folder.mkdir(parents=True)
        random = np.random.default_rng(keys)
        order = random.permutation(keys)
        drawn = [
            *np.array_split(order, fills),
            *(random.integers(0, keys, BATCH_ROWS) for _ in range(BATCHES)),
        ]
        for number, chosen in enumerate(drawn):
            ts = pl.Series(np.full(len(chosen), _START_US) + number).cast(pl.Datetime("us", "UTC"))
            frame = pl.DataFrame({"ts": ts, "k": chosen, "v": random.integers(0, 1_000_000, len(chosen))})
            data.put(frame, folder, number)
    return data.Events(folder, BATCH_ROWS, fills + BATCHES)


def measure(
    spark: SparkSession, runner: str, query: Callable[[DataFrame], DataFrame], mode: str, keys: int
) -> Flat:
    """Runs a query over all files. Only batches after the fill and a few warm-up batches count."""
    given = events(keys)
    with tempfile.TemporaryDirectory(prefix="bench-") as checkpoint:
        seconds = seconds_of(query(session.read(spark, given)), mode, checkpoint)[
            given.batches - BATCHES + _WARM_UP :
        ]
        logs = sorted(
            Path(checkpoint).glob("state/0/*/*.changelog"), key=lambda log: int(log.name.split(".")[0])
        )
        sizes = [
            log.stat().st_size
            for log in logs
            if int(log.name.split(".")[0]) > given.batches - BATCHES + _WARM_UP
        ]
    return Flat(runner, keys, statistics.median(seconds), max(seconds), sum(sizes) / max(1, len(seconds)))


def table(results: Sequence[Flat]) -> str:
    """Returns a table of the results."""
    headings = ("runner", "keys", "median s", "worst / median", "MB written a batch")
    rows = [headings, *(result.cells for result in results)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(headings))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def main() -> None:
    """Runs ours and native in turn, for every size."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.flat", description="How the time of a micro-batch grows with the state."
    )
    parser.add_argument(
        "--keys",
        type=int,
        nargs="+",
        default=[100_000, 1_000_000, 10_000_000],
        help="live keys; default: %(default)s",
    )
    parser.add_argument("--runner", choices=["ours", "native"], help="one of them; default: both")
    asked = parser.parse_args()
    spark = session.start()
    runners: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
        "ours": (lambda stream: ours.query(stream, WINDOW), "append"),
        "native": (lambda stream: native.query(stream, WINDOW), "update"),
    }
    results: list[Flat] = []
    for keys in asked.keys:
        for name, (query, mode) in runners.items():
            if asked.runner in (None, name):
                measure(spark, name, query, mode, asked.keys[0]) if not results else None  # warms the JVM up
                results.append(measure(spark, name, query, mode, keys))
                print("  ".join(results[-1].cells), flush=True)
        pair = {result.runner: result.median_s for result in results if result.keys == keys}
        if len(pair) == 2:
            ratio = pair["native"] / pair["ours"]
            report.append(
                report.Result(
                    f"flat_{keys}",
                    "native",
                    BATCH_ROWS * BATCHES,
                    BATCH_ROWS,
                    ratio,
                    pair["ours"],
                    pair["native"],
                )
            )
    spark.stop()
    print(f"\n{table(results)}")


if __name__ == "__main__":
    main()
