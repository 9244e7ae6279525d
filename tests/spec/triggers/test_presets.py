"""Trigger presets: each returns the trigger that semantics 17 gives for it."""

import pytest

from panewise import (
    AfterAny,
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    Every,
    Never,
    OnDelta,
    Repeatedly,
    SpecError,
    policies,
)
from panewise.spec.triggers.composite import Trigger


@pytest.mark.parametrize(
    ("policy", "term"),
    [
        (policies.samza(), AfterWatermark(late=AfterProcessingTime("10 s"))),
        (
            policies.samza(early="1 min", late="each"),
            AfterWatermark(early=Every("1 min", aligned=True), late=Always()),
        ),
        (policies.samza(early="each"), AfterWatermark(early=Always(), late=AfterProcessingTime("10 s"))),
        (policies.samza_join(), AfterWatermark(early=Always(), late=Always())),
        (policies.samza_join(late=10), AfterWatermark(early=Always(), late=AfterProcessingTime(10))),
        (policies.samza_join(early=10), AfterWatermark(early=Every(10, aligned=True), late=Always())),
        (
            policies.samza_join(late=10, late_aligned=True),
            AfterWatermark(early=Always(), late=Every(10, aligned=True)),
        ),
        (policies.samza(late_aligned=True), AfterWatermark(late=Every("10 s", aligned=True))),
        (policies.apex(), AfterWatermark(late=Never())),
        (policies.apex(early_every=5), AfterWatermark(early=Every(5), late=Never())),
        (
            policies.apex(early_every=5, early_count=3, late_every=7, late_count=2),
            AfterWatermark(early=AfterAny(Every(5), AfterCount(3)), late=AfterAny(Every(7), AfterCount(2))),
        ),
        (policies.apex(at_watermark=False), Never()),
        (policies.apex(early_count=3, at_watermark=False), Repeatedly(AfterCount(3))),
        (policies.apex(early_count=3, late_count=3, at_watermark=False), Repeatedly(AfterCount(3))),
        (policies.final_only(), Never()),
        (policies.each_update(), Always()),
        (policies.until_time_limit(5), Repeatedly(AfterEventTimeDelay(5))),
        (policies.flink_event_time(), AfterWatermark(late=Always())),
        (policies.flink_continuous_event_time(5), AfterWatermark(early=AfterEventTime(5), late=Always())),
        (policies.flink_continuous_processing_time(5), Repeatedly(AfterProcessingTime(1, align=5))),
        (policies.flink_count(3), Repeatedly(AfterCount(3))),
        (policies.flink_delta("v", 1), Repeatedly(OnDelta("v", 1))),
    ],
)
def test_a_policy_is_a_term(policy: Trigger, term: Trigger) -> None:
    """Each preset is a name for a trigger (semantics 17 to 17.5)."""
    assert policy == term


def test_each_message_is_no_period() -> None:
    """semantics 17.1: only a late period can be aligned; `late="each"` is no period."""
    with pytest.raises(SpecError) as caught:
        policies.samza(late="each", late_aligned=True)
    assert caught.value.args[0] == (
        "late='each', late_aligned=True | late_aligned aligns the multiples of a period, and "
        "'each' has no period | give late a period, or leave late_aligned out"
    )


def test_one_trigger_has_no_two_sides() -> None:
    with pytest.raises(SpecError) as caught:
        policies.apex(early_count=3, late_count=2, at_watermark=False)
    assert caught.value.args[0] == (
        "apex(early=AfterCount(n=3), late=AfterCount(n=2), at_watermark=False) | without a "
        "firing at the watermark one trigger applies before and after the end of a window | "
        "leave the late firings out, or make them equal to the early ones"
    )
