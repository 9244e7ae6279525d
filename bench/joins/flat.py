"""How the time of a micro-batch grows with the state of a join: `python -m bench.joins flat`.

The state is filled with live rows, five of each key and side. Batches of 100 thousand rows follow, and each
row of them has on average one partner among the rows before it. Either nothing expires, or as many rows as
come: both read the same files, with another watermark delay.
"""

import argparse
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from bench import data as events
from bench import session
from bench.joins import data
from bench.joins.queries import NATIVE, Join
from bench.joins.runs import Runs

BATCH_ROWS = 100_000
FILL_ROWS = 1_000_000
BATCHES = 24
_WARM_UP = 4
_OURS = "panewise"
_ROWS_OF_A_KEY = 10  # on both sides together
# A row expires 1,000 seconds after its time: when the watermark, 800 seconds behind, has passed the 200
# seconds in which it matches. In these 200 seconds a key has one row of each side.
_LIVE_US = 1_000_000_000
_EXPIRING = Join("inner", -_LIVE_US // 5, _LIVE_US // 5, "800 seconds")
JOINS = {"nothing": replace(_EXPIRING, delay="100 days"), "as much as comes": _EXPIRING}


@dataclass(frozen=True, slots=True)
class Flat:
    """The result of one runner with one number of live rows."""

    runner: str
    live: int
    expires: str
    median_s: float
    worst_s: float

    def cells(self, first: "Flat") -> tuple[str, ...]:
        """Returns the cells of its row in the table; `first` is the result with the first number of rows."""
        worst, times = self.worst_s / self.median_s, self.median_s / first.median_s
        numbers = (f"{self.median_s:.3f}", f"{times:.2f}", f"{worst:.1f}")
        return (self.runner, f"{self.live:,}", self.expires, *numbers)


def filled(live: int, batch_rows: int = BATCH_ROWS, cache: Path = events.CACHE) -> data.Sides:
    """Returns files that fill the state, followed by those that are measured; creates missing files."""
    sizes = [*_parts(live), *([batch_rows] * BATCHES)]
    sides = data.Sides(cache / f"join_flat-{live}-{batch_rows}", batch_rows, len(sizes), closed=False)
    events.make(sides.folder, lambda staging: data.write(staging, _batches(live, sizes), closed=False))
    return sides


def _parts(live: int) -> list[int]:
    whole, rest = divmod(live, FILL_ROWS)
    return [FILL_ROWS] * whole + ([rest] if rest else [])


def _batches(live: int, sizes: Sequence[int]) -> Iterator[data.Batch]:
    draw, first = np.random.default_rng(live), 0

    def side(rows: int) -> pl.DataFrame:
        ts = np.arange(first, first + rows) * _LIVE_US // (live // 2)
        ts += draw.integers(0, _LIVE_US // 100, rows)
        return data.frame(ts, draw.integers(0, live // _ROWS_OF_A_KEY, rows), draw)

    for size in sizes:
        yield side(size // 2), side(size // 2)
        first += size // 2


def measure(runs: Runs, runner: str, expires: str, sides: data.Sides, live: int) -> Flat:
    """Runs a join over all files. Only batches after the fill and a few warm-up batches count."""
    join = JOINS[expires]
    every = runs.ours(sides, join) if runner == _OURS else runs.native(runner, sides, join)
    seconds = every[-(BATCHES - _WARM_UP) :]
    return Flat(runner, live, expires, statistics.median(seconds), max(seconds))


def table(results: Sequence[Flat]) -> str:
    """Returns a table of the results."""
    first: dict[tuple[str, str], Flat] = {}
    for result in results:
        first.setdefault((result.runner, result.expires), result)
    rows = [
        ("runner", "live rows", "expires", "median s", "times the first", "worst / median"),
        *(result.cells(first[result.runner, result.expires]) for result in results),
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Runs every runner with every number of live rows."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.joins flat",
        description="How the time of a micro-batch grows with the state of a join.",
    )
    parser.add_argument(
        "--live", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000], help="default: %(default)s"
    )
    parser.add_argument("--batch-rows", type=int, default=BATCH_ROWS, help="default: %(default)s")
    parser.add_argument(
        "--runner", choices=[_OURS, *NATIVE], nargs="+", default=[_OURS], help="default: %(default)s"
    )
    asked = parser.parse_args(argv)
    if min(*asked.live, asked.batch_rows) < _ROWS_OF_A_KEY:
        given = f"--live {asked.live} --batch-rows {asked.batch_rows}"
        parser.error(f"{given} | a key has {_ROWS_OF_A_KEY} rows | give a number such as {BATCH_ROWS}")
    runs, results = Runs(session.start()), list[Flat]()
    for expires in JOINS:
        for live in asked.live:
            sides = filled(live, asked.batch_rows)
            for runner in asked.runner:
                measure(runs, runner, expires, sides, live) if not results else None  # warms the JVM up
                results.append(measure(runs, runner, expires, sides, live))
                print(
                    f"{runner}, {live:,} rows, expires: {expires}: {results[-1].median_s:.3f} s", flush=True
                )
    runs.spark.stop()
    print(f"\n{table(results)}")
