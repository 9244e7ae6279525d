"""The share of a micro-batch that a journal takes: what is timed, and what is computed of it."""

from pathlib import Path
from typing import Any

import pytest

from bench import timed_steps
from bench.journal_share import Share, line_of
from bench.timed_steps import FILE, StepSeconds
from panewise.spark.activity import StepActivity


def test_the_seconds_of_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step has a line, with the sum of all its calls."""
    file = tmp_path / "seconds"
    monkeypatch.setenv(FILE, str(file))
    clock = iter(range(100))
    monkeypatch.setattr(timed_steps.time, "perf_counter", lambda: next(clock))
    seconds = StepSeconds()
    add, text = seconds.timed("add_panes", lambda value: value), seconds.timed("text", lambda: "text")
    assert [add(7), add(8), text()] == [7, 8, "text"]
    assert text() == "text"
    assert [float(line) for line in file.read_text(encoding="utf-8").splitlines()] == [3, 1]


def test_all_calls_of_an_activity_are_timed() -> None:
    public = {name for name in vars(StepActivity) if not name.startswith("_")}
    methods = {name for name in public if callable(getattr(StepActivity, name))}
    assert methods == set(timed_steps.TIMED)


def test_the_share() -> None:
    """Steps of two shards run at the same time. The warm-up does not count."""
    steps: Any = [9.0] * 4 + [0.01, 0.03] * 3
    share = Share([2.0, 2.0, 2.0], steps, [5.0, 5.0, 0.02, 0.02, 0.02])
    assert share.percent == pytest.approx(2.0)
    assert line_of("tumbling, 10 rows", share).endswith(": 2.00 %, at most 2 %")
    assert line_of("", Share([1.0], steps, share.reports)).endswith(": 4.00 %, above 2 %")
