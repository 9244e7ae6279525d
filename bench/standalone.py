"""Speed of operators inside the caller's process, beside a batch query of Polars in the same process.

`python -m bench.standalone`. Tumbling sums of 10 thousand keys on one core. Runs alternate, so that a busy
machine affects all of them alike: read the ratios.
"""

import gc
import os
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from panewise import Session, Tumbling, WindowOperator
from panewise import functions as F
from panewise.standalone import StandaloneOperator

KEYS = 10_000
SIZE = 1_000_000
ROUNDS = 5
SECOND = 1_000_000
WINDOW = 60 * SECOND
TYPES = {"k": "bigint", "event_time": "bigint", "v": "bigint"}
TOTAL = F.sum("v").alias("total")
SPEC = WindowOperator(window=Tumbling(WINDOW), keys=["k"], aggregates=[TOTAL])
SESSIONS = WindowOperator(window=Session(WINDOW), keys=["k"], aggregates=[TOTAL])


def rows(number: int, count: int) -> pl.DataFrame:
    """Returns a batch: its rows are in one window, and somewhat out of order."""
    random = np.random.default_rng(number)
    return pl.DataFrame(
        {
            "k": random.integers(0, KEYS, count),
            "event_time": number * WINDOW + random.integers(0, WINDOW, count),
            "v": random.integers(0, 1000, count),
        }
    )


def seconds(work: Callable[[], object]) -> float:
    """Returns how long a call takes."""
    gc.collect()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def batches(operator: StandaloneOperator, parts: list[pl.DataFrame], *, flush: bool = False) -> None:
    """Adds batches. The watermark follows each of them by one window."""
    for part in parts:
        operator.add_batch(part)
        operator.advance(watermark=int(part["event_time"].max()) - WINDOW)  # type: ignore[arg-type]
        operator.get_result()
        operator.flush() if flush else operator.drain()


def in_polars(parts: list[pl.DataFrame]) -> None:
    """Computes the same sums of each batch by a query."""
    for part in parts:
        start = pl.col("event_time") // WINDOW * WINDOW
        part.group_by("k", start.alias("start")).agg(pl.col("v").sum())


def messages(operator: StandaloneOperator, given: list[dict[str, Any]], *, serve: bool = False) -> None:
    """Adds messages one by one. With `serve` it moves the watermark and drains after each of them."""
    for message in given:
        operator.add_message(message)
        if serve:
            operator.advance(watermark=message["event_time"] - SECOND)
            operator.drain()
    operator.timeout()
    operator.drain()


def of_batches(size: int) -> dict[str, float]:
    """Returns the medians of rows per second, for batches of this size."""
    count = max(1, SIZE // size) if size < SIZE else 4
    parts = [rows(number // max(1, count // 4), size) for number in range(count)]
    total, found = size * count, dict[str, list[float]]()
    for _ in range(ROUNDS):
        with TemporaryDirectory() as directory:
            stored = StandaloneOperator(SPEC, TYPES, store=directory)
            made: dict[str, Callable[[], object]] = {
                "Polars query": lambda: in_polars(parts),
                "add_batch": lambda: batches(StandaloneOperator(SPEC, TYPES), parts),
            }
            if size == SIZE:
                made["add_batch, flush after each"] = partial(batches, stored, parts, flush=True)
            for name, work in made.items():
                found.setdefault(name, []).append(total / seconds(work))
            stored.close()
    return {name: median(rates) for name, rates in found.items()}


def of_messages(
    count: int, buffer: int | None = 1, spec: WindowOperator = SPEC, *, serve: bool = False
) -> float:
    """Returns the median of messages per second. With `serve` they are in order, and there are 10 windows."""
    made = rows(0, count)
    if serve:
        made = made.with_columns(pl.col("event_time").sort() * 10)
    given = made.to_dicts()
    return median(
        count / seconds(lambda: messages(StandaloneOperator(spec, TYPES, buffer=buffer), given, serve=serve))
        for _ in range(ROUNDS)
    )


def main() -> None:
    """Prints the speeds, in rows per second and as ratios to the query."""
    for size in (1_000, 10_000, SIZE):
        rates = of_batches(size)
        for name, rate in rates.items():
            print(
                f"batches of {size:>9,}  {name:<28} {rate:>12,.0f} rows/s  {rate / rates['Polars query']:.2f}"
            )
    found = {
        "messages, buffer of 10,000": of_messages(200_000, 10_000),
        "messages, each a batch": of_messages(200_000),
        "the same, of sessions": of_messages(200_000, spec=SESSIONS),
        "the same, watermark and drain after each": of_messages(200_000, serve=True),
    }
    for name, rate in found.items():
        print(f"{name:<45} {rate:>12,.0f} messages/s")


if __name__ == "__main__":
    main()
