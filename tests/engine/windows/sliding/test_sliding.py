"""Sliding windows in the engine: what is stored, and what it costs (semantics 7)."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.columns import END, SLIDE_CODE, START
from panewise.engine.windowing.firing import next_due
from panewise.engine.windowing.sliding_bounds import coded, in_order, places_of_pieces
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import Rows
from panewise.testing import run

SCHEMA: dict[str, pl.DataType] = {"k": pl.String(), "t": pl.Int64(), "v": pl.Int64()}


def operator(**fields: Any) -> WindowEngine:
    made = {
        "keys": ["k"],
        "event_time": "t",
        "window": pw.Sliding(10),
        "aggregates": [F.sum("v").alias("total")],
        **fields,
    }
    return WindowEngine(pw.WindowOperator(**made), SCHEMA)


def rows(*times: int, key: str = "a") -> pl.DataFrame:
    return pl.DataFrame({"k": [key] * len(times), "t": times, "v": [1] * len(times)}, schema=SCHEMA)


def slices(at: WindowEngine) -> list[int]:
    """Returns the event times of the stored slices."""
    assert at.state.slices is not None
    return sorted(at.state.slices.all()[START].to_list())


@pytest.mark.parametrize(("anchor", "lasts"), [("end", 11), ("start", 21), ("both", 22)])
def test_a_slice_is_stored_as_long_as_a_row_may_meet_it(anchor: Any, lasts: int) -> None:
    """A slice is stored until no row that is not late can share a window with it (semantics 7.3)."""
    at = operator(window=pw.Sliding(10, anchor))
    at.add(rows(100, 200))
    at.advance(watermark=100 + lasts - 1)
    assert slices(at) == [100, 200]
    at.advance(watermark=100 + lasts)
    assert slices(at) == [200]


def test_a_row_on_time_costs_one_slice_and_no_window() -> None:
    at = operator(window=pw.Sliding(1_000))
    at.add(rows(*range(500), *range(500)))
    assert at.state.windows.all().is_empty()
    assert slices(at) == list(range(500))
    assert at.live()["pending"].to_list() == [2 * (t + 1) for t in range(500)]


def test_nothing_is_stored_when_all_windows_are_emitted() -> None:
    """Slices and windows are purged once all windows that contain them have been emitted."""
    at = operator(window=pw.Sliding(10, "both"), watermark=pw.StreamTime())
    at.add(rows(1, 5, 5, 9))
    at.add(rows(1_000))
    assert slices(at) == [1_000]
    assert at.live()["window_end"].to_list() == [1_000]


def test_one_row_less_than_a_window_contains_is_stored() -> None:
    """With windows of n rows, the last n - 1 rows of a key are stored (semantics 8.8, 14)."""
    at = operator(window=pw.Sliding(Rows(3)), order=["t"])
    assert at.add(rows(*range(10))).panes["total"].to_list() == [1, 2, *[3] * 8]
    assert slices(at) == [8, 9]


@pytest.mark.parametrize(("anchor", "due"), [("end", 101), ("start", 111), ("both", 101)])
def test_a_shard_is_woken_when_the_next_window_is_complete(anchor: Any, due: int) -> None:
    """`next_due` is the watermark at which the next window is complete (semantics 7.2)."""
    at = operator(window=pw.Sliding(10, anchor))
    at.add(rows(100, 104))
    assert next_due(at.plan, at.state.windows, at.state.clocks, at.state.slices) == due
    at.advance(watermark=due)
    assert next_due(at.plan, at.state.windows, at.state.clocks, at.state.slices) == due + 4


@pytest.mark.parametrize("far", [1, 2**40, 2**61])
def test_positions_however_far_apart_times_are(far: int) -> None:
    """`positions` finds the pieces inside each window, however far apart the times are."""
    random = np.random.default_rng(far)
    frame = pl.DataFrame(
        {
            "k": random.choice(["a", "b", None], 200).tolist(),
            START: random.integers(-3 * far, 3 * far + 1, 200),
        }
    )
    spans = frame.with_columns((pl.col(START) + far).alias(END)).sample(50, seed=1)
    pieces, asked = coded(["k"], frame, spans)
    pieces = in_order(pieces)
    low, high = places_of_pieces(pieces, asked)
    for span, first, last in zip(asked.to_dicts(), low, high, strict=True):
        inside = pieces.filter(
            (pl.col(SLIDE_CODE) == span[SLIDE_CODE])
            & pl.col(START).is_between(span[START], span[END], closed="left")
        )
        assert pieces[int(first) : int(last)].equals(inside)


def test_sums_that_leave_64_bits_do_so_for_the_window() -> None:
    """A window whose sum leaves 64 bits is an error, even if the sum of each slice fits (semantics 24.3)."""
    spec = pw.WindowOperator(window=pw.Sliding(5), aggregates=[F.sum("v").alias("total")])
    events = [{"op": "add", "rows": [{"event_time": t, "v": 2**62} for t in (0, 1)]}, {"op": "finish"}]
    with pytest.raises(pw.PanewiseError, match=r"semantics 24\.3"):
        run(spec, events, "engine")


def test_two_keys_do_not_meet() -> None:
    at = operator()
    at.add(pl.concat([rows(1, 3), rows(2, key="b")]))
    sent = at.finish().panes
    assert list(zip(sent["k"], sent["window_end"], sent["total"], strict=True)) == [
        ("a", 1, 1),
        ("b", 2, 1),
        ("a", 3, 2),
    ]
