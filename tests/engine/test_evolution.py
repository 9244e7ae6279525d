"""Engine and oracle agree when the specification changes between events (semantics 47)."""

from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.errors import StateError
from panewise.spec import Chain, Specification, WindowedJoin
from panewise.state import MemoryRunStore
from panewise.testing import run
from tests.changes import (
    changed_chains,
    changed_cogroups,
    changed_inputs,
    changed_joins,
    changed_windowed_joins,
    changed_windows,
    changes,
    placed,
)
from tests.drawn import CHAINS, ROWS, SPECS, WINDOWS, events_of, few, types_for
from tests.engine.agreement import agree
from tests.engine.effort import at_length, examples

FAMILIES = {
    **WINDOWS,
    **CHAINS,
    **ROWS,
    **{name: SPECS[name] for name in ("join", "window join", "cogroup", "windowed join")},
}


def changed(spec: Specification) -> st.SearchStrategy[Any]:
    """Returns the strategy of specifications that may continue the state of this one."""
    match spec:
        case pw.WindowOperator():
            return changed_windows(spec)
        case Chain():
            return changed_chains(spec)
        case pw.CogroupOperator():
            return changed_cogroups(spec)
        case pw.JoinOperator():
            return changed_joins(spec)
        case WindowedJoin():
            return changed_windowed_joins(spec)
    return changed_inputs(spec)


def check(family: str, data: st.DataObject) -> None:
    spec = data.draw(FAMILIES[family](), label="spec")
    made = data.draw(changes(spec, changed), label="changes")
    types = types_for(spec, *(event["spec"] for event in made))
    script = data.draw(placed(data.draw(events_of(spec, types)), made), label="events")
    agree(spec, script, types, stored=data.draw(st.booleans(), label="stored"))


@few(FAMILIES)
def test_engine_is_oracle_across_changes(family: str) -> None:
    """semantics 47 to 47.8."""
    examples(50 if family in WINDOWS else 20)(given(data=st.data())(check))(family=family)


test_engine_is_oracle_across_changes_at_length = pytest.mark.parametrize("family", FAMILIES)(
    at_length(check, 5_000, data=st.data())
)


KEYED = {"left": pw.Side(keys=["k"]), "right": pw.Side(keys=["k"], prefix="r_")}
TOTAL = pw.OverColumn(F.sum("v").alias("s"), pw.Frame("rows", -1, 0))
WHOLE_ROWS = {
    "over": pw.OverOperator(keys=["k"], columns=[TOTAL, pw.OverColumn(F.lead("v").alias("next"))]),
    "deduplicate": pw.DeduplicateOperator(keys=["k"], within=9, keep="last", emit="complete"),
    "interval": pw.JoinOperator(**KEYED, match=pw.Interval(0, 5), how="full"),
    "as of": pw.JoinOperator(**KEYED, match=pw.AsOf("backward"), how="left"),
    "windows": pw.JoinOperator(**KEYED, match=pw.SameWindow(pw.Tumbling(10)), how="full"),
    "latest": pw.JoinOperator(**KEYED, match=pw.Latest()),
}
COLUMNS: dict[str, pl.DataType] = {"k": pl.String(), "event_time": pl.Int64(), "v": pl.Int64()}
MORE = {**COLUMNS, "w": pl.String()}


PAIRS = pw.WindowOperator(
    event_time="join_time", keys=["k"], window=pw.Tumbling(10), aggregates=[F.count().alias("n")]
)
STREAMS = pw.WindowedStreams(pw.JoinWindow(pw.rows(2)), pw.JoinWindow(pw.rows(2)))
REORDERED = {
    **WHOLE_ROWS,
    "rows": pw.JoinOperator(**KEYED, match=pw.LastRows(2, 2), how="left"),
    "streams": pw.JoinOperator(**KEYED, match=STREAMS),
    "windows over a join": pw.WindowedJoin(pw.JoinOperator(**KEYED, match=pw.Interval(0, 5)), PAIRS),
    "evictor": replace(
        PAIRS,
        event_time="event_time",
        aggregates=[F.collect_list("v").alias("v")],
        evictor=pw.CountEvictor(3),
    ),
}


def emitted_across_a_restart(spec: Any, then: list[str], now: list[str], cache: Cache | None) -> list[Any]:
    """Returns what a stored operator emits if its input has other columns, or another order, after a restart.

    Without a cache all is read from the store.
    """
    store, panes = MemoryRunStore(), list[pl.DataFrame]()
    for names, times in ((then, (0, 1)), (now, (2, 3))):
        types = {name: MORE[name] for name in names}
        for port, time in product(spec.ports, times):
            library = RunLibrary(store, Cache() if cache is None else cache)
            stored = StoredOperator.load(spec, dict.fromkeys(spec.ports, types), library)
            rows = pl.DataFrame([{"k": "a", "event_time": time, "v": time, "w": None}], MORE)
            panes.append(stored.operator.add(rows.select(names), port).panes)
            stored.commit()
    panes.append(stored.operator.finish().panes)
    return [{"w": None, "r_w": None, **row} for frame in panes for row in frame.rows(named=True)]


@pytest.mark.parametrize("now", [["v", "k", "event_time"], ["event_time", "w", "v", "k"]])
@pytest.mark.parametrize("cache", [None, Cache()])
@pytest.mark.parametrize("spec", REORDERED.values(), ids=REORDERED)
def test_stored_rows_follow_the_order_of_the_columns_of_the_input(
    spec: Any, cache: Cache | None, now: list[str]
) -> None:
    """semantics 47.12"""
    found = emitted_across_a_restart(spec, [*COLUMNS], now, cache)
    assert found == emitted_across_a_restart(spec, [*COLUMNS], [*COLUMNS], None)


@pytest.mark.parametrize("spec", WHOLE_ROWS.values(), ids=WHOLE_ROWS)
def test_stored_rows_get_columns_that_the_input_has_got(spec: Any) -> None:
    """They are null there (semantics 47.12)."""
    store, ports = MemoryRunStore(), list(spec.ports)

    def load(columns: Any) -> StoredOperator:
        return StoredOperator.load(spec, dict.fromkeys(ports, columns), RunLibrary(store, Cache()))

    stored = load(COLUMNS)
    stored.operator.add(pl.DataFrame([("a", 1, 5)], COLUMNS, orient="row"), ports[0])
    stored.commit()
    stored = load(MORE)
    panes = [stored.operator.add(pl.DataFrame([("a", 3, 6, "x")], MORE, orient="row"), ports[-1]).panes]
    stored.commit()
    panes.append(load(MORE).operator.finish().panes)
    rows = [row for frame in panes for row in frame.rows(named=True)]
    assert all(row["w"] is None for row in rows if row["v"] == 5)
    assert any("x" in (row["w"], row.get("r_w")) for row in rows) or spec.how == "left"
    assert not load(MORE).changed
    with pytest.raises(StateError, match=r"a state with other columns: \[.*'w'"):
        load(COLUMNS)


COLLECTED = pw.UserMergeAggregate(
    "collected",
    init=list,
    accumulate_left=lambda values, v: [*values, v],
    accumulate_right=lambda values, v: [*values, -v],
    merge=lambda a, b: [*a, *b],
    finish=lambda values: " ".join(map(str, values)),
    result="string",
)


@pytest.mark.parametrize("added", ["null", "from_now_on"])
@pytest.mark.parametrize("runtime", ["oracle", "engine", "standalone"])
def test_an_added_aggregate_of_both_sides(added: Any, runtime: str) -> None:
    """semantics 47.3, 47.13: it does not know earlier rows of either side."""
    spec = pw.CogroupOperator(
        left=pw.Side(), right=pw.Side(), window=pw.Tumbling(10), left_aggregates=[F.count().alias("n")]
    )
    more = replace(spec, both_aggregates=[COLLECTED("v", "v").alias("all")])
    script = [
        {"op": "add", "rows": {"left": [], "right": [{"event_time": 1, "v": 1}]}},
        {"op": "change", "spec": more, "added_aggregates": added},
        {"op": "add", "rows": {side: [{"event_time": t, "v": t} for t in (2, 12)] for side in spec.sides}},
        {"op": "watermark", "to": 20},
    ]
    panes = run(spec, script, runtime, types={side: {"v": "bigint"} for side in spec.sides})[-1]["panes"]
    assert [pane["all"] for pane in panes] == [None if added == "null" else "2 -2", "12 -12"]
