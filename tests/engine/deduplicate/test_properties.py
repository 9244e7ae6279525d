"""Deduplication: what is chosen does not depend on retractions and on the order of arrival (semantics 45)."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import DeduplicateOperator
from panewise.testing import run
from panewise.testing.deduplicates import deduplicate_events, deduplicate_specs
from panewise.testing.strategies import types_of
from tests.engine.cuts import net, together
from tests.engine.effort import FEW

Events = list[dict[str, Any]]


def play(spec: DeduplicateOperator, script: Events) -> Events:
    return run(spec, script, "engine", types=types_of(spec), windows=True)


RETRACTING: list[dict[str, Any]] = [
    {"keep": "last", "by": "arrival"},
    {"keep": "last", "by": "event_time", "event_time": "t"},
    {"keep": "first", "by": "event_time", "event_time": "t"},
]


@FEW
@given(data=st.data())
def test_what_is_not_retracted_is_what_complete_groups_emit(data: st.DataObject) -> None:
    """With one group of each key the net rows are the final ones (semantics 45.8)."""
    fixed = data.draw(st.sampled_from(RETRACTING))
    retracting = data.draw(deduplicate_specs(**fixed, emit="retracting", within="unlimited"))
    script = data.draw(deduplicate_events(retracting))
    script = [event for event in script if event["op"] != "finish"] + [{"op": "finish"}]
    final = together(play(replace(retracting, emit="complete"), script))["panes"]
    assert net(together(play(retracting, script))["panes"]) == net([{**row, "op": "+"} for row in final])


@FEW
@given(data=st.data())
def test_complete_groups_do_not_depend_on_the_order_of_arrival(data: st.DataObject) -> None:
    """By event time, rows in any order within the lateness leave rows of the same times (semantics 45.4)."""
    keep = data.draw(st.sampled_from(["first", "last"]))
    spec = DeduplicateOperator(
        keys=["key"], within=5, keep=keep, by="event_time", emit="complete", order=["order"]
    )
    rows = [
        {"event_time": t, "key": key, "order": n}
        for n, (t, key) in enumerate(
            data.draw(st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab")), max_size=20))
        )
    ]
    others = [{**row, "order": n} for n, row in enumerate(data.draw(st.permutations(rows)))]
    assert chosen(spec, rows) == chosen(spec, others)


def chosen(spec: DeduplicateOperator, rows: Events) -> list[tuple[Any, ...]]:
    script = [{"op": "add", "rows": rows[:7]}, {"op": "add", "rows": rows[7:]}, {"op": "finish"}]
    return sorted((row["event_time"], row["key"]) for output in play(spec, script) for row in output["panes"])
