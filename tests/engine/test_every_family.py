"""What holds for operators of every family: the engine is the oracle, and cuts change no output."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from panewise.families import INPUT
from panewise.spec import Custom, DeduplicateOperator, OverOperator, Specification, StreamTime, row_driven
from panewise.spec.family_parts import parts
from panewise.streamwindow import partition_age
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.strategies import KINDS
from tests.drawn import (
    CHAINS,
    JOINS,
    LIMITED,
    OVER_JOINS,
    POLICIES,
    ROWS,
    SPECS,
    WINDOWS,
    events_of,
    few,
    types_for,
)
from tests.engine.agreement import agree
from tests.engine.cuts import BY_ORDER, assert_same, cut, net, numbered, rows_of_sides, together
from tests.engine.effort import at_length, examples

Events = list[dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
EACH_FAMILY = pytest.mark.parametrize("family", SPECS)


def check(family: str, data: st.DataObject) -> None:
    spec = data.draw(SPECS[family](), label="spec")
    script = data.draw(events_of(spec), label="events")
    if data.draw(st.booleans(), label="restarted"):
        script = [step for event in script for step in (event, {"op": "restart"})]
    agree(spec, script, stored=data.draw(st.booleans(), label="stored"))


@EACH_FAMILY
def test_engine_is_oracle(family: str) -> None:
    """In memory and with a state that each event loads and commits, and with restarts (semantics 33)."""
    count = 20 if family in LIMITED | CHAINS | OVER_JOINS else 60
    examples(count)(given(data=st.data())(check))(family=family)


test_engine_is_oracle_at_length = EACH_FAMILY(at_length(check, 10_000, data=st.data()))


PANES = {**WINDOWS, **CHAINS}
IN_ORDER = {**PANES, **ROWS, **POLICIES}  # one input, whose arrival order columns decide


def in_order(data: st.DataObject, family: str, **fixed: Any) -> tuple[Any, Events]:
    """Draws a specification and events whose arrival order does not depend on cuts and places of rows."""
    spec = data.draw(IN_ORDER[family](**BY_ORDER, **fixed))
    return spec, numbered(data.draw(events_of(spec)))


@few(IN_ORDER)
@examples(20)
@given(data=st.data())
def test_batches_may_be_cut_anywhere(family: str, data: st.DataObject) -> None:
    """With the same arrival order and watermarks, cuts change no output (semantics 3.1, 10.1, 18.1)."""
    spec, script = in_order(data, family, **({"evaluate": "record"} if family in PANES else {}))
    assume(family in PANES or row_driven(spec.ports[INPUT].watermark) is None)
    whole = emitted(spec, script)
    for lengths in ([1], data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))):
        assert_same(emitted(spec, cut(script, lengths)), whole)


@pytest.mark.parametrize("family", ["join", "unbounded interval", "window join", "cogroup"])
@examples(100)
@given(data=st.data())
def test_a_batch_of_two_sides_is_its_rows_one_by_one(family: str, data: st.DataObject) -> None:
    """With evaluate="record" cuts change no output, if the arrival order is the same (semantics 36.7)."""
    spec = data.draw(JOINS[family](evaluate="record"))
    # The rows are sorted by the oracle, which knows no functions of frames.
    assume(not isinstance(getattr(spec, "window", None), Custom))
    script = data.draw(events_of(spec))
    assert_same(emitted(spec, list(rows_of_sides(spec, script)) or script), emitted(spec, script))


def emitted(spec: Specification, script: Events) -> dict[str, Any]:
    """Returns everything that is emitted, in an order that cuts do not change.

    Where OVER looks ahead, cuts decide which rows of several keys are emitted together (semantics 29.8). They
    also decide which rows are retracted, but not the net rows (semantics 45.8).
    """
    everything = together(run(spec, script, "engine", types=types_for(spec), windows=True))
    if isinstance(spec, OverOperator) and spec.rows_ahead:
        everything["panes"].sort(key=lambda row: repr([row[key] for key in spec.keys]))
    if isinstance(spec, DeduplicateOperator) and spec.emit == "retracting":
        everything["panes"] = net(everything["panes"])
    return everything


@few(IN_ORDER)
@examples(20)
@given(data=st.data())
def test_rows_may_stand_anywhere_in_their_batch(family: str, data: st.DataObject) -> None:
    """Order columns without ties determine the arrival order completely (semantics 3, 23)."""
    spec, script = in_order(data, family)
    shuffled = [
        {**event, "rows": data.draw(st.permutations(event["rows"]))} if event["op"] == "add" else event
        for event in script
    ]
    found, wanted = (
        run(spec, events, "engine", types=types_for(spec), windows=True) for events in (shuffled, script)
    )
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other)


@few([*KINDS, "rows", "hopping_rows", *POLICIES])
@examples(20)
@given(data=st.data())
def test_a_key_alone_gives_what_it_gives_among_others(family: str, data: st.DataObject) -> None:
    """Each key has its own watermark, row numbering or partition (semantics 8, 10.25, 12.8)."""
    keys: dict[str, Any] = {"keys": ["shop"]}
    if family in KINDS:
        keys |= {"watermark": StreamTime(data.draw(st.sampled_from([0, 2, 5]))), "time": "event"}
    elif family in POLICIES:
        gone = data.draw(st.sampled_from([None, partition_age(3)]))
        keys = {"partition_by": ["shop"], "partition_eviction": gone}
    drawn = SPECS[family](**keys, position=None)
    spec = data.draw(drawn.filter(lambda spec: parts(spec).one_shard(spec) is None))
    script = data.draw(events_of(spec))
    alone = [
        {**event, "rows": [*filter(_of_one, event["rows"])]} if event["op"] == "add" else event
        for event in script
    ]
    mixed, single = (run(spec, steps, "engine", types=types_for(spec)) for steps in (script, alone))
    for one, other in zip(mixed, single, strict=True):
        assert same([pane for pane in one["panes"] if pane["shop"] == 1], other["panes"])
        for part in ("late", "invalid"):
            assert same([entry for entry in one[part] if _of_one(entry["row"])], other[part])


def _of_one(row: dict[str, Any]) -> bool:
    return row.get("shop") == 1 and type(row["shop"]) is int


@pytest.mark.nightly  # every run checks its retractions
@few(PANES)
@examples(30)
@given(data=st.data())
def test_retractions_leave_the_latest_pane(family: str, data: st.DataObject) -> None:
    """A retraction repeats the live pane; a window has at most one (semantics 20.3, 21.1, 21.2, 30.4)."""
    spec = data.draw(PANES[family](accumulation="retracting"))
    live: dict[tuple[Any, ...], dict[str, Any]] = {}
    for output in run(spec, data.draw(events_of(spec)), "engine", types=types_for(spec)):
        for pane in output["panes"]:
            key = (repr(pane[name]) for name in spec.keys)  # as values, two NaN are different keys of a dict
            window = (*key, pane["window_start"], pane["window_end"])
            if pane["op"] == "-":
                retracted = live.pop(window)
                assert same({**retracted, "op": "-", "processing_time": pane["processing_time"]}, pane)
            else:
                assert window not in live
                live[window] = pane
        if family == "session":
            assert disjoint(live)


def disjoint(live: Iterable[tuple[Any, ...]]) -> bool:
    """Returns whether the sessions of each key that have a live pane are disjoint.

    The panes of sessions that are merged away are retracted (semantics 9.2).
    """
    sessions = sorted(live, key=lambda window: (repr(window[:-2]), *window[-2:]))
    return all(one[:-2] != other[:-2] or one[-1] <= other[-2] for one, other in pairwise(sessions))
