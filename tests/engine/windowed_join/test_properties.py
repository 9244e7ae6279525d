"""Windows over joins: engine and oracle agree, in memory and with a run store (semantics 42)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import JoinOperator, SameWindow, Side, Tumbling
from panewise import functions as F
from panewise.spec import WindowedJoin
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.join_events import join_events, join_types
from panewise.testing.matches.streams import windowed_streams
from panewise.testing.windowed_joins import windowed_join_specs
from tests.engine.agreement import outputs_that_agree
from tests.engine.effort import DEFAULT, FEW, at_length

Events = list[dict[str, Any]]
pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def agree(spec: WindowedJoin, script: Events, **options: Any) -> None:
    outputs_that_agree(spec, script, join_types(spec.join), **options)


def check(data: st.DataObject, **options: Any) -> None:
    spec = data.draw(windowed_join_specs(), label="spec")
    agree(spec, data.draw(join_events(spec.join), label="events"), **options)


@DEFAULT
@given(data=st.data())
def test_engine_is_oracle(data: st.DataObject) -> None:
    check(data)


@FEW
@given(data=st.data())
def test_stored_engine_is_oracle(data: st.DataObject) -> None:
    """Engine and oracle agree if every event loads the state from a run store and commits its changes."""
    check(data, stored=True)


@FEW
@given(data=st.data())
def test_windows_over_windowed_streams_are_those_of_the_oracle(data: st.DataObject) -> None:
    """semantics 42, 37.14, 40.4: rows that wait hold the windows back."""
    spec = data.draw(windowed_join_specs(match=data.draw(windowed_streams())), label="spec")
    events = data.draw(join_events(spec.join), label="events")
    agree(spec, events, stored=data.draw(st.booleans(), label="stored"))


test_engine_is_oracle_at_length = at_length(check, 20_000, data=st.data(), stored=st.booleans())


def test_windows_read_the_bounds_of_the_windows_of_the_join() -> None:
    """Semantics 37.11, 42: they are instants, which are numbers of microseconds."""
    side, match = Side(keys=["k"], event_time="t"), SameWindow(Tumbling(10))
    join = JoinOperator(left=side, right=Side(keys=["k"], event_time="t", prefix="r_"), match=match)
    spec = join.then(window=Tumbling(100), aggregates=[F.sum("window_start").alias("s")])
    rows = [{"k": 1, "t": time} for time in (3, 15, 27)]
    events = [{"op": "add", "rows": {"left": rows, "right": rows}}, {"op": "finish"}]
    found = [run(spec, events, runtime) for runtime in ("engine", "oracle")]
    assert same(*found)
    assert [pane["s"] for output in found[0] for pane in output["panes"]] == [30]
