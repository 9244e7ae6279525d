"""Trigger trees up to depth 3: engine and oracle agree, and random samples reach every class of behaviour."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.spec import WindowOperator
from panewise.spec.triggers.composite import Composite, parts_of_trigger, walk
from panewise.spec.triggers.simple import Leaf
from panewise.testing import run
from panewise.testing.strategies import ALL_KINDS, composites, events, specs, types_of
from tests.engine.agreement import agree
from tests.engine.effort import FEW, at_length
from tests.testing.reached import check_reached


def check(data: st.DataObject, kind: str) -> None:
    spec = data.draw(specs(kind, trigger=data.draw(composites(), label="trigger")), label="spec")
    agree(spec, data.draw(events(spec, max_events=12, clock_moves=5), label="events"))


@pytest.mark.parametrize("kind", ALL_KINDS)
@FEW
@given(data=st.data())
def test_engine_is_oracle(kind: str, data: st.DataObject) -> None:
    check(data, kind)


test_engine_is_oracle_at_length = pytest.mark.parametrize("kind", ALL_KINDS)(
    at_length(check, 10_000, data=st.data())
)


def test_late_rows_are_counted_over_several_steps() -> None:
    """semantics 16.9: after the end the late part is active. What does not fire does not arm it again."""
    late = pw.AfterWatermark(late=pw.Repeatedly(pw.AfterCount(2)))
    count = F.count().alias("n")
    spec = WindowOperator(window=pw.Tumbling(10), aggregates=[count], trigger=late, allowed_lateness=50)
    rows = [{"op": "add", "rows": [{"event_time": time}]} for time in (1, 2, 3, 4, 5)]
    script = [rows[0], {"op": "watermark", "to": 10}, *rows[1:]]
    agree(spec, script)
    panes = [output["panes"] for output in run(spec, script)]
    assert [[pane["n"] for pane in emitted] for emitted in panes] == [[], [1], [], [3], [], [5]]


def classes(spec: WindowOperator, script: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> set[str]:
    """Returns the nodes and depth of the trigger, and the closings and timings that the script reaches."""
    found = {node.kind for node in walk(spec.trigger)}
    found |= {f"depth {_depth(spec.trigger)}"}
    held: list[dict[str, Any]] = []
    for event, output in zip(script, outputs, strict=True):
        shut = {(w["window_start"], w["window_end"]) for w in output["windows"] if w["closed"]}
        new = shut - {(w["window_start"], w["window_end"]) for w in held if w["closed"]}
        found |= {f"closed by {event['op']}"} if new else set()
        found |= {f"{pane['timing']} at {event['op']}" for pane in output["panes"]}
        held = output["windows"]
    return found


def _depth(trigger: Any) -> int:
    inner = parts_of_trigger(trigger)
    return 1 + max(map(_depth, inner), default=0)


KINDS_OF_NODES = [*get_args(Leaf), *get_args(Composite)]
WANTED = {kind.kind for kind in KINDS_OF_NODES} | {"depth 2", "depth 3", "closed by add", "closed by clock"}
WANTED |= {f"EARLY at {op}" for op in ("add", "clock", "watermark")}
WANTED |= {"ON_TIME at watermark", "LATE at add", "LATE at clock", "LATE at watermark", "closed by watermark"}


@pytest.mark.soak
def test_every_class_is_generated() -> None:
    """Every class is reached within some samples of fixed seeds.

    What one sample reaches also depends on the loaded modules, because Hypothesis uses their constants.
    """

    def drawn(data: st.DataObject, _: int) -> set[str]:
        spec = data.draw(specs(trigger=data.draw(composites())))
        script = data.draw(events(spec, max_events=12, clock_moves=5))
        return classes(spec, script, run(spec, script, types=types_of(spec), windows=True))

    check_reached(WANTED, drawn, rounds=96, samples=50)
