"""The strategies for policy windows generate every class of edge cases.

The classes are counted over fixed samples, in the scripts and in the oracle's output.
"""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import strategies as st

from panewise.spec import StreamWindow
from panewise.testing import run
from panewise.testing.policy_events import stream_events
from panewise.testing.policy_specs import EVICTING, TYPES, stream_windows
from tests.testing.reached import check_reached

Events = list[dict[str, Any]]


def classes(spec: StreamWindow, script: Events, outputs: Events) -> set[str]:
    """Returns the classes of edge cases that a script reaches."""
    panes = [pane for output in outputs for pane in output["panes"]]
    found = {event["op"] for event in script} | {
        f"{event['op']} sends" for event, o in zip(script, outputs, strict=True) if o["panes"]
    }
    clocks = [event["to"] for event in script if event["op"] == "clock"]
    found |= {"clock goes back" for n, to in enumerate(clocks) if any(before > to for before in clocks[:n])}
    found |= {"empty batch" for event in script if event.get("rows") == []}
    found |= {f"{spec.evict.kind} {pane['event']}" for pane in panes}
    found |= {
        f"trigger {spec.trigger.kind}"
        for pane in panes
        if pane["event"] == "TRIGGER" and spec.trigger is not None
    }
    found |= {f"empty {pane['event']}" for pane in panes if pane.get("tuples") == []}
    found |= {f"several {pane['event']}" for pane in panes if len(pane.get("tuples", ())) > 1}
    found |= {
        f"{spec.partition_eviction.kind}"
        for pane in panes
        if pane["event"] == "PARTITION_EVICTION" and spec.partition_eviction
    }
    found |= {
        "asking" for pane in panes if spec.listener == EVICTING and pane["event"] == "PARTITION_EVICTION"
    }
    found |= {"listener" for pane in panes if spec.listener} | {
        "aggregates" for pane in panes if spec.aggregates
    }
    found |= {
        f"invalid {entry['reason'].rsplit(' ', 1)[-1]}" for output in outputs for entry in output["invalid"]
    }
    found |= {name for name in ("replays",) if any(output["counts"][name] for output in outputs)}
    for name in ("only_when_full", "skip_unchanged", "flush_on_final", "null_keys"):
        found |= {name} if getattr(spec, name) and panes else set()
    values = [row["n"] for event in script for row in event.get("rows", ()) if type(row["n"]) is int]
    return found | {"falling" for one, other in pairwise(values) if other < one} | _ties(spec, values)


def _ties(spec: StreamWindow, values: list[int]) -> set[str]:
    amounts = [
        p.amount
        for p in (spec.evict, spec.trigger)
        if p is not None and p.kind == "delta" and p.column == "n"
    ]
    return {
        f"difference {sign}"
        for one, other in pairwise(values)
        for amount in amounts
        for sign in [_sign(other - one - amount)]
        if sign
    }


def _sign(by: float) -> str:
    return {0: "at the amount", 1: "above it"}.get(by, "")


COMMON = {
    "add", "clock", "restart", "drain", "checkpoint", "reset", "reset_to_initial", "evict", "finish",
    "empty batch", "clock sends",
    "reset sends", "evict sends", "finish sends", "count INSERTION", "count EVICTION", "time INSERTION",
    "time EVICTION",
    "delta INSERTION", "delta EVICTION", "clock goes back", "empty FINAL", "several FINAL",
    "several EVICTION",
    "several PARTITION_EVICTION", "partition_age", "partition_count", "tuple_count", "listener", "asking",
    "aggregates", "invalid null",
    "invalid NaN", "invalid type", "replays", "null_keys", "falling", "difference at the amount",
    "difference above it",
}  # fmt: skip
OF_KINDS = {
    "tumbling": {"punct EVICTION", "empty EVICTION", "empty PARTITION_EVICTION", "flush_on_final"},
    "sliding": {
        "count INITIAL_FULL", "time INITIAL_FULL", "delta INITIAL_FULL", "empty INITIAL_FULL",
        "several INITIAL_FULL", "trigger count",
        "trigger time", "trigger delta", "empty TRIGGER", "several TRIGGER", "only_when_full",
        "skip_unchanged",
    },
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["tumbling", "sliding"])
def test_every_edge_class_is_generated(kind: Any) -> None:
    def drawn(data: st.DataObject, _: int) -> set[str]:
        spec = data.draw(stream_windows(kind))
        script = data.draw(stream_events(spec))
        return classes(spec, script, run(spec, script, types=TYPES))

    check_reached(COMMON | OF_KINDS[kind], drawn, rounds=8, samples=150)
