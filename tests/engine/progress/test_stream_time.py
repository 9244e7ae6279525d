"""With a watermark for each key, rows of one key do not affect another key (semantics 12.8)."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import WindowOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.strategies import KINDS, composites, events, specs, triggers, types_of
from tests.engine.agreement import agree
from tests.engine.effort import FEW, at_length
from tests.nightly import unlike

MARKS = st.sampled_from([pw.StreamTime(), pw.StreamTime(2), pw.StreamTime(5)])


def drawn(data: st.DataObject, kind: str, **fixed: Any) -> tuple[WindowOperator, list[dict[str, Any]]]:
    spec = data.draw(
        specs(kind, watermark=data.draw(MARKS, label="watermark"), time="event", **fixed), label="spec"
    )
    return spec, data.draw(events(spec), label="events")


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


@pytest.mark.parametrize("kind", unlike(KINDS))
@FEW
@given(data=st.data())
def test_a_key_alone_gives_what_it_gives_among_others(kind: str, data: st.DataObject) -> None:
    spec, script = drawn(data, kind, keys=["shop"], position=None)
    of_one = lambda row: row.get("shop") == 1 and type(row["shop"]) is int  # noqa: E731 - it is used twice
    alone = [
        {**event, "rows": [row for row in event["rows"] if of_one(row)]} if event["op"] == "add" else event
        for event in script
    ]
    types = types_of(spec)
    for mixed, single in zip(
        run(spec, script, "engine", types=types), run(spec, alone, "engine", types=types), strict=True
    ):
        assert same([pane for pane in mixed["panes"] if pane["shop"] == 1], single["panes"])
        assert same([late for late in mixed["late"] if of_one(late["row"])], single["late"])


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
