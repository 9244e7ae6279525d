"""Engine and oracle agree where the windows of a key have a limit (semantics 15.23 to 15.27)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError
from panewise.testing import run
from panewise.testing.strategies import events, types_of
from panewise.testing.window_specs import LIMITED_KINDS, limited_specs
from tests.engine.agreement import outputs_that_agree
from tests.engine.effort import FEW, at_length

EACH_KIND = pytest.mark.parametrize("kind", LIMITED_KINDS)
LIMITED = pw.WindowOperator(
    keys=["k"],
    window=pw.Tumbling(10),
    aggregates=[F.count().alias("n")],
    max_windows=pw.MaxWindows(2, when_full="stop"),
)


def check(data: st.DataObject, kind: str) -> None:
    spec = data.draw(limited_specs(kind), label="spec")
    stored = {"stored": True} if data.draw(st.booleans(), label="stored") else {}
    outputs_that_agree(spec, data.draw(events(spec), label="events"), types_of(spec), exact=True, **stored)


@EACH_KIND
@FEW
@given(data=st.data())
def test_engine_is_oracle(kind: str, data: st.DataObject) -> None:
    """semantics 15.24, 15.25."""
    check(data, kind)


test_engine_is_oracle_at_length = EACH_KIND(at_length(check, 20_000, data=st.data()))


@pytest.mark.parametrize("runtime", ["oracle", "engine", "standalone"])
def test_a_batch_with_more_windows_stops(runtime: str) -> None:
    """semantics 15.26: the windows of other keys do not count."""
    rows = [{"k": k, "event_time": t} for k, t in (("a", 1), ("a", 12), ("b", 35))]
    more = [*rows, {"k": "a", "event_time": 35}]
    run(LIMITED, [{"op": "add", "rows": rows}], runtime)
    with pytest.raises(StateError, match="more than 2 windows"):
        run(LIMITED, [{"op": "add", "rows": more}], runtime)
