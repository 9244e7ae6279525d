"""Says where the time of a micro-batch goes: `python -m bench.budget [--rows N ...] [--beside]`.

Spark's progress reports have the parts of a micro-batch on the driver, and Spark's event log has its stages.
Marks in the Python workers (:mod:`bench.budget_marks`) have what pack and step take of each stage. The parts
of a micro-batch add up to its time. A part is the mean over all micro-batches after the warm-up.

With `--beside` the same is measured, in alternating runs, for two stages that only count (:mod:`bench.empty`)
and, for windows, for Spark's own operator. Spark's own join takes more than ten times as long as panewise's.
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
from bench.joins import compare as joins
from bench.joins import data as sides
from bench.joins import queries as of_joins
from bench.measure import WARM_UP_BATCHES, progress_of
from bench.peers import PEERS
from bench.shapes import SHAPES, output_mode

_ON_DRIVER = ("latestOffset", "getBatch", "walCommit", "commitOffsets", "commitBatch")
_CALL_OF_STAGE = ("Pack", "Processor")
_NAMES = {"Pack": "pack", "Processor": "step"}

_JOIN = joins.SHAPES["inner"]

Parts = dict[str, float]
Query = Callable[..., DataFrame]  # its arguments are the streams that it reads


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
    """A query that has ended: when it ran, in milliseconds, and its progress reports.

    `batches` is the number of micro-batches that count. A join has one more, which closes its input.
    """

    begin: float
    end: float
    progress: Sequence[Mapping[str, Any]]
    batches: int

    @classmethod
    def of(cls, frame: DataFrame, output_mode: str, checkpoint: str, batches: int) -> Self:
        """Runs a query over all its input."""
        begin = time.time() * 1000
        progress = progress_of(frame, output_mode, checkpoint)
        return cls(begin, time.time() * 1000, progress, batches)

    def parts(self, stages: Sequence[Stage], marks: Sequence[Mapping[str, Any]]) -> list[Parts]:
        """Returns the parts of each micro-batch after the warm-up, from what all queries have."""
        mine = [stage for stage in stages if self.begin <= stage.begin <= self.end]
        own = [mark for mark in marks if self.begin <= mark["begin"] * 1000 <= self.end]
        full = [report for report in self.progress if report["numInputRows"] > 0]
        return [parts_of(report, mine, own) for report in full[WARM_UP_BATCHES : self.batches]]


@dataclass
class InWorker:
    """What a Python worker does of a stage, in milliseconds.

    Attributes:
        call: the function that Spark calls, pack or step; empty if none of them has a mark.
        begin: when it is first called.
        works: how long it works.
        waits: how long it waits for its input.
    """

    call: str = ""
    begin: float = 0.0
    works: float = 0.0
    waits: float = 0.0

    def add(self, mark: Mapping[str, Any]) -> None:
        """Adds a call."""
        self.works += mark["works"] * 1000
        self.waits += mark["waits"] * 1000


def in_worker(stage: Stage, marks: Sequence[Mapping[str, Any]]) -> InWorker:
    """Returns what the worker with the most work and waits does of a stage."""
    workers = dict[tuple[str, int], InWorker]()
    for mark in marks:
        call, begin = mark["call"], mark["begin"] * 1000
        if call in _CALL_OF_STAGE and stage.begin <= begin < stage.end:
            workers.setdefault((call, mark["process"]), InWorker(_NAMES[call], begin)).add(mark)
    return max(workers.values(), key=lambda worker: worker.works + worker.waits, default=InWorker())


def parts_of(
    progress: Mapping[str, Any], stages: Sequence[Stage], marks: Sequence[Mapping[str, Any]]
) -> Parts:
    """Returns the parts of a micro-batch in milliseconds. They add up to `triggerExecution`."""
    durations = progress["durationMs"]
    parts = {f"driver: {name}": float(durations.get(name, 0)) for name in _ON_DRIVER}
    parts["driver: queryPlanning"] = float(durations.get("queryPlanning", 0))
    mine = [stage for stage in stages if stage.batch == progress["batchId"]]
    parts |= parts_of_stages(mine, marks, progress)
    in_stages = sum(stage.end - stage.begin for stage in mine)
    parts["addBatch: before, between and behind the stages"] = durations["addBatch"] - in_stages
    parts["driver: other"] = durations["triggerExecution"] - sum(parts.values())
    return parts


def parts_of_stages(
    stages: Sequence[Stage], marks: Sequence[Mapping[str, Any]], progress: Mapping[str, Any]
) -> Parts:
    """Returns the parts of the stages of a micro-batch in milliseconds. They add up to the time of each."""
    parts = {}
    for number, stage in enumerate(stages, start=1):
        worker, of_stage = in_worker(stage, marks), dict[str, float]()
        if worker.call:
            of_stage[f"until {worker.call} is called"] = worker.begin - stage.begin
            of_stage[f"{worker.call}, work"] = worker.works
            of_stage[f"{worker.call}, waits for input"] = worker.waits
        if worker.call == "step":
            operators = progress["stateOperators"]
            commit = sum(op["commitTimeMs"] / op["numShufflePartitions"] for op in operators)
            of_stage["commit of the state store"] = commit
        of_stage["Spark"] = stage.end - stage.begin - sum(of_stage.values())
        parts |= {f"stage {number}: {name}": ms for name, ms in of_stage.items()}
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


def lines(folder: Path) -> Iterator[str]:
    """Yields the lines of the files in a directory and below, in the order of their names."""
    for file in sorted(path for path in folder.rglob("[!.]*") if path.is_file()):
        yield from file.read_text(encoding="utf-8").splitlines()


def recorded(folder: Path) -> tuple[Path, Path]:
    """Lets Spark, once it starts, write an event log and its workers marks. Returns the directories of both.

    It changes the environment of this process, which those that it starts have, too.
    """
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
    if shape == _JOIN.name:
        counting: Query = partial(of_joins.empty, rows_out=_JOIN.partners / 2)
        measured = {"panewise": (partial(of_joins.ours, join=_JOIN.join), "append")}
        return measured | ({"two stages that count": (counting, "append")} if beside else {})
    windows = SHAPES[shape]
    measured = {"panewise": (partial(ours.query, shape=windows), "append")}
    if beside:
        measured["two stages that count"] = empty.query, "append"
        measured["native"] = partial(native.query, shape=windows), output_mode(windows)
    return measured


def streams(spark: SparkSession, shape: str, rows: int, batches: int) -> tuple[DataFrame, ...]:
    """Returns the streams that the queries read, with so many rows in a micro-batch of all of them."""
    if shape == _JOIN.name:
        return sides.random(shape, rows, batches, _JOIN.partners).read(spark)
    return (session.read(spark, data.cached(rows, batches)),)


def measured(asked: argparse.Namespace, folder: Path) -> dict[int, dict[str, Parts]]:
    """Returns the parts of a micro-batch for each number of rows, by query."""
    log, marks = recorded(folder)
    spark = session.start()
    runs = {rows: _runs(spark, rows, asked, folder) for rows in asked.rows}
    spark.stop()
    all_stages, all_marks = stages_of(lines(log)), [json.loads(line) for line in lines(marks)]
    return {
        rows: {
            name: means([parts for run in of_query for parts in run.parts(all_stages, all_marks)])
            for name, of_query in by_query.items()
        }
        for rows, by_query in runs.items()
    }


def _runs(spark: SparkSession, rows: int, asked: argparse.Namespace, folder: Path) -> dict[str, list[Run]]:
    """Runs the queries in turn, and returns the runs after the warm-up."""
    runs = defaultdict[str, list[Run]](list)
    for number in range(asked.warm_up + asked.rounds):
        for name, (query, mode) in queries(asked.shape, asked.beside).items():
            checkpoint = folder / f"checkpoint-{rows}-{number}-{name}"
            frame = query(*streams(spark, asked.shape, rows, asked.batches))
            run = Run.of(frame, mode, str(checkpoint), asked.batches)
            if number >= asked.warm_up:
                runs[name].append(run)
    return runs


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.budget", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 1_000_000], help="rows a micro-batch")
    parser.add_argument(
        "--shape", choices=[*SHAPES, _JOIN.name], default="tumbling", help="default: %(default)s"
    )
    parser.add_argument(
        "--batches", type=int, default=12, help="micro-batches of a run; default: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=1, help="runs of each query; default: %(default)s")
    parser.add_argument("--warm-up", type=int, default=0, help="runs of each before; default: %(default)s")
    parser.add_argument(
        "--beside",
        action="store_true",
        help="measure two stages that count, too, and for windows Spark's own operator",
    )
    asked = parser.parse_args(argv)
    if asked.beside and asked.shape in SHAPES and not PEERS["native"].can(SHAPES[asked.shape]):
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
