"""bench.budget: the parts of a micro-batch, from Spark's reports, its event log and marks in the workers."""

import json
from typing import Any

import pytest

from bench.budget import Run, Stage, arguments, means, parts_of, queries, stages_of, table


def completed(stage: int, begin: int, end: int) -> str:
    info = {"Stage ID": stage, "Submission Time": begin, "Completion Time": end}
    return json.dumps({"Event": "SparkListenerStageCompleted", "Stage Info": info})


def started(batch: int | None, *stages: int) -> str:
    properties = {} if batch is None else {"streaming.sql.batchId": str(batch)}
    return json.dumps({"Event": "SparkListenerJobStart", "Stage IDs": stages, "Properties": properties})


def mark(call: str, begin: float, works: float, waits: float, process: int = 1) -> dict[str, Any]:
    return {"call": call, "begin": begin, "works": works, "waits": waits, "process": process}


REPORT = {
    "batchId": 3,
    "durationMs": {"triggerExecution": 200, "addBatch": 150, "walCommit": 20, "queryPlanning": 10},
    "stateOperators": [{"commitTimeMs": 16, "numShufflePartitions": 2}],
}


def test_stages_belong_to_the_batch_of_their_job() -> None:
    log = [started(None, 0), started(3, 1, 2), completed(0, 0, 5), completed(2, 50, 90), completed(1, 10, 40)]
    assert stages_of(log) == [Stage(3, 10, 40), Stage(3, 50, 90)]


def test_the_parts_add_up_to_the_time_of_the_batch() -> None:
    stages = [Stage(3, 1000, 1060), Stage(3, 1070, 1130), Stage(4, 2000, 2100)]
    marks = [
        mark("Pack", 1.01, 0.020, 0.010),
        mark("Pack", 1.01, 0.001, 0.001, process=2),
        *(mark("Processor", 1.08, 0.005, 0.002), mark("Processor", 1.09, 0.005, 0.001)),
    ]
    parts = parts_of(REPORT, stages, marks)
    assert sum(parts.values()) == pytest.approx(200)
    assert parts["stage 1: pack, work"] == pytest.approx(20)
    assert parts["stage 1: until pack is called"] == pytest.approx(10)
    assert parts["stage 1: Spark"] == pytest.approx(20)
    assert parts["stage 2: step, work"] == pytest.approx(10)
    assert parts["stage 2: commit of the state store"] == 8
    assert parts["addBatch: before, between and behind the stages"] == pytest.approx(30)
    assert parts["driver: other"] == pytest.approx(20)


def test_a_run_has_the_stages_and_marks_of_its_time() -> None:
    reports = [{**REPORT, "batchId": batch, "numInputRows": 1} for batch in range(4)]
    run = Run(1000, 1999, [*reports, {"batchId": 4, "numInputRows": 0}], 4)
    stages = [Stage(3, 500, 560), Stage(3, 1000, 1060), Stage(3, 2000, 2060)]
    marks = [mark("Pack", at, 0.020, 0.010) for at in (0.51, 1.01, 2.01)]
    second, third = run.parts(stages, marks)  # the first two are the warm-up
    assert "stage 1: Spark" not in second
    assert third == parts_of(reports[3], stages[1:2], marks[1:2])


def test_the_table_has_a_column_for_each_query_and_the_sums() -> None:
    assert table({"ours": means([{"a": 1.0}, {"a": 3.0, "b": 2.0}]), "native": {"a": 5.0}}).splitlines() == [
        "| part | ours | native |",
        "|---|---|---|",
        "| a | 2.0 | 5.0 |",
        "| b | 1.0 | 0.0 |",
        "| all | 3.0 | 5.0 |",
    ]


def test_joins_are_measured_beside_the_stages_that_count_alone() -> None:
    assert list(queries("join_inner", beside=True)) == ["panewise", "two stages that count"]
    assert list(queries("tumbling", beside=True))[2:] == ["native"]
    assert list(queries("join_inner", beside=False)) == ["panewise"]
    assert arguments(["--shape", "join_inner", "--beside"]).shape == "join_inner"


def test_the_closing_micro_batch_of_a_join_does_not_count() -> None:
    reports = [{**REPORT, "batchId": batch, "numInputRows": 1} for batch in range(5)]
    assert len(Run(1000, 1999, reports, 4).parts([], [])) == 2
