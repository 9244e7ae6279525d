"""The output watermark of joins (semantics 40.4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.registry import operator_for
from panewise.oracle import interpreter
from panewise.testing.events import script
from panewise.testing.ingest import FLAGS, schema
from panewise.testing.join_events import join_events, join_types
from panewise.testing.runtimes import engine as in_engine
from panewise.testing.runtimes import oracle as in_oracle
from tests.drawn import JOINS
from tests.engine.effort import FEW


@pytest.mark.parametrize("kind", ["join", "windowed streams", "unbounded interval"])
@FEW
@given(data=st.data())
def test_output_watermarks_are_equal(kind: str, data: st.DataObject) -> None:
    """Engine and oracle have the same watermark of emitted rows after every event."""
    spec = data.draw(JOINS[kind](), label="spec")
    events = [event for event in data.draw(join_events(spec), label="events") if event["op"] != "restart"]
    played = script(spec, events, join_types(spec))
    columns = {side: schema(types) | FLAGS for side, types in played.types.items()}
    operator, oracle = operator_for(played.spec, columns), interpreter(played.spec, played.types)
    for event in played.events:
        in_oracle._step(oracle, event, played)
        in_engine._step(operator, played, event)
        assert operator.output_watermark() == oracle.output_watermark()
