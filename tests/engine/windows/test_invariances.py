"""Output does not depend on batch cuts, the order of rows in a batch, or restarts.

Retractions leave the latest pane of each window.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import WindowOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.strategies import events, specs, types_of
from tests.engine.effort import examples
from tests.nightly import FEW_KINDS

Events = list[dict[str, Any]]

EACH_KIND = pytest.mark.parametrize("kind", FEW_KINDS)
COUNTS = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")
BY_ORDER = {"order": ["order"], "position": None}


def play(spec: WindowOperator, script: Events) -> Events:
    return run(spec, script, "engine", types=types_of(spec), windows=True)


def numbered(script: Events) -> Events:
    """Returns the script with adjacent batches merged into one, and its rows numbered in the column `order`.

    With that order column, arrival order does not depend on where batches are cut.
    """
    merged: Events = []
    number = 0
    for event in script:
        if event["op"] != "add":
            merged.append(event)
            continue
        rows = [{**row, "order": number + place} for place, row in enumerate(event["rows"])]
        number += len(rows)
        if merged and merged[-1]["op"] == "add":
            merged[-1] = {"op": "add", "rows": merged[-1]["rows"] + rows}
        else:
            merged.append({"op": "add", "rows": rows})
    return merged


def cut(script: Events, lengths: Sequence[int]) -> Events:
    """Returns the script with each batch cut into pieces of these lengths, which are repeated as needed."""
    pieces: Events = []
    for event in script:
        rows = event.get("rows", [])
        turn = 0
        while rows:
            length = lengths[turn % len(lengths)]
            pieces.append({"op": "add", "rows": rows[:length]})
            rows, turn = rows[length:], turn + 1
        if event["op"] != "add":
            pieces.append(event)
    return pieces


def together(outputs: Events) -> dict[str, Any]:
    """Returns all emitted rows in order, the sums of the counts, and the windows stored at the end."""
    lists = {
        part: [entry for output in outputs for entry in output[part]] for part in ("panes", "late", "invalid")
    }
    counts = {name: sum(output["counts"][name] for output in outputs) for name in COUNTS}
    return {**lists, "counts": counts, "windows": outputs[-1]["windows"] if outputs else []}


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for part, value in one.items():
        assert same(value, other[part]), f"{part}\n{value}\n{other[part]}"


@EACH_KIND
@examples(30)
@given(data=st.data())
def test_batches_may_be_cut_anywhere(kind: str, data: st.DataObject) -> None:
    """With evaluate="record" no output depends on where batches are cut (semantics 3.1, 18.1)."""
    spec = data.draw(specs(kind, evaluate="record", **BY_ORDER))
    script = numbered(data.draw(events(spec)))
    whole = together(play(spec, script))
    assert_same(together(play(spec, cut(script, [1]))), whole)
    assert_same(
        together(play(spec, cut(script, data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))))),
        whole,
    )


@EACH_KIND
@examples(30)
@given(data=st.data())
def test_rows_may_stand_anywhere_in_their_batch(kind: str, data: st.DataObject) -> None:
    """Order columns without ties determine the arrival order completely (semantics 3, 23)."""
    spec = data.draw(specs(kind, **BY_ORDER))
    script = numbered(data.draw(events(spec)))
    shuffled = [
        {**event, "rows": data.draw(st.permutations(event["rows"]))} if event["op"] == "add" else event
        for event in script
    ]
    for one, other in zip(play(spec, shuffled), play(spec, script), strict=True):
        assert_same(one, other)


@pytest.mark.nightly  # transcripts with restarts, and stored states, are in every test run
@EACH_KIND
@examples(30)
@given(data=st.data())
def test_restarts_change_nothing(kind: str, data: st.DataObject) -> None:
    """A restart after every event changes no output (semantics 33)."""
    spec = data.draw(specs(kind))
    script = data.draw(events(spec))
    interrupted = play(spec, [step for event in script for step in (event, {"op": "restart"})])
    for one, other in zip(interrupted[::2], play(spec, script), strict=True):
        assert_same(one, other)


@pytest.mark.nightly  # every run checks its retractions
@EACH_KIND
@examples(30)
@given(data=st.data())
def test_retractions_leave_the_latest_pane(kind: str, data: st.DataObject) -> None:
    """A retraction repeats the live pane; a window has at most one (semantics 20.3, 21.1, 21.2)."""
    spec = data.draw(specs(kind, accumulation="retracting"))
    live: dict[tuple[Any, ...], dict[str, Any]] = {}
    for output in play(spec, data.draw(events(spec))):
        for pane in output["panes"]:
            key = (repr(pane[name]) for name in spec.keys)  # as values, two NaN are different keys of a dict
            window = (*key, pane["window_start"], pane["window_end"])
            if pane["op"] == "-":
                retractions = live.pop(window)
                assert same({**retractions, "op": "-", "processing_time": pane["processing_time"]}, pane)
            else:
                assert window not in live
                live[window] = pane
        if kind == "session":
            assert disjoint(spec, live)


def disjoint(spec: WindowOperator, live: dict[tuple[Any, ...], dict[str, Any]]) -> bool:
    """Returns whether the sessions of each key that have a live pane are disjoint.

    The panes of sessions that are merged away are retracted (semantics 9.2).
    """
    sessions = sorted(live, key=lambda window: (repr(window[:-2]), *window[-2:]))
    return all(one[:-2] != other[:-2] or one[-1] <= other[-2] for one, other in pairwise(sessions))
