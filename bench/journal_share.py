"""The share of a micro-batch that a journal takes, measured inside: `python -m bench.metrics --share`.

Queries run with a journal. In the Python workers the activity of each step is timed, and on the driver what
the listener does with a report: reading it, metrics, the journal, the log line. No query without a journal is
compared, so the share does not depend on the load of the machine as a difference of two runs does. What Spark
does for the column of the activity is not in it.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import data, ours, session
from bench.measure import WARM_UP_BATCHES, batch_seconds, progress_of
from bench.shapes import SHAPES
from bench.timed_steps import FILE, TimedProcessor
from panewise.spark.dataflow import dataflow
from panewise.spark.queries.observer import Observer, observe

TARGET = 2.0  # percent of a micro-batch
_PARALLEL = 2  # shards, each with a core


@dataclass(frozen=True)
class Share:
    """What a journal took in a run.

    Attributes:
        batches: the seconds of each micro-batch, without those of the warm-up.
        steps: the seconds of the activity in each step of a shard, with those of the warm-up.
        reports: the seconds of the listener for each report, with those of the warm-up.
    """

    batches: Sequence[float]
    steps: Sequence[float]
    reports: Sequence[float]

    @property
    def batch_s(self) -> float:
        """The seconds of a micro-batch."""
        return statistics.median(self.batches)

    @property
    def workers_s(self) -> float:
        """The seconds of the steps of a micro-batch, of which so many run at the same time."""
        return statistics.mean(self.steps[WARM_UP_BATCHES * _PARALLEL :])

    @property
    def driver_s(self) -> float:
        """The seconds of the listener for a micro-batch."""
        return statistics.mean(self.reports[WARM_UP_BATCHES:])

    @property
    def percent(self) -> float:
        """The share of a micro-batch, in percent."""
        return 100 * (self.workers_s + self.driver_s) / self.batch_s


def print_shares(shapes: Sequence[str], batch_rows: Sequence[int], batches: int, hot_keys: int) -> None:
    """Measures small and large micro-batches of these shapes."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        os.environ[FILE] = str(Path(directory, "seconds"))
        spark = session.start()
        for name in shapes:
            for rows in batch_rows:
                share = measured(spark, name, data.cached(rows, batches), hot_keys, Path(directory))
                print(line_of(f"{name}, {rows:,} rows", share), flush=True)
        spark.stop()
        del os.environ[FILE]


def measured(spark: Any, name: str, events: data.Events, hot_keys: int, directory: Path) -> Share:
    """Runs the query of a shape with a journal."""
    file, reports = Path(os.environ[FILE]), list[float]()
    file.write_text("", encoding="utf-8")
    with (
        _timed_workers(),
        _timed_listener(reports),
        tempfile.TemporaryDirectory(dir=directory) as place,
        observe(spark, log=False, journal=f"{place}/journal", hot_keys=hot_keys),
    ):
        query = ours.query(session.read(spark, events), SHAPES[name])
        seconds = batch_seconds(progress_of(query, "append", f"{place}/checkpoint"))
    steps = [float(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return Share(seconds[WARM_UP_BATCHES:], steps, reports)


def line_of(what: str, share: Share) -> str:
    """Returns the line that shows a share."""
    verdict = "at most" if share.percent <= TARGET else "above"
    whole, workers, driver = (1000 * seconds for seconds in (share.batch_s, share.workers_s, share.driver_s))
    return (
        f"{what}: {whole:.0f} ms, of which the journal takes {workers:.2f} ms in workers and {driver:.2f} "
        f"ms on the driver: {share.percent:.2f} %, {verdict} {TARGET:g} %"
    )


@contextmanager
def _timed_workers() -> Iterator[None]:
    """Makes the processors of queries those that time their steps."""
    own = dataflow.Processor
    dataflow.Processor = TimedProcessor  # type: ignore[misc]
    try:
        yield
    finally:
        dataflow.Processor = own  # type: ignore[misc]


@contextmanager
def _timed_listener(reports: list[float]) -> Iterator[None]:
    """Adds the seconds of the listener for each report."""
    own = Observer.onQueryProgress

    def timed(observer: Observer, event: Any) -> None:
        began = time.perf_counter()
        own(observer, event)
        reports.append(time.perf_counter() - began)

    Observer.onQueryProgress = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        Observer.onQueryProgress = own  # type: ignore[method-assign]
