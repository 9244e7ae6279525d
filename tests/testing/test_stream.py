"""Test streams: what they play, and what they show after each event (semantics 18)."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    AsOf,
    CogroupOperator,
    Hopping,
    InputError,
    Interval,
    JoinOperator,
    LastRows,
    Latest,
    SameWindow,
    Session,
    Side,
    SpecError,
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
from panewise.testing import Step, TestStream, run
from panewise.testing.cogroups import cogroup_specs
from panewise.testing.compare import same
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs, window_join_specs
from panewise.testing.over_specs import frame_events, frame_specs
from panewise.testing.policy_events import stream_events
from panewise.testing.policy_specs import TYPES, stream_windows
from panewise.testing.strategies import events, specs, types_of
from tests.engine.effort import FEW
from tests.nightly import FEW_KINDS

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


def test_over_shows_the_rows_that_are_not_emitted() -> None:
    w = Window.partitionBy("k").orderBy("event_time")
    over = over_operator({"total": F.sum("v").over(w.rowsBetween(-2, 0))})
    waiting = TestStream(over).rows(row(7, 2), row(5, 1)).play()[0]
    waiting.assert_windows(
        [{"window_start": 5, "rows": [row(5, 1)]}, {"window_start": 7, "rows": [row(7, 2)]}]
    )


def test_policy_windows_show_the_tuples_of_each_partition() -> None:
    """As events contain them: only the `columns`."""
    spec = StreamWindow.tumbling(count(3), partition_by=["k"], columns=["v"])
    rows = [{"k": k, "v": v, "other": 0} for k, v in (("b", 1), ("a", 2), ("b", 3), ("b", 4))]
    played = TestStream(spec).rows(*rows[:3]).rows(rows[3]).play("engine")
    assert [(window["k"], window["rows"]) for window in played[0].windows] == [
        ("a", [{"v": 2}]),
        ("b", [{"v": 1}, {"v": 3}]),
    ]
    assert [(window["k"], window["rows"]) for window in played[1].windows] == [("a", [{"v": 2}]), ("b", [])]
    assert played[0].watermark is None
    assert "complete" not in played[0].windows[0]


def pair_of(n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"key": "a", "t": n, "x": 10 * n}, {"id": "a", "u": n + 1, "y": 20 * n}


LEFT, RIGHT = Side(keys=["key"], event_time="t"), Side(keys=["id"], event_time="u")


def test_window_joins_show_the_rows_of_both_sides() -> None:
    spec = JoinOperator(left=LEFT, right=RIGHT, match=SameWindow(Tumbling(10)))
    (one, first), (other, _) = pair_of(3), pair_of(8)
    stream = TestStream(spec).rows(one, other, input="left").rows(first, input="right")
    played = stream.watermark(10, input="left").watermark(10, input="right").play("engine")
    assert played[0].windows[0]["rows"] == {"left": [one, other], "right": []}
    window = {"key": "a", "window_end": 10, "rows": {"left": [one, other], "right": [first]}}
    played[1].assert_windows([{**window, "complete": False}])
    assert played[2].windows[0]["complete"] is False
    assert [(pane["x"], pane["y"]) for pane in played[3].panes] == [(30, 60), (80, 60)]
    assert played[3].windows == []


def test_cogroups_show_the_rows_of_both_sides() -> None:
    spec = CogroupOperator(
        left=LEFT,
        right=RIGHT,
        window=Tumbling(10),
        allowed_lateness=5,
        left_aggregates=[F.sum("x").alias("x")],
        right_aggregates=[F.count().alias("n")],
    )
    one, first = pair_of(3)
    played = TestStream(spec).batch(left=[one], right=[first]).watermark(12).play("engine")
    rows = {"left": [one], "right": [{"id": "a", "u": 4}]}
    played[0].assert_windows([{"key": "a", "pending": 2, "complete": False, "rows": rows}])
    played[1].assert_windows([{"key": "a", "pending": 0, "complete": True, "rows": rows}])


@pytest.mark.parametrize("match", [Interval(0, 5), Latest(), LastRows(count(1), count(1))], ids=type)
def test_joins_show_each_stored_row_at_its_side(match: Any) -> None:
    spec = JoinOperator(left=LEFT, right=RIGHT, match=match)
    one, first = pair_of(3)
    step = TestStream(spec).batch(left=[one], right=[first]).play()[0]
    assert [window["rows"] for window in step.windows] == [{"left": [one]}, {"right": [first]}]
    assert [window["key"] for window in step.windows] == ["a", "a"]


def test_as_of_joins_show_the_left_rows_that_wait() -> None:
    spec = JoinOperator(left=LEFT, right=RIGHT, match=AsOf())
    one, first = pair_of(3)
    step = TestStream(spec).batch(left=[one], right=[first]).play()[0]
    assert [window["rows"] for window in step.windows] == [{"left": [one]}]


def test_rows_of_sides_have_the_names_of_the_caller() -> None:
    """Also those that begin with `__`, which have other names in the operator."""
    left, right = Side(keys=["__key"], event_time="__at"), Side(keys=["__id"], event_time="__end")
    one, first = {"__key": "a", "__at": 1, "__row": 5}, {"__id": "a", "__end": 2, "v": 6}
    for match in (SameWindow(Tumbling(10)), Interval(0, 5)):
        spec = JoinOperator(left=left, right=right, match=match)
        windows = TestStream(spec).batch(left=[one], right=[first]).play()[0].windows
        found = {side: rows for window in windows for side, rows in window["rows"].items()}
        assert found == {"left": [one], "right": [first]}
    policy = StreamWindow.tumbling(count(3), partition_by=["__key"])
    assert TestStream(policy).rows(one).play()[0].windows[0]["rows"] == [one]


def test_a_missing_input_is_named() -> None:
    stream = TestStream(JoinOperator(left=LEFT, right=RIGHT, match=Interval(0, 5)))
    message = (
        r"^input is missing \| the inputs of the operator are \['left', 'right'\] \| give one .*='left' \[PW-"
    )
    with pytest.raises(InputError, match=message):
        stream.rows(pair_of(1)[0])
    assert stream.watermark(5).end().play()[0].watermark == {"left": 5, "right": 5}


def test_what_a_step_is_compared_with_is_a_list() -> None:
    step = STREAM.play()[0]
    for compare, what in (
        (step.assert_panes, "panes"),
        (step.assert_late, "late"),
        (step.assert_windows, "windows"),
    ):
        with pytest.raises(InputError, match=rf"the expected {what} are a list with a dict for each"):
            compare({"total": 3})  # type: ignore[arg-type]


def test_a_naive_datetime_is_a_timestamp_without_a_zone() -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.max("at").alias("latest")])
    at = datetime(1970, 1, 1, 0, 0, 1)  # noqa: DTZ001 - it has no zone
    stream = TestStream(spec).rows({"event_time": 1, "at": at}).watermark(10)
    for runtime in ("oracle", "engine", "standalone"):
        played = stream.play(runtime)
        assert played.invalid == []
        played.assert_panes([{"latest": 1_000_000}])


def test_an_expected_map_may_be_a_dict() -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.collect_list("tags").alias("all")])
    stream = TestStream(spec).rows({"event_time": 1, "tags": {"a": 1, "b": None}}).end()
    for runtime in ("oracle", "engine"):
        played = stream.play(runtime, types={"tags": "map<string,bigint>"})
        played.assert_panes([{"all": [{"b": None, "a": 1}]}])
        played[0].assert_windows([{"rows": [{"event_time": 1, "tags": {"a": 1, "b": None}}]}])


@FEW
@given(data=st.data())
@pytest.mark.parametrize("kind", FEW_KINDS)
def test_the_progress_agrees_with_the_windows(kind: str, data: st.DataObject) -> None:
    """The windows are those of `run(windows=True)`, and complete once the watermark has reached their end."""
    spec = data.draw(specs(kind))
    for step in played_both_ways(spec, data.draw(events(spec)), types_of(spec)):
        for window in step.windows:
            mark, end = window.get("watermark", step.watermark), window["window_end"]
            assert len(window["rows"]) >= window["pending"] or window["closed"] or spec.evictor is not None
            if kind in ("tumbling", "hopping", "cumulating", "custom") and spec.time == "event":
                assert window["complete"] == (mark is not None and mark >= end)


def in_any_order(values: list[Any]) -> list[Any]:
    return sorted(values, key=repr)


def played_both_ways(spec: Any, script: list[dict[str, Any]], types: Any) -> Iterator[Step]:
    """Yields the steps of a stream. Their windows are those of `run(windows=True)`, with more fields."""
    wanted = run(spec, script, types=types, windows=True)
    for step, output in zip(TestStream(spec, tuple(script)).play(types=types), wanted, strict=True):
        shown = [{name: one[name] for name in output["windows"][n]} for n, one in enumerate(step.windows)]
        assert len(step.windows) == len(output["windows"])
        assert same(shown, output["windows"])
        yield step


@FEW
@given(data=st.data())
@pytest.mark.parametrize("draw", [window_join_specs, cogroup_specs], ids=["window joins", "cogroups"])
def test_the_windows_of_both_sides_agree(draw: Any, data: st.DataObject) -> None:
    """The rows are those of the events, and windows are complete at the lower watermark of both sides."""
    spec = data.draw(draw())
    script = data.draw(join_events(spec))
    window = spec.match.window if isinstance(spec, JoinOperator) else spec.window
    evictor = getattr(spec, "evictor", None)
    for step in played_both_ways(spec, script, join_types(spec)):
        marks = [-math.inf if mark is None else mark for mark in step.watermark.values()]
        for one in step.windows:
            rows = one["rows"]
            assert list(rows) == ["left", "right"]
            assert sum(map(len, rows.values())) >= one["pending"] or one["closed"] or evictor is not None
            if isinstance(window, Tumbling):
                assert one["complete"] == (min(marks) >= one["window_end"])
            if isinstance(window, Tumbling | Hopping):
                times = [row[spec.sides[side].event_time] for side in rows for row in rows[side]]
                assert all(one["window_start"] <= time < one["window_end"] for time in times)


@FEW
@given(data=st.data())
def test_the_stored_rows_of_joins_agree(data: st.DataObject) -> None:
    """Each is the one row of its window, at its side. It has the key and the time of the window."""
    spec = data.draw(join_specs())
    for step in played_both_ways(spec, data.draw(join_events(spec)), join_types(spec)):
        for window in step.windows:
            [(side, [stored])] = window["rows"].items()
            of_side = spec.sides[side]
            times = [stored[name] for name in of_side.time_columns] or [None]
            assert times == [window["window_start"]]
            keys = [stored[name] for name in of_side.keys]
            assert same(keys, [window[name] for name in spec.keys])


@FEW
@given(data=st.data())
def test_the_rows_of_over_agree(data: st.DataObject) -> None:
    """The end of input emits them, each with its new columns."""
    spec = data.draw(frame_specs())
    new, before = {column.name for column in spec.columns}, list[Any]()
    for step in played_both_ways(spec, data.draw(frame_events(spec)), types_of(spec)):
        if step.event["op"] == "finish":
            plain = [{name: row[name] for name in row if name not in new} for row in step.panes]
            assert same(in_any_order(plain), in_any_order(before))
        before = [stored for window in step.windows for stored in window["rows"]]
        assert len(before) == len(step.windows)
        for stored, window in zip(before, step.windows, strict=True):
            assert same([stored[name] for name in spec.keys], [window[name] for name in spec.keys])
            assert spec.event_time is None or stored[spec.event_time] == window["window_start"]


@FEW
@given(data=st.data())
def test_the_tuples_of_partitions_agree(data: st.DataObject) -> None:
    """At the end of input FINAL has the tuples of the step before."""
    spec = data.draw(stream_windows(aggregates=(), listener=None, events=None, flush_on_final=False))
    before = list[Any]()
    for step in played_both_ways(spec, data.draw(stream_events(spec)), TYPES):
        if step.event["op"] == "finish":
            found = [pane["tuples"] for pane in step.panes if pane["event"] == "FINAL" and pane["tuples"]]
            assert same(in_any_order(found), in_any_order(before))
        assert [len(window["rows"]) for window in step.windows] == [one["pending"] for one in step.windows]
        before = [window["rows"] for window in step.windows if window["rows"]]


@pytest.mark.parametrize("spec", ["x", None, WindowOperator, [SUMS]])
def test_other_values_than_specifications_are_refused(spec: Any) -> None:
    message = (
        r"^spec=.* \| a test plays a specification, or its dict form \| give one such as WindowOperator\("
    )
    with pytest.raises(SpecError, match=message):
        run(spec, [])
    with pytest.raises(SpecError, match=message):
        TestStream(spec).watermark(1, "a")
