"""Policy windows: partitions do not meet (semantics 10.25)."""

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
from tests.engine.effort import FEW

Events = list[dict[str, Any]]


def panes(spec: StreamWindow, script: Events) -> Events:
    return [pane for output in run(spec, script, "engine", types=TYPES) for pane in output["panes"]]


@pytest.mark.parametrize("kind", ["tumbling", "sliding"])
@FEW
@given(data=st.data())
def test_partitions_do_not_meet(kind: Any, data: st.DataObject) -> None:
    """A partition emits the same events alone and among others, as sharding requires (semantics 10.25)."""
    gone = data.draw(st.sampled_from([None, partition_age(3)]))
    specs = stream_windows(kind, partition_by=["shop"], partition_eviction=gone, position=None)
    spec = data.draw(specs.filter(lambda it: it.one_place is None))
    script = data.draw(stream_events(spec))
    together = panes(spec, script)
    for shop in (1, 2):
        alone = [only(shop, event) for event in script]
        assert same([pane for pane in together if pane["shop"] == shop], panes(spec, alone))


def only(shop: int, event: dict[str, Any]) -> dict[str, Any]:
    return (
        {"op": "add", "rows": [row for row in event["rows"] if row["shop"] == shop]}
        if event["op"] == "add"
        else event
    )
