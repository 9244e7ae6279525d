"""Periodic triggers: states written before 0.2, and the windows that a reading of the clock examines."""

from dataclasses import replace

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.windowing.trigger.periods import latest
from panewise.engine.windows.operator import WindowEngine
from panewise.spec.triggers.composite import Trigger

SCHEMA = {"t": pl.Int64(), "v": pl.Int64()}


def operator(trigger: Trigger) -> WindowEngine:
    spec = pw.WindowOperator(
        event_time="t",
        window=pw.Global(),
        aggregates=[F.sum("v").alias("s")],
        trigger=trigger,
        accumulation="discarding",
    )
    return WindowEngine(spec, SCHEMA)


def rows(*values: int) -> pl.DataFrame:
    return pl.DataFrame({"t": [0] * len(values), "v": list(values)}, schema=SCHEMA)


@pytest.mark.parametrize(
    "trigger",
    [pw.AfterWatermark(early=pw.Every(10)), pw.Repeatedly(pw.AfterAny(pw.Every(10), pw.OnDelta("v", 1000)))],
    ids=["simple", "tree"],
)
def test_a_state_that_does_not_tell_since_when_rows_are_pending(trigger: Trigger) -> None:
    """If a state does not have A of semantics 16.3, the time of the last firing, F, takes its place.

    In a state of version 0.1, `__born` is the time of the first row of the window.
    """
    mine = operator(trigger)
    mine.add(rows(1))
    assert mine.advance(12).panes["s"].to_list() == [1]
    mine.advance(25)
    mine.add(rows(2))
    table = mine.state.windows
    assert table.newest.select("__born", "__fired").rows() == [(25, 12)]
    old = table.changed(
        table.all().with_columns(pl.lit(0, dtype=pl.Int64).alias("__born")), table.newest.clear()
    )
    assert mine.advance(31).panes.is_empty()
    mine.replace_state(replace(mine.state, windows=old))
    assert mine.advance(31).panes["s"].to_list() == [2]


@pytest.mark.parametrize(
    ("rules", "bound"),
    [
        ([], None),
        ([pw.Every(10)], 65),
        ([pw.Every(10), pw.Every(4)], 71),
        ([pw.Every(10, aligned=True)], 69),
        ([pw.Every(10, aligned=True, offset=6)], 65),
        ([pw.Every(75, aligned=True)], 74),
        ([pw.Every(10**18)], 75 - 10**18),
    ],
)
def test_windows_that_may_be_due(rules: list[pw.Every], bound: int | None) -> None:
    """At P = 75 no window whose F is later than the bound is ready (semantics 16.3, 16.14)."""
    assert latest(rules, 75) == bound
