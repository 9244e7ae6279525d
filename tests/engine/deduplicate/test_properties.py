"""Deduplication: engine and oracle agree; cuts and restarts do not change what is chosen (semantics 45)."""

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import DeduplicateOperator, row_driven
from panewise.testing import run
from panewise.testing.deduplicates import deduplicate_events, deduplicate_specs
from panewise.testing.strategies import types_of
from tests.engine.agreement import outputs_that_agree
from tests.engine.effort import DEFAULT, FEW, at_length
from tests.engine.windows.test_invariances import assert_same, cut, numbered, together

Events = list[dict[str, Any]]


def play(spec: DeduplicateOperator, script: Events, **options: Any) -> Events:
    return run(spec, script, "engine", types=types_of(spec), windows=True, **options)


def agree(spec: DeduplicateOperator, script: Events, **options: Any) -> None:
    outputs_that_agree(spec, script, types_of(spec), **options)


def check(data: st.DataObject, **options: Any) -> None:
    spec = data.draw(deduplicate_specs(), label="spec")
    agree(spec, data.draw(deduplicate_events(spec), label="events"), **options)


@DEFAULT
@given(data=st.data())
def test_engine_is_oracle(data: st.DataObject) -> None:
    check(data)


@FEW
@given(data=st.data())
def test_stored_engine_is_oracle(data: st.DataObject) -> None:
    """Engine and oracle agree if every event loads the state from a run store and commits its changes."""
    check(data, stored=True)


test_engine_is_oracle_at_length = at_length(check, 20_000, data=st.data(), stored=st.booleans())


@FEW
@given(data=st.data())
def test_restarts_change_nothing(data: st.DataObject) -> None:
    """A restart after every event changes no output (semantics 33)."""
    spec = data.draw(deduplicate_specs())
    script = data.draw(deduplicate_events(spec))
    interrupted = play(spec, [step for event in script for step in (event, {"op": "restart"})])
    for one, other in zip(interrupted[::2], play(spec, script), strict=True):
        assert_same(one, other)


@FEW
@given(data=st.data())
def test_batches_may_be_cut_anywhere(data: st.DataObject) -> None:
    """With the same arrival order and watermarks, cuts change no output (semantics 3.1).

    With retractions they change no net rows (semantics 45.8).
    """
    spec = data.draw(
        deduplicate_specs(order=("order",), position=None).filter(
            lambda spec: row_driven(spec.watermark) is None
        )
    )
    script = numbered(data.draw(deduplicate_events(spec)))
    whole = together(play(spec, script))
    for lengths in ([1], data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))):
        pieces = together(play(spec, cut(script, lengths)))
        if spec.emit == "retracting":
            assert net(pieces["panes"]) == net(whole["panes"])
            pieces["panes"] = whole["panes"]
        assert_same(pieces, whole)


def net(panes: Events) -> Counter[str]:
    """Returns the rows that have been emitted and not retracted. Every retraction equals an emitted row."""
    rows: Counter[str] = Counter()
    for pane in panes:
        rows[repr(sorted((name, value) for name, value in pane.items() if name != "op"))] += (
            1 if pane["op"] == "+" else -1
        )
        assert min(rows.values()) >= 0
    return +rows


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
