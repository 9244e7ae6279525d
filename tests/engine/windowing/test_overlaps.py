"""Slices that are in many windows: the same output, at a cost below the number of slices times windows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise.engine.windowing import windows_of_slices
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import AnyWindow
from panewise.testing.strategies import events, specs
from tests.engine.agreement import agree
from tests.engine.effort import FEW

KINDS = ["hopping", "cumulating", "hopping_rows", "tumbling", "rows"]
MB = 1 << 20


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(data=st.data())
def test_engine_is_oracle_where_no_windows_are_listed(kind: str, data: st.DataObject) -> None:
    """Engine and oracle agree if each slice counts as one of many windows (semantics 6.1, 6.2, 8, 13)."""
    spec = data.draw(specs(kind), label="spec")
    script = data.draw(events(spec), label="events")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_of_slices, "MANY", 0)
        agree(spec, script)


@pytest.mark.parametrize("window", [pw.Hopping(7, 2), pw.Hopping(2, 5, gaps=True), pw.Cumulating(12, 3)])
def test_combined_rows_of_two_readers_where_no_windows_are_listed(
    window: AnyWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated and late partials have the same output as if windows were listed (semantics 13.1)."""
    schema: dict[str, pl.DataType] = {"k": pl.String(), "event_time": pl.Int64(), "v": pl.Int64()}
    aggregates = [pw.functions.sum("v").alias("s"), pw.functions.count().alias("n")]
    spec = pw.WindowOperator(
        window=window,
        keys=["k"],
        aggregates=aggregates,
        trigger=pw.Always(),
        accumulation="accumulating",
        allowed_lateness=3,
    )
    plan = WindowPlan(spec, schema)
    assert plan.can_combine
    rows = pl.DataFrame({"k": list("abbab") * 9, "event_time": range(45), "v": range(45)}, schema=schema)
    found = []
    for many in (0, 64):
        monkeypatch.setattr(windows_of_slices, "MANY", many)
        operator = WindowEngine(spec, schema)
        operator.advance(watermark=20)
        both = [plan.combine(plan.validate(some, 0).valid) for some in (rows, rows.head(20))]
        output = operator.add_combined(pl.concat(both))
        found.append(
            (
                output.panes.rows(),
                output.counts,
                operator.state.windows.all().sort("k", "__start", "__end").rows(),
            )
        )
    assert found[0] == found[1]
    assert found[0][1].late


def measured(window: str) -> dict[str, int]:
    command = [sys.executable, str(Path(__file__).with_name("many_windows_job.py")), window]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | {"POLARS_MAX_THREADS": "1"}
    )
    told: dict[str, int] = json.loads(done.stdout)
    return told


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize("window", ["hopping", "cumulating", "rows"])
def test_a_hundred_rows_in_a_day_of_windows_a_second_take_little_memory(window: str) -> None:
    """The memory stays small. A row for each slice and each of its 86,400 windows would take 1.9 GB."""
    told = measured(window)
    assert told["windows"] >= 86_399  # one window of rows is complete
    assert told["grown"] <= 300 * MB, told
