"""The oracle for joins: what does not depend on how a stream is cut, and what holds for all its output."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from panewise.oracle.join.interpreter import JoinInterpreter
from panewise.oracle.join.two_sides import invalid_row_reason, merged
from panewise.oracle.rows import arrival_order, read
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs
from panewise.testing.matches.interval import unbounded_intervals
from tests.engine.effort import examples

Events = list[dict[str, Any]]
SETTINGS = examples(100)


def by_side(event: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    rows = event["rows"]
    return rows if isinstance(rows, dict) else {event["input"]: rows}


def cut(spec: JoinOperator, script: Events) -> Iterator[dict[str, Any]]:
    """Yields the events with a batch for each row, in the arrival order of its batch."""
    types, now = join_types(spec), 0
    for event in script:
        now = max(now, event["to"]) if event["op"] == "clock" else now
        if event["op"] != "add":
            yield event
            continue
        valid: dict[str, Any] = {}
        for side, rows in by_side(event).items():
            entry, valid[side] = spec.ports[side], []
            for row in arrival_order(entry, types[side], rows):
                if invalid_row_reason(entry, types[side], row, now) is None:
                    valid[side].append(read(entry, types[side], row, now))
                else:
                    yield {"op": "add", "input": side, "rows": [row]}
        for side, one in merged(spec, types, valid):
            yield {"op": "add", "input": side, "rows": [one.added]}


def together(outputs: Events) -> dict[str, Any]:
    """Returns all that was emitted; late and invalid rows by side, and the sums of the counts."""
    counts: dict[str, dict[str, int]] = {}
    for output in outputs:
        for side, line in output["counts"].items():
            before = counts.setdefault(side, dict.fromkeys(line, 0))
            counts[side] = {name: before[name] + number for name, number in line.items()}
    rejected = {
        kind: [
            entry
            for side in ("left", "right")
            for output in outputs
            for entry in output[kind]
            if entry["input"] == side
        ]
        for kind in ("late", "invalid")
    }
    panes = [pane for output in outputs for pane in output["panes"]]
    return {"panes": panes, **rejected, "counts": counts, "windows": outputs[-1]["windows"]}


@SETTINGS
@given(data=st.data())
def test_a_batch_is_its_rows_one_by_one(data: st.DataObject) -> None:
    """semantics 36.7: with evaluate="record" cuts change no output, if the arrival order is the same."""
    spec = data.draw(join_specs(evaluate="record"))
    script = data.draw(join_events(spec))
    whole, single = (play(spec, events) for events in (script, list(cut(spec, script)) or script))
    assert same(whole, single)


@SETTINGS
@given(data=st.data())
def test_retention_does_not_depend_on_cuts(data: st.DataObject) -> None:
    """semantics 37.1, 36.7: with evaluate="record" cuts do not change which rows are retained."""
    spec = data.draw(join_specs(evaluate="record", match=data.draw(unbounded_intervals())))
    script = data.draw(join_events(spec))
    whole, single = (play(spec, events) for events in (script, list(cut(spec, script)) or script))
    assert same(whole, single)


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
    whole, single = (play(spec, events) for events in (script, list(cut(spec, script)) or script))
    assert sorted(map(repr, net(whole["panes"]))) == sorted(map(repr, net(single["panes"])))
    assert same(whole["counts"], single["counts"])
    assert same(whole["windows"], single["windows"])


@SETTINGS
@given(data=st.data())
def test_early_rows_are_retracted_or_final(data: st.DataObject) -> None:
    """semantics 39: after the end of input, what "early" has not retracted is what "final" emits."""
    spec = data.draw(join_specs(unmatched="early", how=data.draw(st.sampled_from(["left", "full", "anti"]))))
    script = [*data.draw(join_events(spec)), {"op": "finish"}]
    early, final = play(spec, script), play(replace(spec, unmatched="final"), script)
    assert all(pane["op"] == "+" for pane in final["panes"])
    assert sorted(map(repr, net(early["panes"]))) == sorted(map(repr, final["panes"]))


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


@SETTINGS
@given(data=st.data())
def test_no_row_is_behind_the_output_watermark(data: st.DataObject) -> None:
    """semantics 40.4: no row that is emitted later has an earlier event time."""
    spec = data.draw(join_specs())
    oracle = JoinInterpreter(spec, join_types(spec))
    for event in data.draw(join_events(spec)):
        mark = oracle.output_watermark()
        emitted = played(oracle, event)
        assert all(mark is None or pane["join_time"] >= mark for pane in emitted)
        after = oracle.output_watermark()
        assert mark is None or (after is not None and after >= mark)


def played(oracle: JoinInterpreter, event: dict[str, Any]) -> Events:
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
