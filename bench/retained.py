"""Speed of retained windows, beside a standalone operator that evaluates late messages one by one.

`python -m bench.retained`. Messages are added one by one, on one core, to operators in memory with the same
windows and results. Runs alternate, so that a busy machine affects both alike: read the ratios.

A join window operator is measured with few and with many retained messages. No two have the same equal
fields.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl

from bench.standalone import SECOND, seconds
from panewise import AfterProcessingTime, AfterWatermark, Session, StreamTime, Tumbling, WindowOperator
from panewise import functions as F
from panewise.spec import Aggregate
from panewise.standalone import (
    AggregatorSettings,
    JoinWindowOperator,
    JoinWindowSettings,
    StandaloneOperator,
    WindowedAggregator,
)

SIZE = 60 * SECOND
RETAINED = 10 * SIZE
KEYS = 100
ROUNDS = 3
JOIN_RETAINED = 1_000, 10_000, 100_000
MANY, FEW = 30_000, 1_000  # the messages of a run: retained windows, and the standalone operator
TYPES = {"k": "bigint", "event_time": "bigint", "v": "bigint"}


@dataclass(frozen=True)
class Case:
    """Windows and aggregates that both kinds of operators have."""

    name: str
    aggregate: Aggregate
    sessions: bool = False

    def retained(self) -> WindowedAggregator:
        """Returns the operator of retained windows."""
        shape: dict[str, Any] = {"session_key": "k"} if self.sessions else {"advance": SIZE}
        settings = AggregatorSettings(
            measure="time", size=SIZE, retention_size=10**9, retention_time=RETAINED, **shape
        )
        return WindowedAggregator(settings, [self.aggregate.alias("a")], TYPES)

    def standalone(self) -> StandaloneOperator:
        """Returns a standalone operator that evaluates late messages one by one."""
        spec = WindowOperator(
            window=Session(SIZE, closed="both") if self.sessions else Tumbling(SIZE),
            aggregates=[self.aggregate.alias("a")],
            keys=["k"] if self.sessions else [],
            trigger=AfterWatermark(late=AfterProcessingTime("10 seconds")),
            allowed_lateness=RETAINED,
            watermark=StreamTime(0, per="all"),
            on_time="if_pending",
        )
        return StandaloneOperator(spec, TYPES, buffer=1)


CASES = (
    Case("sums, tumbling windows", F.sum("v")),
    Case("medians, tumbling windows", F.median("v")),
    Case("sums, sessions", F.sum("v"), sessions=True),
)


def messages(count: int) -> list[dict[str, Any]]:
    """Returns messages with a tenth of a second between them, up to a minute late.

    A window has 600 of them. A key has one each ten seconds, and a pause in every ten minutes.
    """
    random = np.random.default_rng(count)
    number = np.arange(count)
    pauses = number // 6_000 * 2 * SIZE
    return pl.DataFrame(
        {
            "k": random.integers(0, KEYS, count),
            "event_time": number * SECOND // 10 + pauses - random.integers(0, SIZE, count),
            "v": random.integers(0, 1000, count),
        }
    ).to_dicts()


def add(made: Callable[[], Any], given: Sequence[dict[str, Any]]) -> None:
    """Makes an operator, and adds messages one by one."""
    operator = made()
    for message in given:
        operator.add_message(message)
    operator.drain()


def rates(case: Case) -> tuple[list[float], list[float]]:
    """Returns the messages per second of each run: of retained windows, and of the standalone operator."""
    many, few = messages(MANY), messages(FEW)
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        found[0].append(MANY / seconds(partial(add, case.retained, many)))
        found[1].append(FEW / seconds(partial(add, case.standalone, few)))
    return found


def join_windows(retained: int) -> float:
    """Returns the messages per second of a join window operator that retains so many messages."""
    settings = JoinWindowSettings(
        measure="time",
        size=SIZE,
        advance=SIZE,
        retention_size=10**9,
        retention_time=retained * SECOND // 10,
        keyed_message_store=("k",),
    )
    operator, count = JoinWindowOperator(settings, TYPES), MANY + 2 * retained
    given = [{"k": number, "event_time": number * SECOND // 10, "v": 1} for number in range(count)]
    for message in given[:-MANY]:
        operator.add_message(message)
        operator.drain()
    return MANY / seconds(partial(add, lambda: operator, given[-MANY:]))


def main() -> None:
    """Prints the speeds in messages per second, and the median of their ratios with its range."""
    for retained in JOIN_RETAINED:
        print(f"join windows, {retained:>7,} messages retained {join_windows(retained):>9,.0f} messages/s")
    for case in CASES:
        runs = rates(case)
        many, few = map(median, runs)
        ratios = sorted(one / other for one, other in zip(*runs, strict=True))
        print(
            f"{case.name:<27} retained {many:>9,.0f} messages/s   standalone {few:>7,.0f}"
            f" messages/s   ratio {median(ratios):.0f} ({ratios[0]:.0f} to {ratios[-1]:.0f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
