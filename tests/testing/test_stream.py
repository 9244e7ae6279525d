"""Test streams: what they play, and what they show after each event (semantics 18)."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    InputError,
    Interval,
    JoinOperator,
    Session,
    Side,
    StreamTime,
    StreamWindow,
    Tumbling,
    Window,
    WindowedJoin,
    WindowOperator,
    over_operator,
)
from panewise import functions as F
from panewise.spec.codec import to_dict
from panewise.streamwindow import count
from panewise.testing import TestStream, run
from panewise.testing.compare import same
from panewise.testing.strategies import ALL_KINDS, events, specs, types_of
from tests.engine.effort import FEW

SUMS = WindowOperator(
    keys=["k"],
    window=Tumbling(10),
    trigger=AfterWatermark(early=AfterCount(2), late=Always()),
    allowed_lateness=5,
    aggregates=[F.sum("v").alias("total")],
)


def row(time: int, v: int, k: str = "a") -> dict[str, Any]:
    return {"k": k, "event_time": time, "v": v}


STREAM = (
    TestStream(SUMS)
    .rows(row(1, 1), row(2, 2))
    .rows(row(3, 4), row(4, 8, "b"))
    .watermark(12)
    .rows(row(5, 16))
    .clock(7)
    .restart()
    .rows(row(21, 32), row(0, 64), {**row(0, 0), "event_time": None})
    .watermark(15)
    .rows(row(9, 128))
    .end()
)


@pytest.mark.parametrize("runtime", [None, "oracle", "engine", "standalone"])
def test_steps_are_the_outputs_of_run(runtime: str | None) -> None:
    played = STREAM.play(runtime)
    wanted = run(SUMS, STREAM.events, runtime or "oracle")
    assert len(played) == len(wanted) == 10
    for step, output in zip(played, wanted, strict=True):
        assert same([step.panes, step.late, step.invalid, step.counts], list(output.values()))
    assert len(played.panes) == sum(len(output["panes"]) for output in wanted)
    played.assert_late([{"row": row(9, 128), "reason": "expired"}])
    played.assert_invalid([{"reason": "event time is null"}])
    assert [step.event["op"] for step in played][-1] == "finish"


def test_a_step_shows_clocks_and_windows() -> None:
    played = STREAM.play("engine")
    assert [step.watermark for step in played] == [None, None, 12, 12, 12, 12, 12, 15, 15, math.inf]
    assert [step.processing_time for step in played] == [0] * 4 + [7] * 6
    played[0].assert_windows([{"k": "a", "window_end": 10, "pending": 0, "complete": False}])
    played[1].assert_windows(
        [
            {"k": "a", "rows": [row(1, 1), row(2, 2), row(3, 4)], "pending": 1, "complete": False},
            {"k": "b", "rows": [row(4, 8, "b")], "pending": 1, "complete": False},
        ]
    )
    assert [window["complete"] for window in played[2].windows] == [True, True]
    played[8].assert_windows([{"window_start": 20, "closed": False}])
    assert played[9].windows == []


def test_a_difference_is_shown_line_by_line() -> None:
    step = STREAM.play()[0]
    with pytest.raises(AssertionError, match=r"(?s)panes: expected 1.*- total=4.*\+ total=3"):
        step.assert_panes([{"total": 4}])
    with pytest.raises(AssertionError, match="late: expected 1"):
        step.assert_late([{"reason": "expired"}])
    with pytest.raises(AssertionError, match="windows: expected 0"):
        step.assert_windows([])
    with pytest.raises(AssertionError, match="invalid: expected 1"):
        step.assert_invalid([{}])
    with pytest.raises(AssertionError, match="panes: expected 0"):
        STREAM.play().assert_panes([])


def test_streams_share_their_beginnings() -> None:
    beginning = TestStream(SUMS).rows(row(1, 1))
    one, other = beginning.watermark(10), beginning.watermark(9)
    assert len(beginning.events) == 1
    assert one.play().panes
    assert not other.play().panes


def test_a_spec_may_be_a_dict_and_instants_datetimes() -> None:
    second = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    stream = TestStream(to_dict(SUMS)).rows({"k": "a", "event_time": second, "v": 1}).watermark(second)
    played = stream.play()
    assert played[0].windows[0]["window_start"] == 1_000_000
    assert played[1].watermark == 1_000_000


def test_sides_have_watermarks_of_their_own() -> None:
    join = JoinOperator(left=Side(), right=Side(prefix="r_"), match=Interval(0, 5))
    stream = TestStream(join).rows({"event_time": 1}, input="left").watermark(4, input="right")
    played = (
        stream.batch(left=[{"event_time": 7}], right=[{"event_time": 8}]).end("left").end().play("engine")
    )
    assert played[1].watermark == {"left": None, "right": 4}
    assert [window["window_start"] for window in played[1].windows] == [1]
    assert played[2].counts == {side: {**NONE, "rows_in": 1, "applied": 1} for side in ("left", "right")}
    assert played[3].watermark == {"left": math.inf, "right": 4}
    assert len(played.panes) == 1
    with pytest.raises(InputError, match="the inputs of the operator are"):
        stream.rows({"event_time": 1}, input="middle")


NONE = dict.fromkeys(("rows_in", "applied", "replays", "late", "invalid", "partially_late"), 0)


def test_windows_over_a_join_show_their_rows() -> None:
    join = JoinOperator(left=Side(), right=Side(prefix="r_"), match=Interval(0, 5))
    windows = WindowOperator(
        window=Tumbling(10), aggregates=[F.count().alias("pairs")], event_time="join_time"
    )
    stream = TestStream(WindowedJoin(join=join, windows=windows))
    played = stream.batch(left=[{"event_time": 1}], right=[{"event_time": 2}]).play()
    assert [len(window["rows"]) for window in played[0].windows] == [1]
    assert played[0].watermark == {"left": None, "right": None}


def test_key_watermarks_are_those_of_the_windows() -> None:
    spec = WindowOperator(
        keys=["k"], window=Session(3), watermark=StreamTime(), allowed_lateness=9, aggregates=[F.count()]
    )
    step = TestStream(spec).rows(row(1, 1), row(9, 1), row(2, 1, "b")).play()[0]
    assert step.watermark is None
    seen = [(one["k"], one["window_start"], one["watermark"], one["complete"]) for one in step.windows]
    assert seen == [("a", 1, 9, True), ("b", 2, 2, False), ("a", 9, 9, False)]


def test_over_and_policy_windows_show_what_they_store() -> None:
    w = Window.partitionBy("k").orderBy("event_time")
    over = over_operator({"total": F.sum("v").over(w.rowsBetween(-2, 0))})
    waiting = TestStream(over).rows(row(5, 1)).play()[0]
    assert [window["window_start"] for window in waiting.windows] == [5]
    policy = StreamWindow.tumbling(count(3))
    assert TestStream(policy).rows({"v": 1}).play()[0].watermark is None


@FEW
@given(data=st.data())
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_progress_agrees_with_the_windows(kind: str, data: st.DataObject) -> None:
    """The windows are those of `run(windows=True)`, and complete once the watermark has reached their end."""
    spec = data.draw(specs(kind))
    script = data.draw(events(spec))
    stream = TestStream(spec, tuple(script))
    wanted = run(spec, script, types=types_of(spec), windows=True)
    for step, output in zip(stream.play(types=types_of(spec)), wanted, strict=True):
        shown = [{name: one[name] for name in output["windows"][n]} for n, one in enumerate(step.windows)]
        assert same(shown, output["windows"])
        for window in step.windows:
            mark, end = window.get("watermark", step.watermark), window["window_end"]
            assert len(window["rows"]) >= window["pending"] or window["closed"] or spec.evictor is not None
            if kind in ("tumbling", "hopping", "cumulating", "custom") and spec.time == "event":
                assert window["complete"] == (mark is not None and mark >= end)
