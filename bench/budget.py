"""Says where the time of a micro-batch goes: `python -m bench.budget [--rows N ...] [--beside]`.

Spark's progress reports have the parts of a micro-batch on the driver, and Spark's event log has its stages.
Marks in the Python workers (:mod:`bench.budget_marks`) have what pack and step take of each stage. The parts
of a micro-batch add up to its time. A part is the mean over all micro-batches after the warm-up.

With `--beside` the same is measured, in alternating runs, for two stages that only count (:mod:`bench.empty`)
and for Spark's own operator.
"""

import argparse
import json
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, Self

from pyspark.sql import DataFrame, SparkSession

from bench import budget_marks, data, empty, native, ours, session
from bench.measure import WARM_UP_BATCHES, progress_of
from bench.peers import PEERS
from bench.shapes import SHAPES, output_mode

_ON_DRIVER = ("latestOffset", "getBatch", "walCommit", "commitOffsets", "commitBatch")
_CALL_OF_STAGE = ("Pack", "Processor")
_NAMES = {"Pack": "pack", "Processor": "step"}

Parts = dict[str, float]
Query = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True)
class Stage:
    """A stage of a micro-batch, and when it ran, in milliseconds."""

    batch: int
    begin: float
    end: float


def stages_of(log: Iterable[str]) -> list[Stage]:
    """Returns the stages of the micro-batches in an event log of Spark, in the order of their begin."""
    batch_of_stage, stages = dict[int, int](), list[Stage]()
    for event in map(json.loads, log):
        if event["Event"] == "SparkListenerJobStart":
            batch = event.get("Properties", {}).get("streaming.sql.batchId")
            if batch is not None:
                batch_of_stage |= dict.fromkeys(event["Stage IDs"], int(batch))
        elif event["Event"] == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            if info["Stage ID"] in batch_of_stage and "Completion Time" in info:
                batch = batch_of_stage[info["Stage ID"]]
                stages.append(Stage(batch, info["Submission Time"], info["Completion Time"]))
    return sorted(stages, key=lambda stage: stage.begin)


@dataclass(frozen=True)
class Run:
    """A query that has ended: when it ran, in milliseconds, and its progress reports."""

    begin: float
    end: float
    progress: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, frame: DataFrame, output_mode: str, checkpoint: str) -> Self:
        """Runs a query over all its input."""
        begin = time.time() * 1000
        progress = progress_of(frame, output_mode, checkpoint)
        return cls(begin, time.time() * 1000, progress)

    def parts(self, stages: Sequence[Stage], marks: Sequence[Mapping[str, Any]]) -> list[Parts]:
        """Returns the parts of each micro-batch after the warm-up, from what all queries have."""
        mine = [stage for stage in stages if self.begin <= stage.begin <= self.end]
        own = [mark for mark in marks if self.begin <= mark["begin"] * 1000 <= self.end]
        full = [report for report in self.progress if report["numInputRows"] > 0][WARM_UP_BATCHES:]
        return [parts_of(report, mine, own) for report in full]


def in_worker(stage: Stage, marks: Sequence[Mapping[str, Any]]) -> tuple[str, float, float]:
    """Returns what the worker with the most work and waits does: the call, both, in ms."""
    totals = dict[tuple[str, int], list[float]]()
    for mark in marks:
        if mark["call"] in _CALL_OF_STAGE and stage.begin <= mark["begin"] * 1000 < stage.end:
            total = totals.setdefault((mark["call"], mark["process"]), [0.0, 0.0])
            total[0] += mark["works"] * 1000
            total[1] += mark["waits"] * 1000
    if not totals:
        return "", 0.0, 0.0
    (call, _), (works, waits) = max(totals.items(), key=lambda item: sum(item[1]))
    return _NAMES[call], works, waits


def parts_of(
    progress: Mapping[str, Any], stages: Sequence[Stage], marks: Sequence[Mapping[str, Any]]
) -> Parts:
    """Returns the parts of a micro-batch in milliseconds. They add up to `triggerExecution`."""
    durations = progress["durationMs"]
    parts = {f"driver: {name}": float(durations.get(name, 0)) for name in _ON_DRIVER}
    parts["driver: queryPlanning"] = float(durations.get("queryPlanning", 0))
    mine = [stage for stage in stages if stage.batch == progress["batchId"]]
    for number, stage in enumerate(mine, start=1):
        call, works, waits = in_worker(stage, marks)
        whole, rest = stage.end - stage.begin, f"stage {number}: Spark"
        if call:
            parts[f"stage {number}: {call}, work"] = works
            parts[f"stage {number}: {call}, waits for input"] = waits
            whole -= works + waits
        if call == "step":
            operators = progress["stateOperators"]
            commit = sum(op["commitTimeMs"] / op["numShufflePartitions"] for op in operators)
            parts[f"stage {number}: commit of the state store"] = commit
            whole -= commit
        parts[rest] = whole
    in_stages = sum(stage.end - stage.begin for stage in mine)
    parts["addBatch: before, between and behind the stages"] = durations["addBatch"] - in_stages
    parts["driver: other"] = durations["triggerExecution"] - sum(parts.values())
    return parts


def means(batches: Sequence[Parts]) -> Parts:
    """Returns the mean of each part; a batch that lacks one has 0."""
    return {name: mean(batch.get(name, 0.0) for batch in batches) for name in _names(batches)}


def _names(parts: Iterable[Parts]) -> Iterable[str]:
    return dict.fromkeys(name for of_batch in parts for name in of_batch)


def table(queries: Mapping[str, Parts]) -> str:
    """Returns the parts by query as a table of Markdown, with their sums."""
    columns = list(queries.values())
    rows = {name: [parts.get(name, 0.0) for parts in columns] for name in _names(columns)}
    shown = {name: row for name, row in rows.items() if max(map(abs, row)) >= 0.05}
    shown["all"] = [sum(parts.values()) for parts in columns]
    lines = [f"| {name} | {' | '.join(f'{ms:.1f}' for ms in row)} |" for name, row in shown.items()]
    return "\n".join([f"| part | {' | '.join(queries)} |", "|---" * (len(columns) + 1) + "|", *lines])


def _lines(folder: Path) -> Iterator[str]:
    for file in sorted(path for path in folder.rglob("[!.]*") if path.is_file()):
        yield from file.read_text(encoding="utf-8").splitlines()


def _prepare(folder: Path) -> tuple[Path, Path]:
    """Lets Spark write an event log and the workers marks. Returns the directories of both."""
    site, log, marks = (folder / name for name in ("site", "log", "marks"))
    for directory in (site, log, marks):
        directory.mkdir()
    shutil.copy(budget_marks.__file__, site / "sitecustomize.py")
    os.environ[budget_marks.FOLDER] = str(marks)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    options = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{log}",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    settings = [f"--conf {name}={value}" for name, value in options.items()]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join([*settings, "pyspark-shell"])
    return log, marks


def queries(shape: str, beside: bool) -> dict[str, tuple[Query, str]]:
    """Returns the queries that are measured and their output modes, by what the table calls them."""
    windows = SHAPES[shape]
    panewise: tuple[Query, str] = partial(ours.query, shape=windows), "append"
    if not beside:
        return {"panewise": panewise}
    by_spark = partial(native.query, shape=windows), output_mode(windows)
    return {"panewise": panewise, "two stages that count": (empty.query, "append"), "native": by_spark}


def measured(asked: argparse.Namespace, folder: Path) -> dict[int, dict[str, Parts]]:
    """Returns the parts of a micro-batch for each number of rows, by query."""
    log, marks = _prepare(folder)
    spark = session.start()
    runs = {rows: _runs(spark, rows, asked, folder) for rows in asked.rows}
    spark.stop()
    all_stages, all_marks = stages_of(_lines(log)), [json.loads(line) for line in _lines(marks)]
    return {
        rows: {
            name: means([parts for run in of_query for parts in run.parts(all_stages, all_marks)])
            for name, of_query in by_query.items()
        }
        for rows, by_query in runs.items()
    }


def _runs(spark: SparkSession, rows: int, asked: argparse.Namespace, folder: Path) -> dict[str, list[Run]]:
    """Runs the queries in turn, and returns the runs after the warm-up."""
    runs, events = defaultdict[str, list[Run]](list), data.cached(rows, asked.batches)
    for number in range(asked.warm_up + asked.rounds):
        for name, (query, mode) in queries(asked.shape, asked.beside).items():
            checkpoint = folder / f"checkpoint-{rows}-{number}-{name}"
            run = Run.of(query(session.read(spark, events)), mode, str(checkpoint))
            if number >= asked.warm_up:
                runs[name].append(run)
    return runs


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.budget", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 1_000_000], help="rows a micro-batch")
    parser.add_argument("--shape", choices=SHAPES, default="tumbling", help="default: %(default)s")
    parser.add_argument(
        "--batches", type=int, default=12, help="micro-batches of a run; default: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs of each query; default: %(default)s")
    parser.add_argument("--warm-up", type=int, default=0, help="runs of each before; default: %(default)s")
    parser.add_argument(
        "--beside", action="store_true", help="measure Spark's own operator and two stages that count"
    )
    asked = parser.parse_args(argv)
    if asked.beside and not PEERS["native"].can(SHAPES[asked.shape]):
        parser.error(
            f"--beside --shape {asked.shape} | Spark has no such windows on streams | leave --beside out"
        )
    return asked


def main() -> None:
    """Prints a table for each number of rows."""
    asked = arguments()
    with TemporaryDirectory(prefix="bench-budget-") as folder:
        budgets = measured(asked, Path(folder))
    for rows, parts in budgets.items():
        print(f"\n{asked.shape}, {rows:,} rows a micro-batch\n\n{table(parts)}")


if __name__ == "__main__":
    main()
