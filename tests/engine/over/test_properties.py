"""OVER: engine and oracle agree, and batch cuts and restarts change no output (semantics 29)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import OverOperator, row_driven
from panewise.testing import run
from panewise.testing.over_specs import frame_events, frame_specs
from panewise.testing.strategies import types_of
from tests.engine.agreement import outputs_that_agree
from tests.engine.effort import DEFAULT, FEW, at_length
from tests.engine.windows.test_invariances import assert_same, cut, numbered, together

Events = list[dict[str, Any]]


def play(spec: OverOperator, script: Events, **options: Any) -> Events:
    return run(spec, script, "engine", types=types_of(spec), windows=True, **options)


def agree(spec: OverOperator, script: Events, **options: Any) -> None:
    outputs_that_agree(spec, script, types_of(spec), **options)


def check(data: st.DataObject, **options: Any) -> None:
    spec = data.draw(frame_specs(), label="spec")
    agree(spec, data.draw(frame_events(spec), label="events"), **options)


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
def test_batches_may_be_cut_anywhere(data: st.DataObject) -> None:
    """With the same arrival order and watermarks, cuts change no output (semantics 3.1).

    Watermarks driven by rows are left out, because they depend on the cuts.
    """
    spec = data.draw(
        frame_specs(order=("order",), position=None).filter(lambda spec: row_driven(spec.watermark) is None)
    )
    script = numbered(data.draw(frame_events(spec)))
    whole = sent(spec, script)
    assert_same(sent(spec, cut(script, [1])), whole)
    assert_same(
        sent(spec, cut(script, data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))), whole
    )


def sent(spec: OverOperator, script: Events) -> dict[str, Any]:
    """Returns everything that was emitted, in the order of the keys if the operator looks ahead.

    Then the cuts decide which rows of several keys are emitted together (semantics 29.8).
    """
    everything = together(play(spec, script))
    panes = (
        sorted(everything["panes"], key=lambda row: repr([row[key] for key in spec.keys]))
        if spec.rows_ahead
        else everything["panes"]
    )
    return {**everything, "panes": panes}


@FEW
@given(data=st.data())
def test_restarts_change_nothing(data: st.DataObject) -> None:
    """A restart after every event changes no output (semantics 33)."""
    spec = data.draw(frame_specs())
    script = data.draw(frame_events(spec))
    interrupted = play(spec, [step for event in script for step in (event, {"op": "restart"})])
    for one, other in zip(interrupted[::2], play(spec, script), strict=True):
        assert_same(one, other)
