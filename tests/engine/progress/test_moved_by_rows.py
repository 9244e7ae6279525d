"""Watermarks that are driven by rows (semantics 12.8 to 12.10)."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import Inputs, StreamTime
from panewise import functions as F
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import WindowOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.strategies import KINDS, events, specs, types_of
from tests.engine.agreement import agree
from tests.engine.effort import FEW

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
INPUTS = st.sampled_from(
    [
        Inputs(["a", "b"], column="input"),
        Inputs(["b", "a"], idle_after=3, column="input"),
        Inputs(["a", "b"], idle_after=5, column="input", delay=2),
        Inputs(["a", "b"], idle_after=1, column="input", delay={"a": 0, "b": 3}),
    ]
)


def drawn(data: st.DataObject, kind: str, **fixed: Any) -> tuple[WindowOperator, list[dict[str, Any]]]:
    spec = data.draw(specs(kind, time="event", **fixed), label="spec")
    return spec, data.draw(events(spec, clock_moves=3), label="events")


@FEW
@given(data=st.data(), watermark=INPUTS)
def test_the_order_of_names_does_not_matter(data: st.DataObject, watermark: Inputs) -> None:
    """All inputs of a batch report at once, so the order of their names has no effect (semantics 12.9)."""
    spec, script = drawn(data, "tumbling", watermark=watermark)
    delays = {name: watermark.delay_of(name) for name in watermark.names}
    turned = Inputs(reversed(watermark.names), watermark.idle_after, "input", delays)
    other = replace(spec, watermark=turned)
    for one, another in zip(
        *(run(each, script, "engine", types=types_of(spec)) for each in (spec, other)), strict=True
    ):
        assert same(one, another)


@FEW
@given(data=st.data(), delay=st.integers(0, 5), kind=st.sampled_from(KINDS))
def test_one_stream_time_is_that_of_an_input_of_all_rows(data: st.DataObject, delay: int, kind: str) -> None:
    """StreamTime(per="all") is Inputs with one input to which all rows belong (semantics 12.10)."""
    spec, script = drawn(data, kind, watermark=StreamTime(delay, per="all"), delta=False)
    of_all = [
        {**event, "rows": [{**row, "task": "one"} for row in event["rows"]]} if "rows" in event else event
        for event in script
    ]
    named = replace(spec, watermark=Inputs(["one"], column="task", delay=delay))
    types = {**types_of(spec), "task": "string"}
    for one, other in zip(*(run(each, of_all, "engine", types=types) for each in (spec, named)), strict=True):
        assert same(one, other)


def test_the_watermark_of_a_key_is_stored_without_windows() -> None:
    """The watermark of a key is stored even if no window of the key is."""
    spec = WindowOperator(
        window=pw.Tumbling(10), keys=["k"], aggregates=[F.count().alias("n")], watermark=pw.StreamTime()
    )
    operator = WindowEngine(spec, {"k": pl.String(), "event_time": pl.Int64()})
    operator.add(pl.DataFrame({"k": ["a", "b"], "event_time": [20, 3]}))
    operator.add(pl.DataFrame({"k": ["a"], "event_time": [30]}))
    operator.add(pl.DataFrame({"k": ["a"], "event_time": [40]}))
    assert operator.live()["window_start"].to_list() == [0, 40]
    late = operator.add(pl.DataFrame({"k": ["a", "b"], "event_time": [29, 2]})).late
    assert late.select("k", "__late_by").rows() == [("a", 11)]


def test_the_ends_of_time() -> None:
    """Watermarks saturate, for a key at the last instant and for one at the first (semantics 12.8)."""
    low, high = -(2**63) + 1, 2**63 - 1
    spec = WindowOperator(
        window=pw.Global(),
        keys=["k"],
        aggregates=[F.count().alias("n")],
        watermark=pw.StreamTime(5),
        drop_by="row",
    )
    script = [
        {"op": "add", "rows": [{"k": "a", "event_time": high}, {"k": "b", "event_time": low}]},
        {"op": "clock", "to": high},
        {"op": "add", "rows": [{"k": "a", "event_time": 0}, {"k": "b", "event_time": low}]},
    ]
    agree(spec, script)
    assert [entry["late_by"] for entry in run(spec, script, "engine")[2]["late"]] == [high - 5]
