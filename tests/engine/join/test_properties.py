"""Joins: engine and oracle agree, in memory and with a run store (semantics 27 to 28, 36 to 41)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import CogroupOperator
from panewise.engine.registry import operator_for
from panewise.oracle import interpreter
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.events import script
from panewise.testing.ingest import FLAGS, schema
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs
from panewise.testing.matches.interval import unbounded_intervals
from panewise.testing.matches.last_rows import last_rows
from panewise.testing.matches.latest import latests
from panewise.testing.matches.streams import windowed_streams
from panewise.testing.runtimes import engine as in_engine
from panewise.testing.runtimes import oracle as in_oracle
from tests.engine.effort import DEFAULT, FEW, SOAK
from tests.engine.orders import columns

Events = list[dict[str, Any]]


def play(
    spec: JoinOperator | CogroupOperator, script: Events, runtime: str = "engine", **options: Any
) -> Events:
    return run(spec, script, runtime, types=join_types(spec), windows=True, **options)


def agree(spec: JoinOperator | CogroupOperator, script: Events, **options: Any) -> None:
    """Asserts that engine and oracle have the same output and stored rows after every event."""
    wanted, found = play(spec, script, "oracle"), play(spec, script, **options)
    for number, (event, right, left) in enumerate(zip(script, wanted, found, strict=True)):
        for part in ("counts", "invalid", "late", "panes", "windows"):
            text = (
                f"{part} after events[{number}], {event}\nengine {left[part]}\noracle {right[part]}\n{spec}"
            )
            assert same(left[part], right[part]), text
        assert columns(left) == columns(right)
        for side, counts in left["counts"].items():
            told = counts["applied"] + counts["replays"] + counts["late"] + counts["invalid"]
            rows = event["rows"][side] if isinstance(event["rows"], dict) else event["rows"]
            assert counts["rows_in"] == told == len(rows)


def check(data: st.DataObject, **options: Any) -> None:
    spec = data.draw(join_specs(), label="spec")
    agree(spec, data.draw(join_events(spec), label="events"), **options)


@DEFAULT
@given(data=st.data())
def test_engine_is_oracle(data: st.DataObject) -> None:
    check(data)


@FEW
@given(data=st.data())
def test_stored_engine_is_oracle(data: st.DataObject) -> None:
    """Engine and oracle agree if every event loads the state from a run store and commits its changes."""
    check(data, stored=True)


@pytest.mark.parametrize("matches", [last_rows, latests])
def test_rows_by_arrival_are_those_of_the_oracle(matches: Any) -> None:
    """Joins of the last and the latest rows, with restarts, cuts and "record" (semantics 37.4 to 37.9)."""

    @FEW
    @given(data=st.data())
    def is_oracle(data: st.DataObject) -> None:
        spec = data.draw(join_specs(match=data.draw(matches())), label="spec")
        events = data.draw(join_events(spec), label="events")
        agree(spec, events, stored=data.draw(st.booleans(), label="stored"))

    is_oracle()


def _streams() -> st.SearchStrategy[JoinOperator]:
    return windowed_streams().flatmap(lambda match: join_specs(match=match))


@DEFAULT
@given(data=st.data())
def test_windowed_streams_are_those_of_the_oracle(data: st.DataObject) -> None:
    """S1's windowed stream joins, with restarts, cuts and "record" (semantics 37.14 to 37.18)."""
    spec = data.draw(_streams(), label="spec")
    events = data.draw(join_events(spec), label="events")
    agree(spec, events, stored=data.draw(st.booleans(), label="stored"))


@DEFAULT
@given(data=st.data())
def test_unbounded_intervals_are_those_of_the_oracle(data: st.DataObject) -> None:
    """Retention by time, by number and without a limit, with restarts, cuts and "record" (37.1, 37.24)."""
    evaluate = data.draw(st.sampled_from(["batch", "record"]))
    match = data.draw(unbounded_intervals(), label="match")
    spec = data.draw(join_specs(match=match, condition=None, evaluate=evaluate), label="spec")
    events = data.draw(join_events(spec), label="events")
    agree(spec, events, stored=data.draw(st.booleans(), label="stored"))


@pytest.mark.soak
@SOAK
@given(data=st.data())
def test_engine_is_oracle_at_length(data: st.DataObject) -> None:
    fixed = data.draw(st.sampled_from([{}, {}, {"match": data.draw(unbounded_intervals())}]))
    spec = data.draw(join_specs(**fixed), label="spec")
    events = data.draw(join_events(spec), label="events")
    agree(spec, events, **data.draw(st.sampled_from([{}, {"stored": True}])))


def _unbounded() -> st.SearchStrategy[JoinOperator]:
    return unbounded_intervals().flatmap(lambda match: join_specs(match=match))


@pytest.mark.parametrize("specs", [join_specs, _streams, _unbounded])
def test_output_watermarks_are_equal(specs: Any) -> None:
    """Engine and oracle have the same watermark of emitted rows after every event (semantics 40.4)."""

    @FEW
    @given(data=st.data())
    def are_equal(data: st.DataObject) -> None:
        _with_equal_output_watermarks(data, data.draw(specs(), label="spec"))

    are_equal()


def _with_equal_output_watermarks(data: st.DataObject, spec: JoinOperator) -> None:
    events = [event for event in data.draw(join_events(spec), label="events") if event["op"] != "restart"]
    played = script(spec, events, join_types(spec))
    columns = {side: schema(types) | FLAGS for side, types in played.types.items()}
    operator, oracle = operator_for(played.spec, columns), interpreter(played.spec, played.types)
    for event in played.events:
        in_oracle._step(oracle, event, played)
        in_engine._step(operator, played, event)
        assert operator.output_watermark() == oracle.output_watermark()
