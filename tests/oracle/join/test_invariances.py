"""The oracle for joins: what does not depend on how a stream is cut, and what holds for all its output."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.oracle import interpreter
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs
from tests.drawn import JOINS
from tests.engine.cuts import by_side, rows_of_sides, together
from tests.engine.effort import examples

Events = list[dict[str, Any]]
SETTINGS = examples(100)


@SETTINGS
@given(data=st.data())
def test_pairs_do_not_depend_on_cuts(data: st.DataObject) -> None:
    """semantics 27.1, 39: with watermarks from outside, cuts change no row that is emitted for good."""
    spec = data.draw(
        join_specs(evaluate="batch").filter(
            lambda spec: all(entry.watermark is None for entry in spec.ports.values())
        )
    )
    script = data.draw(join_events(spec))
    whole, single = (play(spec, events) for events in (script, list(rows_of_sides(spec, script)) or script))
    assert sorted(map(repr, net(whole["panes"]))) == sorted(map(repr, net(single["panes"])))
    assert same(whole["counts"], single["counts"])
    assert same(whole["windows"], single["windows"])


def play(spec: JoinOperator, script: Events) -> dict[str, Any]:
    types: Any = join_types(spec)
    return together(run(spec, script, types=types, windows=True))


def net(panes: Events) -> Events:
    """Returns the emitted rows that were not retracted. A retraction repeats a row that was emitted."""
    live: Events = []
    for pane in panes:
        if pane["op"] == "+":
            live.append(pane)
        else:
            live.pop(next(n for n, one in enumerate(live) if same({**one, "op": "-"}, pane)))
    return live


@pytest.mark.parametrize("kind", ["join", "window join"])
@SETTINGS
@given(data=st.data())
def test_no_row_is_behind_the_output_watermark(kind: str, data: st.DataObject) -> None:
    """semantics 40.4: no row that is emitted later has an earlier event time."""
    spec = data.draw(JOINS[kind]())
    oracle: Any = interpreter(spec, join_types(spec))
    for event in data.draw(join_events(spec)):
        mark = oracle.output_watermark()
        emitted = played(oracle, event)
        assert all(mark is None or pane["join_time"] >= mark for pane in emitted)
        after = oracle.output_watermark()
        assert mark is None or (after is not None and after >= mark)


def played(oracle: Any, event: dict[str, Any]) -> Events:
    side = event.get("input")
    output: dict[str, Any] = {"panes": []}
    if event["op"] == "add":
        output = oracle.add_batch(by_side(event))
    elif event["op"] == "clock":
        output = oracle.clock(event["to"])
    elif event["op"] == "watermark":
        output = oracle.watermark(event["to"], side)
    elif event["op"] == "finish":
        output = oracle.finish(side)
    panes: Events = output["panes"]
    return panes
