"""bench.cold_budget: the parts of the times to panes, which add up to the times."""

from typing import Any

import pytest

from bench.budget import Stage
from bench.cold import WARM_UP
from bench.cold_budget import Process

SECOND = 1000.0


def report(batch: int, second: int) -> dict[str, Any]:
    return {
        "batchId": batch,
        "timestamp": f"1970-01-01T00:00:{second:02}.000Z",
        "durationMs": {"triggerExecution": 500, "queryPlanning": 40, "walCommit": 10, "addBatch": 400},
        "stateOperators": [{"commitTimeMs": 16, "numShufflePartitions": 2}],
    }


def process(rows: int, reported: int) -> Process:
    """Returns a process: each row is written 0.3 s before its micro-batch, and its pane comes 0.4 s after."""
    begins = [SECOND * second for second in range(10, 11 + rows)]
    return Process(
        started=begins[0] - 100,
        spans=[(begin - 300, begin + 400) for begin in begins],
        progress=[report(number, 10 + number) for number in range(reported)],
        stages=[Stage(number, begin + 100, begin + 300) for number, begin in enumerate(begins)],
        marks=[
            {"call": "Processor", "begin": (begin + 150) / 1000, "works": 0.02, "waits": 0.01, "process": 1}
            for begin in begins
        ],
    )


def test_the_parts_of_the_first_pane_add_up() -> None:
    parts = process(rows=0, reported=1).first_pane()
    assert sum(parts.values()) == pytest.approx(700)
    assert parts["the query is planned and started"] == 200
    assert parts["until its micro-batch"] == 100
    assert parts["driver: queryPlanning"] == 40
    assert parts["stage 1: until step is called"] == pytest.approx(50)
    assert parts["stage 1: commit of the state store"] == 8
    assert parts["before, between and after the stages"] == pytest.approx(150)


def test_later_panes_are_those_after_the_warm_up_that_have_a_report() -> None:
    rows = WARM_UP + 3
    panes = process(rows, reported=rows).later_panes()  # the last row's micro-batch has none
    assert [parts["until its micro-batch"] for parts in panes] == [300, 300]
    assert [sum(parts.values()) for parts in panes] == pytest.approx([700, 700])
