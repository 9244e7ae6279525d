"""Trigger presets: the triggers of other systems as triggers of panewise (semantics 17).

    panewise.policies.samza(early="1 minute")    S1: early emission, full size, late arrival
    panewise.policies.apex(late_count=100)       S4: TriggerOption
    panewise.policies.final_only()               S2: one result for each window
    panewise.policies.each_update()              S2: a result for each update
    panewise.policies.until_time_limit("1 hour") Kafka Streams: suppress with a limit of time
    panewise.policies.flink_count(100)           Flink: CountTrigger; Flink's other triggers are here, too

A preset is only a trigger. The accumulation is set on the operator:

- The default, "accumulating", corresponds to S1, S2, Kafka Streams and Flink's triggers.
- Flink's PurgingTrigger corresponds to accumulation="discarding".
- The modes of S4 are ACCUMULATING ("accumulating"), DISCARDING ("discarding") and ACCUMULATING_AND_RETRACTING
  ("retracting").
"""

from datetime import timedelta
from typing import Literal

from panewise.choices import check_flag, is_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.triggers.composite import AfterAny, AfterWatermark, Repeatedly, Trigger
from panewise.spec.triggers.simple import (
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    Always,
    Every,
    Never,
    OnDelta,
)


def samza(
    early: DurationLike | Literal["each"] | None = None,
    late: DurationLike | Literal["each"] = "10 seconds",
    *,
    late_aligned: bool = False,
) -> AfterWatermark:
    """Returns S1's update policies over an aggregate: early emission, full size and late arrival.

    Full size is the pane that is emitted when the watermark reaches the end of the window.

    Args:
        early: when a window before its end emits updates. None, the default: never. A period of processing
            time: at its multiples since 1970-01-01 UTC ("1 minute": at full minutes), if rows are pending.
            "each": for each batch or, with evaluate="record", each row.
        late: when a window after its end emits updates. A period of processing time: that long after the
            first pending row; the default is S1's 10 seconds. "each": as for `early`.
        late_aligned: with True a window after its end emits updates at the multiples of `late` since 1970,
            too.

    Raises:
        SpecError: for a period that is not valid, and for late_aligned=True with late="each".

    >>> samza()
    AfterWatermark(early=None, late=AfterProcessingTime(delay=Duration('10 seconds'), align=None))
    >>> samza(early="1 minute", late="1 minute", late_aligned=True).late
    Every(period=Duration('1 minute'), aligned=True)

    Source: S1 early emission, full size and late arrival, setOntimeUpdatePeriod, setLateUpdatePeriod;
    semantics 17.1.
    """
    return AfterWatermark(
        early=None if early is None else _early(early), late=_late(late, aligned=late_aligned)
    )


def samza_join(
    early: DurationLike | Literal["each"] = "each",
    late: DurationLike | Literal["each"] = "each",
    *,
    late_aligned: bool = False,
) -> AfterWatermark:
    """Returns S1's update policies with its defaults for joins: an update for each message, early and late.

    The arguments and errors are those of :func:`samza`.

    >>> samza_join() == AfterWatermark(early=Always(), late=Always())
    True

    Source: S1 window operator for joins; semantics 17.1.
    """
    return AfterWatermark(early=_early(early), late=_late(late, aligned=late_aligned))


def _early(period: DurationLike | Literal["each"]) -> Trigger:
    return Always() if is_choice(period, ("each",)) else Every(period, aligned=True)


def _late(period: DurationLike | Literal["each"], *, aligned: bool) -> Trigger:
    check_flag("late_aligned", aligned)
    if not is_choice(period, ("each",)):
        return Every(period, aligned=True) if aligned else AfterProcessingTime(period)
    if aligned:
        rule = "late_aligned aligns the multiples of a period, and 'each' has no period"
        raise SpecError(
            "late='each', late_aligned=True", rule, "give late a period, or leave late_aligned out"
        )
    return Always()


def apex(
    early_every: DurationLike | None = None,
    early_count: int | None = None,
    late_every: DurationLike | None = None,
    late_count: int | None = None,
    *,
    at_watermark: bool = True,
) -> Trigger:
    """Returns S4's TriggerOption: atWatermark, withEarlyFiringsAtEvery and withLateFiringsAtEvery.

    The operator's fields correspond to other options of S4:

    - S4 fires at the watermark also without new rows. This is `on_time="always"`, which is the default with
      early firings.
    - `fireOnlyUpdatedPanes` is `only_updated=True` in accumulating mode. Retracting mode always does this.

    Args:
        early_every: a period of processing time for early firings. Default: none.
        early_count: a number of rows for early firings. With `early_every` and `early_count` whichever comes
            first fires, and both start again. Default: none.
        late_every: as `early_every`, for late firings.
        late_count: as `early_count`, for late firings.
        at_watermark: with False there is no firing at the watermark, and the early firings continue after it.
            So late firings must be left out, or be equal to the early ones.

    >>> apex(early_every="1 minute", late_count=10)
    AfterWatermark(early=Every(period=Duration('1 minute')), late=AfterCount(n=10))

    Raises:
        SpecError: for `at_watermark=False` with late firings that differ from the early ones.

    Source: S4 TriggerOption; semantics 17.2.
    """
    check_flag("at_watermark", at_watermark)
    early, late = _firings(early_every, early_count), _firings(late_every, late_count)
    if at_watermark:
        return AfterWatermark(early=early, late=late or Never())
    if late is not None and late != early:
        rule = "without a firing at the watermark one trigger applies before and after the end of a window"
        raise SpecError(
            f"apex(early={early!r}, late={late!r}, at_watermark=False)",
            rule,
            "leave the late firings out, or make them equal to the early ones",
        )
    return Never() if early is None else Repeatedly(early)


def _firings(every: DurationLike | None, count: int | None) -> Trigger | None:
    triggers: list[Trigger] = [] if every is None else [Every(every)]
    if count is not None:
        triggers.append(AfterCount(count))
    return AfterAny(*triggers) if len(triggers) > 1 else triggers[0] if triggers else None


def final_only() -> Never:
    """Returns the trigger that emits one result for each window, when it expires.

    This is S2's final result, Kafka's EmitStrategy.onWindowClose and suppress, and Spark's append mode.

    - Kafka's grace period is the allowed lateness. Rows that arrive within it are in the one pane.
    - The pane is ON_TIME. It is LATE only for a window whose first row arrived after its end.
    - Kafka's stream time of a task is watermark=StreamTime(per="all").
    - Kafka's session windows are Session(gap, closed="both").

    Source: S2; semantics 7.9, 17.3.
    """
    return Never()


def each_update() -> Always:
    """Returns the trigger that emits a result for each batch with rows for a window.

    With evaluate="record" it emits one for each row. This is Kafka's onWindowUpdate and Spark's update mode.

    Source: S2; semantics 17.3.
    """
    return Always()


def until_time_limit(delay: DurationLike) -> Repeatedly:
    """Returns the trigger of Kafka's suppress(untilTimeLimit(delay)): it collects updates for `delay`.

    The first row after a firing starts the delay, which is event time. Later rows do not start it again. What
    is pending when the window expires is emitted then.

    - Kafka's grace period is the allowed lateness.
    - Kafka's stream time of a task is watermark=StreamTime(per="all") with evaluate="record".

    Args:
        delay: the event time from the first pending row to the firing, 0 or more. An int is in microseconds.

    >>> until_time_limit("5 minutes")
    Repeatedly(trigger=AfterEventTimeDelay(delay=Duration('5 minutes')))

    Raises:
        SpecError: for a negative delay.

    Source: Kafka Suppressed.untilTimeLimit; semantics 17.3.
    """
    return Repeatedly(AfterEventTimeDelay(delay))


def flink_event_time() -> AfterWatermark:
    """Returns EventTimeTrigger: fires at the watermark, and then for each batch of late rows.

    With evaluate="record" it fires for each late row, as Flink does.

    Source: Flink EventTimeTrigger; semantics 17.4.
    """
    return AfterWatermark(late=Always())


def flink_continuous_event_time(interval: DurationLike) -> AfterWatermark:
    """Returns ContinuousEventTimeTrigger: fires at multiples of the interval in event time.

    It fires when the watermark reaches a multiple of the interval since 1970-01-01 UTC, if rows are pending.
    The first multiple is the first one above the earliest row of the window. It also fires when the watermark
    reaches the end of the window, and then for each batch of late rows.

    Source: Flink ContinuousEventTimeTrigger; semantics 17.4.
    """
    return AfterWatermark(early=AfterEventTime(interval), late=Always())


def flink_continuous_processing_time(interval: DurationLike) -> Repeatedly:
    """Returns ContinuousProcessingTimeTrigger: fires at multiples of the interval in processing time.

    Multiples are counted since 1970-01-01 UTC. It fires only if rows are pending.

    Source: Flink ContinuousProcessingTimeTrigger; semantics 17.4.
    """
    # One microsecond after the first row, rounded up, is the first multiple that is strictly above its time.
    return Repeatedly(AfterProcessingTime(1, align=interval))


def flink_count(n: int) -> Repeatedly:
    """Returns CountTrigger: fires whenever at least n rows are pending. n is 1 or more.

    Source: Flink CountTrigger; semantics 17.4.
    """
    return Repeatedly(AfterCount(n))


def flink_delta(column: str, threshold: int | float | str | timedelta | Duration) -> Repeatedly:
    """Returns DeltaTrigger: fires whenever a value differs from the reference by more than the threshold.

    The reference is the last value of `column` at the last firing, at first the first value. Differences up
    and down count. The threshold is 0 or more, in the unit of the column. For timestamps it is a number of
    microseconds or a duration.

    Source: Flink DeltaTrigger; semantics 17.4.
    """
    return Repeatedly(OnDelta(column, threshold))
