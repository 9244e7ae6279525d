"""Measures the cost of the counts in progress reports, and of a journal: `python -m bench.metrics`.

Queries with the counts and without them alternate. With `--journal` it measures what a journal costs beside
the counts: first the processor time of a step in this process, then whole queries. With `--share` it
measures inside whole queries which share of a micro-batch a journal takes.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import polars as pl

import panewise as pw
from bench import data, ours, session
from bench.journal_share import print_shares
from bench.measure import alternate, stream_seconds
from bench.shapes import SHAPES, Shape
from panewise import functions as F
from panewise.engine.protocol import Operator
from panewise.engine.registry import operator_for
from panewise.observe.activity import merged_activity
from panewise.observe.journal import Journal
from panewise.observe.micro_batch import BatchFigures, MicroBatch
from panewise.spark.activity import SETTING, ActivitySettings, StepActivity
from panewise.spark.session.settings import METRICS
from panewise.spark.workers.step import PortBatch

T = TypeVar("T")
_BATCH_ROWS, _BATCHES, _ROUNDS = (10_000, 1_000_000), 12, 6
_DEFAULT, _OFF = "panewise", ""
_STEPS = ((10_000, 100), (100_000, 1_000), (1_000_000, 100_000))  # rows and keys of a step
_REPEATED = 11


def main() -> None:
    """Measures small and large micro-batches of every shape on the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.metrics", description="What the counts in progress reports cost, or a journal."
    )
    parser.add_argument(
        "--shape", choices=SHAPES, nargs="*", default=["tumbling", "rows"], help="default: %(default)s"
    )
    parser.add_argument(
        "--journal", action="store_true", help="measure what a journal costs beside the counts"
    )
    parser.add_argument(
        "--share", action="store_true", help="measure which share of a micro-batch a journal takes instead"
    )
    parser.add_argument(
        "--batch-rows", type=int, nargs="*", default=_BATCH_ROWS, help="with --share; default: %(default)s"
    )
    parser.add_argument(
        "--batches", type=int, default=_BATCHES, help="micro-batches with --share; default: %(default)s"
    )
    parser.add_argument("--hot-keys", type=int, default=0, help="hot keys with --share; default: %(default)s")
    asked = parser.parse_args()
    if asked.share:
        print_shares(asked.shape, asked.batch_rows, asked.batches, asked.hot_keys)
        return
    if asked.journal:
        _print_steps()
    if asked.shape:
        _print_queries(asked.shape, journal=asked.journal)


def _print_queries(shapes: list[str], *, journal: bool) -> None:
    spark = session.start()
    changes = ({SETTING: "0"}, {SETTING: ""}) if journal else ({METRICS: _DEFAULT}, {METRICS: _OFF})

    def seconds(events: data.Events, shape: Shape, settings: dict[str, str]) -> list[float]:
        with session.settings(spark, settings):
            return stream_seconds(ours.query(session.read(spark, events), shape), "append")

    for shape in map(SHAPES.__getitem__, shapes):
        for rows in _BATCH_ROWS:
            events = data.cached(rows, _BATCHES)
            with_it, without = (partial(seconds, events, shape, change) for change in changes)
            pair = alternate(with_it, without, _ROUNDS, [with_it, without])
            cost = 100 * (pair.ours_s / pair.peer_s - 1)
            print(
                f"{shape.name}, {rows:,} rows: {pair.ours_s:.3f} s with, {pair.peer_s:.3f} s without, "
                f"{cost:+.1f} %",
                flush=True,
            )
    spark.stop()


def _print_steps() -> None:
    """Prints the processor time of a step, of its activity, of hot keys, and of the driver."""
    print("rows, keys | step, ms | activity, ms | hot keys, ms | driver, ms | line, bytes")
    for rows, keys in _STEPS:
        print(f"{rows:,}, {keys:,} | " + " | ".join(_step_costs(rows, keys)), flush=True)


def _step_costs(rows: int, keys: int) -> list[str]:
    spec = pw.WindowOperator(
        keys=["k"],
        event_time="ts",
        window=pw.Tumbling(60),
        trigger=pw.AfterWatermark(early=pw.Always()),
        aggregates=[F.sum("v").alias("s"), F.count().alias("n"), F.max("v").alias("m")],
    )
    numbers = pl.int_range(rows, dtype=pl.Int64, eager=True)
    frame = pl.DataFrame({"ts": numbers * 600 // rows, "k": numbers % keys, "v": numbers % 97})
    schema = dict(frame.schema)
    settings = ActivitySettings.for_spec(spec, 10, 4, operator_for(spec, schema).plan.pane_schema)
    samples: list[list[float]] = []
    for _ in range(_REPEATED):
        operator = operator_for(spec, schema)
        activity = StepActivity.at_start(settings, operator)
        validated = operator.plan.ports["input"].validate(frame, 0).valid
        step, panes = _timed(partial(_panes, operator, validated))
        work = _timed(partial(_reported, activity, operator, panes))
        hot = _timed(partial(activity.add_rows, operator, {"input": PortBatch(rows=[validated])}))
        driver = _timed(partial(_written, work[1]))
        samples.append([step, work[0], hot[0], driver[0], driver[1]])
    medians = [sorted(column)[_REPEATED // 2] for column in zip(*samples, strict=True)]
    return [*(f"{1000 * value:.2f}" for value in medians[:4]), f"{medians[4]:,.0f}"]


def _panes(operator: Operator, rows: pl.DataFrame) -> list[pl.DataFrame]:
    return [output.panes for output in operator.add_together({"input": rows}, {})]


def _reported(activity: StepActivity, operator: Operator, panes: list[pl.DataFrame]) -> str:
    for frame in panes:
        activity.add_panes(frame)
    activity.add_state(operator)
    return activity.text(0, {})


def _written(text: str) -> int:
    """Merges and writes the reports of four shards with this text; returns the length of the line."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        journal = Journal(directory)
        figures = BatchFigures({"rows_in": 1}, activity=merged_activity([json.loads(json.dumps(text))] * 4))
        journal.add(MicroBatch("bench", 0, 1, 1.0, {"panewise": figures}))
        journal.close()
        return sum(path.stat().st_size for path in Path(directory).glob("*.jsonl"))


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


if __name__ == "__main__":
    main()
