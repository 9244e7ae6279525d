"""One run of :mod:`bench.guard`: the seconds of a few shapes, as JSON, with the panewise of PYTHONPATH.

It uses only what older commits have, too.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import polars as pl

from bench.measure import stream_seconds
from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    Frame,
    Interval,
    JoinOperator,
    OverColumn,
    OverOperator,
    Session,
    Side,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.engine.registry import operator_for
from panewise.standalone import StandaloneOperator

SECOND = 1_000_000
KEYS = 100
SCHEMA = {"ts": pl.Int64(), "k": pl.String(), "v": pl.Int64()}
TYPES = {"ts": "bigint", "k": "string", "v": "bigint"}
AGGREGATES = [F.count("v").alias("n"), F.sum("v").alias("total")]
WARM_UP = 10  # steps


def frame(step: int, rows: int) -> pl.DataFrame:
    """Returns the rows of a step: those of one second, of a hundred keys."""
    numbers = pl.int_range(rows, eager=True)
    keys = ("k" + ((numbers + step * 7) % KEYS).cast(pl.String)).alias("k")
    return pl.DataFrame([(step * SECOND + numbers % SECOND).alias("ts"), keys, (numbers + step).alias("v")])


def windows(window: Any) -> WindowOperator:
    """Returns an operator that fires after each step."""
    return WindowOperator(
        keys=["k"],
        event_time="ts",
        window=window,
        aggregates=AGGREGATES,
        trigger=AfterWatermark(early=Always()),
    )


TUMBLING, SESSIONS = windows(Tumbling(10 * SECOND)), windows(Session(10 * SECOND))
OVER = OverOperator(
    keys=["k"], event_time="ts", columns=[OverColumn(F.sum("v").alias("total"), Frame("rows", -2, 0))]
)
JOIN = JoinOperator(
    left=Side(keys=["k"], event_time="ts"),
    right=Side(keys=["k"], event_time="ts", prefix="r_"),
    match=Interval(0, 2 * SECOND),
)


def steps(spec: Any, rows: int, count: int) -> Callable[[], None]:
    """Returns steps of an operator: rows, then a watermark five seconds behind them."""
    ports = list(spec.ports)
    operator = operator_for(spec, dict.fromkeys(ports, SCHEMA))
    frames = [frame(step, rows) for step in range(count + WARM_UP)]

    def run(first: int, last: int) -> None:
        for step in range(first, last):
            operator.add(frames[step], ports[step % len(ports)])
            operator.advance(watermark=(step - 5) * SECOND)

    run(0, WARM_UP)
    return lambda: run(WARM_UP, count + WARM_UP)


def messages(early: Any, count: int) -> Callable[[], None]:
    """Returns messages one by one, each with a watermark and a drain after it."""
    trigger = AfterWatermark(early=early)
    spec = WindowOperator(
        keys=["k"], event_time="ts", window=Tumbling(10 * SECOND), aggregates=AGGREGATES, trigger=trigger
    )
    operator, rows = StandaloneOperator(spec, TYPES), frame(0, count).to_dicts()

    def run() -> None:
        for row in rows:
            operator.add_message(row)
            operator.advance(watermark=row["ts"] - SECOND)
            operator.drain()

    return run


SHAPES: dict[str, Callable[[], Callable[[], None]]] = {
    "tumbling, steps of 1 row": lambda: steps(TUMBLING, 1, 150),
    "tumbling, steps of 1,000 rows": lambda: steps(TUMBLING, 1_000, 100),
    "tumbling, steps of 200,000 rows": lambda: steps(TUMBLING, 200_000, 6),
    "sessions, steps of 1 row": lambda: steps(SESSIONS, 1, 100),
    "sessions, steps of 50,000 rows": lambda: steps(SESSIONS, 50_000, 6),
    "OVER, steps of 1,000 rows": lambda: steps(OVER, 1_000, 100),
    "interval join, steps of 1,000 rows": lambda: steps(JOIN, 1_000, 50),
    "messages, deferred": lambda: messages(None, 20_000),
    "messages with early panes": lambda: messages(AfterCount(2), 300),
}


def in_process() -> dict[str, tuple[float, float]]:
    """Returns the seconds of each shape: of the processor, and on the wall."""
    seconds = {}
    for name, prepare in SHAPES.items():
        run = prepare()
        gc.collect()
        processor, wall = time.process_time(), time.perf_counter()
        run()
        seconds[name] = time.process_time() - processor, time.perf_counter() - wall
    return seconds


def on_spark(batch_rows: int, shapes: Sequence[str]) -> dict[str, tuple[None, float]]:
    """Returns the median seconds of a micro-batch on Spark for each shape, from its second run.

    Spark's own operator, where it has such windows, runs in turn. It is the same with each commit, so it says
    how far the machine has changed.
    """
    from bench import data, native, ours, session  # noqa: PLC0415 - most runs start no Spark
    from bench.shapes import SHAPES as ON_SPARK  # noqa: PLC0415
    from bench.shapes import Sessions, Windows, output_mode  # noqa: PLC0415

    spark, events, seconds = session.start(), data.cached(batch_rows, 8), {}
    for name, shape in ((name, ON_SPARK[name]) for name in shapes):
        for _ in range(2):
            query = ours.query(session.read(spark, events), shape)
            seconds[f"Spark, {name}, {batch_rows:,} rows"] = None, median(stream_seconds(query, "append"))
            if isinstance(shape, Windows | Sessions):
                peer = native.query(session.read(spark, events), shape)
                by_peer = median(stream_seconds(peer, output_mode(shape)))
                seconds[f"native, {name}, {batch_rows:,} rows"] = None, by_peer
    spark.stop()
    return seconds


if __name__ == "__main__":
    _, *asked = sys.argv
    print(json.dumps(on_spark(int(asked[0]), asked[1:]) if asked else in_process()))
