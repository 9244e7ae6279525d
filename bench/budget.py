"""Says where the time of a micro-batch goes: `python -m bench.budget [--rows N ...]`.

Spark's progress reports have the parts of a micro-batch on the driver, and Spark's event log has its stages.
Marks in the Python workers (:mod:`bench.budget_marks`) have what pack and step take of each stage. The parts
of a micro-batch add up to its time. A part is the mean over all micro-batches after the warm-up.
"""

import argparse
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from bench import budget_marks
from bench.measure import WARM_UP_BATCHES

SHAPE = "tumbling"
_ON_DRIVER = ("latestOffset", "getBatch", "walCommit", "commitOffsets", "commitBatch")
_CALL_OF_STAGE = ("Pack", "Processor")
_NAMES = {"Pack": "pack", "Processor": "step"}

Parts = dict[str, float]


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


def in_worker(stage: Stage, marks: Sequence[Mapping[str, Any]]) -> tuple[str, float, float]:
    """Returns what the busiest worker of a stage does: the call, its work and its waits for input, in ms."""
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
    names = dict.fromkeys(name for batch in batches for name in batch)
    return {name: mean(batch.get(name, 0.0) for batch in batches) for name in names}


def table(parts: Parts) -> str:
    """Returns the parts as a table of Markdown, with their sum."""
    rows = {**parts, "all": sum(parts.values())}
    lines = [f"| {name} | {ms:.1f} |" for name, ms in rows.items() if abs(ms) >= 0.05 or name == "all"]
    return "\n".join(["| part | ms |", "|---|---|", *lines])


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


def measured(rows: Sequence[int], batches: int, folder: Path) -> dict[int, Parts]:
    """Returns the parts of a micro-batch for each number of rows."""
    log, marks = _prepare(folder)
    from bench import data, ours, session  # noqa: PLC0415 - Spark starts with the environment above
    from bench.measure import progress_of  # noqa: PLC0415
    from bench.shapes import SHAPES  # noqa: PLC0415

    spark, reports = session.start(), dict[int, Sequence[Mapping[str, Any]]]()
    for count in rows:
        query = ours.query(session.read(spark, data.cached(count, batches)), SHAPES[SHAPE])
        reports[count] = progress_of(query, "append", str(folder / f"checkpoint-{count}"))
        for file in marks.iterdir():
            file.rename(marks.parent / f"{count}-{file.name}")
    spark.stop()
    return _budgets(folder, log, reports)


def _budgets(folder: Path, log: Path, reports: Mapping[int, Sequence[Mapping[str, Any]]]) -> dict[int, Parts]:
    all_stages, budgets = stages_of(_lines(log)), dict[int, Parts]()
    for count, progress in reports.items():
        own = [
            json.loads(line)
            for file in folder.glob(f"{count}-*.jsonl")
            for line in file.read_text(encoding="utf-8").splitlines()
        ]
        begin, end = min(mark["begin"] for mark in own), max(mark["begin"] for mark in own)
        stages = [stage for stage in all_stages if stage.begin <= end * 1000 and stage.end >= begin * 1000]
        full = [report for report in progress if report["numInputRows"] > 0][WARM_UP_BATCHES:]
        budgets[count] = means([parts_of(report, stages, own) for report in full])
    return budgets


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.budget", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 1_000_000], help="rows a micro-batch")
    parser.add_argument("--batches", type=int, default=12, help="micro-batches; default: %(default)s")
    return parser.parse_args(argv)


def main() -> None:
    """Prints a table for each number of rows."""
    asked = arguments()
    with TemporaryDirectory(prefix="bench-budget-") as folder:
        for count, parts in measured(asked.rows, asked.batches, Path(folder)).items():
            print(f"\n{SHAPE}, {count:,} rows a micro-batch\n\n{table(parts)}")


if __name__ == "__main__":
    main()
