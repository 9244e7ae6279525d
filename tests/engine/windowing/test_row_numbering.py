"""Windows and sessions of rows: row numbering, and many windows in one batch (semantics 8, 9.5)."""

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
from panewise.testing.strategies import COUNTED_KINDS, events, specs, types_of
from tests.engine.agreement import agree
from tests.engine.effort import FEW

SCHEMA = {"k": pl.String(), "v": pl.Int64()}


def operator(window: Any, **fields: Any) -> WindowEngine:
    return WindowEngine(
        WindowOperator(
            window=window, keys=["k"], aggregates=[F.sum("v").alias("s"), F.count().alias("n")], **fields
        ),
        SCHEMA,
    )


def rows(keys: str) -> pl.DataFrame:
    return pl.DataFrame({"k": list(keys), "v": range(len(keys))}, schema=SCHEMA)


@pytest.mark.parametrize("kind", COUNTED_KINDS)
@FEW
@given(data=st.data())
def test_event_times_do_not_matter_with_order_columns(kind: str, data: st.DataObject) -> None:
    """With order columns, a column `event_time` that is not named may have any values (semantics 8.5)."""
    spec = data.draw(
        specs(kind, order=["order"], position=None, delta=False).filter(lambda spec: spec.event_time is None),
        label="spec",
    )
    script = data.draw(events(spec), label="events")
    timed = [
        {**event, "rows": [{**row, "event_time": "x"} for row in event["rows"]]}
        if event["op"] == "add"
        else event
        for event in script
    ]
    types = types_of(spec)
    for one, other in zip(
        run(spec, script, "engine", types=types),
        run(spec, timed, "engine", types=types | {"event_time": "string"}),
        strict=True,
    ):
        assert same(one["panes"], other["panes"])
        assert one["counts"] == other["counts"]


def test_the_row_numbering_of_a_key_is_stored_without_windows() -> None:
    """The row numbering of a key is stored even if no window of the key is (semantics 8.7)."""
    one = operator(pw.Tumbling(pw.rows(2)))
    assert one.add(rows("aa")).panes["window_start"].to_list() == [0]
    assert one.live().is_empty()
    assert one.add(rows("baba")).panes.select("k", "window_start").rows() == [("b", 0), ("a", 2)]


def test_thousands_of_windows_of_one_key_in_one_batch() -> None:
    one = operator(pw.Hopping(pw.rows(4), pw.rows(2)))
    panes = one.add(rows("a" * 20_001)).panes
    assert panes.height == 10_000
    assert panes["n"].to_list() == [2, *[4] * 9_999]
    assert panes["s"].to_list()[1:] == [sum(range(start, start + 4)) for start in range(0, 19_998, 2)]
    assert one.live().select("window_start", "pending").rows() == [(19_998, 3), (20_000, 1)]


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
@pytest.mark.parametrize(
    ("window", "most"),
    [
        (pw.Tumbling(pw.rows(3)), 1),
        (pw.Hopping(pw.rows(4), pw.rows(2)), 2),
        (pw.Hopping(pw.rows(7), pw.rows(3)), 2),
        (pw.Session(pw.rows(2)), 1),
    ],
)
def test_only_incomplete_windows_are_stored(window: Any, most: int, runtime: str) -> None:
    """A key has a bounded number of windows, however many rows it receives (semantics 14)."""
    spec = WindowOperator(window=window, keys=["k"], aggregates=[F.count().alias("n")])
    script = [{"op": "add", "rows": [{"k": key}]} for key in "abab" * 8]
    stored = [len(output["windows"]) for output in run(spec, script, runtime, windows=True)]
    assert max(stored) == 2 * most
    assert max(stored[16:]) == 2 * most


def test_origins_far_away() -> None:
    """Origins and sizes near the limits of 64 bits do not overflow."""
    spec = WindowOperator(
        window=pw.Hopping(pw.rows(5), pw.rows(2), origin=-(2**60)), aggregates=[F.count().alias("n")]
    )
    agree(spec, [{"op": "add", "rows": [{"v": n} for n in range(7)]}, {"op": "finish"}])
    spec = WindowOperator(window=pw.Tumbling(pw.rows(2**62), origin=2**60), aggregates=[F.count().alias("n")])
    agree(spec, [{"op": "add", "rows": [{"v": n} for n in range(7)]}, {"op": "finish"}])


def test_a_session_ends_with_the_rows_of_others_alone() -> None:
    """A session of rows ends after rows of other keys, not with clock or watermark (semantics 9.5, 9.6)."""
    one = operator(pw.Session(pw.rows(2)))
    assert one.add(rows("aab")).panes.is_empty()
    assert one.add(rows("a")).panes.is_empty()
    assert one.add(rows("bc")).panes.select("k", "window_start", "window_end", "n").rows() == [("a", 0, 6, 3)]
    assert one.advance(processing_time=5, watermark=1_000).panes.is_empty()
    assert one.finish().panes.select("k", "window_start", "window_end").rows() == [("b", 2, 7), ("c", 5, 8)]


def test_rows_after_the_end_of_input_are_late() -> None:
    for window in (pw.Tumbling(pw.rows(2)), pw.Session(pw.rows(2))):
        one = operator(window)
        one.add(rows("a"))
        assert one.finish().panes["n"].to_list() == [1]
        output = one.add(rows("aa"))
        assert output.late["__reason"].to_list() == ["finished", "finished"]
        assert (output.counts.rows_in, output.counts.late) == (2, 2)
        assert output.panes.is_empty()
