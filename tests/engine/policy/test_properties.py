"""Policy windows: engine and oracle emit the same events, whatever the cuts, restarts and stores are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import StreamWindow
from panewise.streamwindow import partition_age
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.policy_events import stream_events
from panewise.testing.policy_specs import TYPES, stream_windows
from tests.engine.agreement import outputs_that_agree
from tests.engine.effort import DEFAULT, FEW, at_length

Events = list[dict[str, Any]]

KINDS = pytest.mark.parametrize("kind", ["tumbling", "sliding"])


def play(spec: StreamWindow, script: Events, **options: Any) -> Events:
    return run(spec, script, "engine", types=TYPES, windows=True, **options)


def agree(spec: StreamWindow, script: Events) -> None:
    """Asserts that engine and oracle have the same output and stored windows after every event."""
    for left, right in outputs_that_agree(spec, script, TYPES, exact=True):
        assert repr(levels(left)) == repr(levels(right))


def levels(output: dict[str, Any]) -> list[Any]:
    """Returns the values of `level` in panes and tuples.

    Their text shows whether a value is 0.0 or -0.0. A key is never -0.0, a value in a tuple may be
    (semantics 15.2).
    """
    return [
        [pane.get("level"), *(row.get("level") for row in pane.get("tuples", ()))] for pane in output["panes"]
    ]


def check(data: st.DataObject, kind: str) -> None:
    spec = data.draw(stream_windows(kind), label="spec")
    agree(spec, data.draw(stream_events(spec), label="events"))


@KINDS
@DEFAULT
@given(data=st.data())
def test_engine_is_oracle(kind: str, data: st.DataObject) -> None:
    check(data, kind)


test_engine_is_oracle_at_length = KINDS(at_length(check, 20_000, data=st.data()))


@KINDS
@FEW
@given(data=st.data())
def test_restarts_and_stores_change_nothing(kind: str, data: st.DataObject) -> None:
    """Restarts and a run store change no output (semantics 33)."""
    spec = data.draw(stream_windows(kind))
    script = data.draw(stream_events(spec))
    wanted = play(spec, script)
    assert same(play(spec, script, stored=True), wanted)
    restarted = [step for event in script for step in (event, {"op": "restart"})]
    assert same(play(spec, restarted)[::2], wanted)
    assert same(play(spec, restarted, stored=True)[::2], wanted)


@KINDS
@FEW
@given(data=st.data())
def test_where_batches_are_cut_does_not_matter(kind: str, data: st.DataObject) -> None:
    """Tuples are processed one at a time, so batches of one row emit the same events (semantics 10.1)."""
    spec = data.draw(stream_windows(kind, order=(), position=None))
    script = data.draw(stream_events(spec))
    alone = [piece for event in script for piece in cut(event)]
    assert same(joined(play(spec, alone)), joined(play(spec, script)))


@KINDS
@FEW
@given(data=st.data())
def test_partitions_do_not_meet(kind: str, data: st.DataObject) -> None:
    """A partition emits the same events alone and among others, as sharding requires (semantics 10.25)."""
    gone = data.draw(st.sampled_from([None, partition_age(3)]))
    specs = stream_windows(kind, partition_by=["shop"], partition_eviction=gone, position=None)
    spec = data.draw(specs.filter(lambda it: it.one_place is None))
    script = data.draw(stream_events(spec))
    together = joined(play(spec, script))["panes"]
    for shop in (1, 2):
        alone = [only(shop, event) for event in script]
        assert same([pane for pane in together if pane["shop"] == shop], joined(play(spec, alone))["panes"])


def only(shop: int, event: dict[str, Any]) -> dict[str, Any]:
    return (
        {"op": "add", "rows": [row for row in event["rows"] if row["shop"] == shop]}
        if event["op"] == "add"
        else event
    )


def cut(event: dict[str, Any]) -> Events:
    return [{"op": "add", "rows": [row]} for row in event["rows"]] if event["op"] == "add" else [event]


def joined(outputs: Events) -> dict[str, Any]:
    parts = {
        name: [entry for output in outputs for entry in output[name]] for name in ("panes", "invalid", "late")
    }
    return parts | {"windows": outputs[-1]["windows"] if outputs else []}
