"""Engine and oracle agree when the specification of other families than windows changes (semantics 47.2)."""

from dataclasses import replace
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
from panewise.state import MemoryRunStore
from panewise.testing import run
from panewise.testing.chains import chains
from panewise.testing.changes import (
    changed_chains,
    changed_cogroups,
    changed_inputs,
    changed_joins,
    changed_windowed_joins,
    changes,
    placed,
    types_with,
)
from panewise.testing.compare import same
from panewise.testing.join_events import join_events, join_types
from panewise.testing.strategies import (
    cogroup_specs,
    deduplicate_events,
    deduplicate_specs,
    events,
    frame_events,
    frame_specs,
    join_specs,
    window_join_specs,
    windowed_join_specs,
)
from tests.engine.effort import FEW, at_length

ONE_INPUT: dict[str, Any] = {
    "over": (frame_specs, frame_events),
    "deduplicate": (deduplicate_specs, deduplicate_events),
}
TWO_SIDES: dict[str, Any] = {
    "join": (join_specs, changed_joins),
    "window join": (window_join_specs, changed_joins),
    "windowed join": (windowed_join_specs, changed_windowed_joins),
    "cogroup": (cogroup_specs, changed_cogroups),
}
FAMILIES = ("chain", *ONE_INPUT, *TWO_SIDES)
EACH_FAMILY = pytest.mark.parametrize("family", FAMILIES)


def drawn(data: st.DataObject, family: str) -> tuple[Any, list[Any], Any, list[Any]]:
    """Returns a specification, its changes, the types of its columns, and events."""
    if family == "chain":
        spec: Any = data.draw(chains(), label="spec")
        changed = data.draw(changes(spec, changed_chains), label="changes")
        firsts = [{"spec": event["spec"].first} for event in changed]
        types: Any = types_with(spec.first, firsts)
        return spec, changed, types, data.draw(events(spec.first, types=types), label="events")
    if family in ONE_INPUT:
        specs, events_of = ONE_INPUT[family]
        spec = data.draw(specs(), label="spec")
        changed = data.draw(changes(spec, changed_inputs), label="changes")
        return spec, changed, types_with(spec, changed), data.draw(events_of(spec), label="events")
    specs, changed_specs = TWO_SIDES[family]
    spec = data.draw(specs(), label="spec")
    changed = data.draw(changes(spec, changed_specs), label="changes")
    joined = getattr(spec, "join", spec)
    return spec, changed, join_types(joined), data.draw(join_events(joined), label="events")


def check(data: st.DataObject, family: str) -> None:
    spec, changed, types, script = drawn(data, family)
    script = data.draw(placed(script, changed), label="all events")
    options = {"stored": True} if data.draw(st.booleans(), label="stored") else {}
    wanted = run(spec, script, "oracle", types=types, windows=True)
    for event, right, left in zip(
        script, wanted, run(spec, script, "engine", types=types, windows=True, **options), strict=True
    ):
        for part in ("counts", "invalid", "late", "panes", "windows"):
            assert same(left[part], right[part]), f"{part} {event}\nengine {left[part]}\noracle {right[part]}"


@EACH_FAMILY
@FEW
@given(data=st.data())
def test_engine_is_oracle_across_changes(family: str, data: st.DataObject) -> None:
    """semantics 47.2 and 47.8."""
    check(data, family)


test_engine_is_oracle_across_changes_at_length = EACH_FAMILY(at_length(check, 20_000, data=st.data()))


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
