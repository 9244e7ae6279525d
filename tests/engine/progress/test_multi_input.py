"""Watermarks of inputs that are driven by rows (semantics 12.9, 12.10)."""

import warnings
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import Inputs, StreamTime
from panewise.errors import SpecWarning
from panewise.spec import Chain, OverOperator, WindowOperator
from panewise.testing import run
from panewise.testing.chains import chains
from panewise.testing.compare import same
from panewise.testing.over_specs import frame_events, frame_specs
from panewise.testing.strategies import KINDS, composites, events, specs, triggers, types_of
from tests.engine.agreement import agree
from tests.engine.cuts import BY_ORDER, assert_same, cut, numbered, together
from tests.engine.effort import FEW, at_length
from tests.nightly import nightly

Events = list[dict[str, Any]]
# The inputs of an operator are the same for all kinds: one of windows of time and one that merges are here.
SOME = [kind if kind in ("sliding", "session") else nightly(kind) for kind in KINDS]
INPUTS = st.sampled_from(
    [
        Inputs(["a", "b"], column="input"),
        Inputs(["b", "a"], idle_after=3, column="input"),
        Inputs(["a", "b"], idle_after=5, column="input", delay=2),
        Inputs(["a", "b"], idle_after=1, column="input", delay={"a": 0, "b": 3}),
        StreamTime(2, per="all"),
    ]
)


def drawn(
    data: st.DataObject, kind: str, of: st.SearchStrategy[Any] = INPUTS, **fixed: Any
) -> tuple[WindowOperator, Events]:
    spec = data.draw(
        specs(kind, watermark=data.draw(of, label="watermark"), time="event", **fixed), label="spec"
    )
    return spec, data.draw(events(spec, clock_moves=3), label="events")


def check(data: st.DataObject, kind: str) -> None:
    agree(*drawn(data, kind, trigger=data.draw(st.one_of(triggers(), composites()), label="trigger")))


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(data=st.data())
def test_engine_is_oracle(kind: str, data: st.DataObject) -> None:
    check(data, kind)


test_engine_is_oracle_at_length = pytest.mark.parametrize("kind", KINDS)(
    at_length(check, 20_000, data=st.data())
)


def agree_on(spec: Chain | OverOperator, script: Events, types: dict[str, str]) -> None:
    wanted, got = (run(spec, script, runtime, types=types, windows=True) for runtime in ("oracle", "engine"))
    for one, other in zip(got, wanted, strict=True):
        assert_same(one, other)


@FEW
@given(data=st.data())
def test_frames(data: st.DataObject) -> None:
    """Engine and oracle agree for OVER operators (semantics 29.11)."""
    spec = data.draw(frame_specs(watermark=data.draw(INPUTS), event_time="t"))
    agree_on(spec, data.draw(frame_events(spec)), types_of(spec))


@pytest.mark.parametrize("kind", ["tumbling", "session"])
@FEW
@given(data=st.data())
def test_each_evaluation_goes_through_a_chain(kind: str, data: st.DataObject) -> None:
    """Engine and oracle agree for chains, whose stages fire in each evaluation (semantics 30.3)."""
    spec = data.draw(chains(kind, watermark=data.draw(INPUTS), time="event"))
    agree_on(spec, data.draw(events(spec.first)), types_of(spec.first))


@pytest.mark.parametrize("kind", SOME)
@FEW
@given(data=st.data())
def test_batches_may_be_cut_anywhere_where_each_row_is_one(kind: str, data: st.DataObject) -> None:
    """With evaluate="record" no output depends on where batches are cut (semantics 3.1, 12.9)."""
    spec, script = drawn(data, kind, evaluate="record", **BY_ORDER)
    whole = numbered(script)
    one, other = (
        together(run(spec, given, "engine", types=types_of(spec), windows=True))
        for given in (whole, cut(whole, [2, 1]))
    )
    assert_same(other, one)


@pytest.mark.parametrize("kind", SOME)
@FEW
@given(data=st.data())
def test_restarts_change_nothing(kind: str, data: st.DataObject) -> None:
    """A restart after every event, or a run store, changes no output (semantics 33)."""
    spec, script = drawn(data, kind)
    types = types_of(spec)
    interrupted = run(
        spec,
        [step for event in script for step in (event, {"op": "restart"})],
        "engine",
        types=types,
        windows=True,
    )
    stored = run(spec, script, "engine", types=types, windows=True, stored=True)
    for one, other, third in zip(
        interrupted[::2], stored, run(spec, script, "engine", types=types, windows=True), strict=True
    ):
        assert_same(one, third)
        assert_same(other, third)


@FEW
@given(data=st.data())
def test_the_order_of_names_does_not_matter(data: st.DataObject) -> None:
    """All inputs of a batch report at once, so the order of their names has no effect (semantics 12.9)."""
    spec, script = drawn(data, "tumbling", of=INPUTS.filter(lambda watermark: isinstance(watermark, Inputs)))
    assert isinstance(spec.watermark, Inputs)
    delays = {name: spec.watermark.delay_of(name) for name in spec.watermark.names}
    turned = Inputs(reversed(spec.watermark.names), spec.watermark.idle_after, "input", delays)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        other = replace(spec, watermark=turned)
    for one, another in zip(
        *(run(each, script, "engine", types=types_of(spec)) for each in (spec, other)), strict=True
    ):
        assert same(one, another)


@FEW
@given(data=st.data())
def test_one_stream_time_is_that_of_an_input_of_all_rows(data: st.DataObject) -> None:
    """StreamTime(per="all") is Inputs with one input to which all rows belong (semantics 12.10)."""
    spec, script = drawn(
        data,
        data.draw(st.sampled_from(KINDS)),
        of=st.builds(StreamTime, st.integers(0, 5), st.just("all")),
        delta=False,
    )
    assert isinstance(spec.watermark, StreamTime)
    of_all = [
        {**event, "rows": [{**row, "task": "one"} for row in event["rows"]]} if "rows" in event else event
        for event in script
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        named = replace(spec, watermark=Inputs(["one"], column="task", delay=spec.watermark.delay))
    types = {**types_of(spec), "task": "string"}
    for runtime in ("oracle", "engine"):
        for one, other in zip(
            *(run(each, of_all, runtime, types=types) for each in (spec, named)), strict=True
        ):
            assert same(one, other)
