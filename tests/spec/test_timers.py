"""The interval of a timer that drives operators."""

from typing import Any

import pytest

from panewise import (
    AfterAny,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    AfterWatermark,
    Calendar,
    Custom,
    Duration,
    Every,
    FixedLag,
    Inputs,
    JoinOperator,
    JoinWindow,
    Latest,
    OnDelta,
    OverOperator,
    Repeatedly,
    SameWindow,
    Session,
    Side,
    SpecError,
    StreamTime,
    StreamWindow,
    Tumbling,
    Window,
    WindowedStreams,
    WindowOperator,
    over_operator,
    timer_interval,
)
from panewise import functions as F
from panewise.spec import WindowSpec
from panewise.streamwindow import partition_age, time
from panewise.testing import TestStream

LAGGING = Side(watermark=FixedLag("2 seconds"))


def windows(**fields: Any) -> WindowOperator:
    return WindowOperator(**{"window": Tumbling("1 hour"), "aggregates": [F.count()], **fields})


W = Window.partitionBy("k").orderBy("ts")
SHIFT = Custom.each(lambda row: [(row["event_time"], row["event_time"] + 9)], name="shift")


def over(window: WindowSpec, **fields: Any) -> OverOperator:
    return over_operator({"total": F.sum("v").over(window)}, **fields)


@pytest.mark.parametrize(
    ("spec", "us"),
    [
        (windows(), None),
        (windows(trigger=AfterEventTime(6)), None),
        (windows(trigger=Repeatedly(OnDelta("v", 3))), None),
        (windows(trigger=AfterWatermark(early=Every(12), late=AfterProcessingTime(8))), 4),
        (windows(trigger=Every(12, aligned=True, offset=3)), 3),
        (windows(trigger=Repeatedly(AfterProcessingTime(10, align=4))), 2),
        (windows(trigger=Repeatedly(AfterProcessingTime(0, align=4))), 4),
        (windows(trigger=Repeatedly(AfterAny(AfterSilence(9), AfterProcessingTime(6)))), 3),
        (windows(trigger=Repeatedly(AfterEventTimeDelay(9))), None),
        (windows(window=Tumbling(10), time="processing", trigger=Repeatedly(AfterEventTimeDelay(4))), 2),
        (windows(window=Tumbling(10, origin=4), time="processing"), 2),
        (windows(window=Session(6), keys=["k"], time="processing"), 6),
        (windows(window=Tumbling(10), time="processing", trigger=Repeatedly(AfterEventTime(4))), 2),
        (windows(window=Tumbling(10), trigger=Repeatedly(AfterEventTime(4))), None),
        (windows(window=Session("gap"), keys=["k"], trigger=Every(12)), 12),
        (over(W.rangeBetween(0, 7)), None),
        (over(W.rangeBetween(0, 6), watermark=FixedLag(4)), 2),
        (over(W.rangeBetween(-6, 0), watermark=FixedLag(4)), 4),
        (over(W.rowsBetween(0, 3), watermark=FixedLag(4)), 4),
        (windows(watermark=Inputs(["a", "b"], idle_after=9)), 9),
        (StreamWindow.sliding(time(10), time(4)), 2),
        (StreamWindow.tumbling(time(10), partition_by=["k"], partition_eviction=partition_age(15)), 5),
        (JoinOperator(left=Side(), right=Side(prefix="r_"), match=Latest(7)), 7),
        (
            JoinOperator(
                left=Side(allowed_lateness=5),
                right=Side(prefix="r_"),
                match=WindowedStreams(JoinWindow(Tumbling(5), early=6, late=9), JoinWindow()),
            ),
            3,
        ),
    ],
)
def test_the_interval_is_the_greatest_common_divisor(spec: Any, us: int | None) -> None:
    found = timer_interval(spec)
    assert (None if found is None else found.us) == us


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (windows(watermark=FixedLag(0)), "1 hour"),
        (windows(watermark=StreamTime("9 minutes", per="all", idle_after="4 minutes")), "1 minute"),
        (windows(watermark=FixedLag("4 minutes"), allowed_lateness="30 minutes"), "2 minutes"),
        (windows(watermark=FixedLag("1 hour"), window=Calendar("day", zone="Asia/Kathmandu")), "15 minutes"),
        (windows(time="processing", window=Calendar("day", zone="Asia/Kathmandu")), "15 minutes"),
        (
            JoinOperator(left=LAGGING, right=LAGGING, match=SameWindow(Tumbling("3 seconds")), how="semi"),
            "1 second",
        ),
    ],
)
def test_a_fixed_lag_waits_for_the_clock(spec: Any, text: str) -> None:
    """Semantics 12.4: the watermark is the reading less the lag, so a window ends at its end and the lag."""
    assert timer_interval(spec) == Duration.of(text)


def test_a_reading_of_the_interval_fires_a_lagging_window_at_once() -> None:
    spec = windows(window=Tumbling(6), watermark=FixedLag(4))
    interval = timer_interval(spec)
    assert interval is not None
    stream = TestStream(spec).rows({"event_time": 1})
    for reading in range(0, 11, interval.us):
        stream = stream.clock(reading)
    assert [pane["processing_time"] for pane in stream.play().panes] == [10]


def test_event_time_triggers_of_processing_time_fire_at_readings_of_the_interval() -> None:
    spec = windows(window=Tumbling(10), time="processing", trigger=Repeatedly(AfterEventTime(4)))
    interval = timer_interval(spec)
    assert interval is not None
    stream = TestStream(spec)
    for reading in range(0, 11, interval.us):
        stream = stream.clock(reading).rows({})
    panes = stream.play().panes
    assert [pane["processing_time"] for pane in panes] == [4, 8, 10]


def test_a_row_that_looks_ahead_is_emitted_at_the_next_reading() -> None:
    """Semantics 29.2: it waits until the watermark is above its event time and the range ahead."""
    spec = over(W.rangeBetween(0, 6), watermark=FixedLag(4))
    stream = TestStream(spec).rows({"k": "a", "ts": 2, "v": 1})
    played = stream.clock(12).clock(14).play()
    assert [len(step.panes) for step in played] == [0, 0, 1]


@pytest.mark.parametrize(
    "spec",
    [
        windows(window=Session("gap"), keys=["k"], time="processing"),
        windows(window=Session("gap"), keys=["k"], watermark=FixedLag(4)),
        windows(window=SHIFT, watermark=FixedLag(4)),
        JoinOperator(left=LAGGING, right=LAGGING, match=SameWindow(SHIFT), how="semi"),
    ],
)
def test_windows_whose_ends_depend_on_rows_have_no_interval(spec: Any) -> None:
    with pytest.raises(SpecError, match=r"for windows whose ends depend on rows \| choose an interval \[PW-"):
        timer_interval(spec)


@pytest.mark.parametrize("given", ["x", {"kind": "window"}, [windows()], WindowOperator])
def test_other_values_are_refused(given: Any) -> None:
    with pytest.raises(SpecError, match="give each specification as an argument"):
        timer_interval(given)


def test_one_timer_may_drive_several_operators() -> None:
    """As in Samza, where a job has one timer."""
    both = timer_interval(windows(trigger=Every(12)), windows(), windows(trigger=Every(18)))
    assert both is not None
    assert both.us == 6
    assert timer_interval() is None
