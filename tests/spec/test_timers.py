"""The interval of a timer that drives operators."""

from typing import Any

import pytest

from panewise import (
    AfterEventTime,
    AfterProcessingTime,
    AfterWatermark,
    Every,
    Inputs,
    JoinOperator,
    JoinWindow,
    Latest,
    OnDelta,
    Repeatedly,
    Session,
    Side,
    StreamWindow,
    Tumbling,
    WindowedStreams,
    WindowOperator,
    timer_interval,
)
from panewise import functions as F
from panewise.streamwindow import partition_age, time


def windows(**fields: Any) -> WindowOperator:
    return WindowOperator(**{"window": Tumbling("1 hour"), "aggregates": [F.count()], **fields})


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
        (windows(window=Tumbling(10, origin=4), time="processing"), 2),
        (windows(window=Session(6), keys=["k"], time="processing"), 6),
        (windows(watermark=Inputs(["a", "b"], idle_after=9)), 9),
        (StreamWindow.sliding(time(10), time(4)), 2),
        (
            StreamWindow.tumbling(time(10), partition_by=["k"], partition_eviction=partition_age(15)),
            5,
        ),
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


def test_one_timer_may_drive_several_operators() -> None:
    """As in Samza, where a job has one timer."""
    both = timer_interval(windows(trigger=Every(12)), windows(), windows(trigger=Every(18)))
    assert both is not None
    assert both.us == 6
    assert timer_interval() is None
