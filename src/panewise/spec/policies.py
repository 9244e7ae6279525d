"""The policies of other systems, by their names: each is a term of the trigger language (semantics 17).

    panewise.policies.samza(early="1 minute")    S1: early emission, full size, late arrival
    panewise.policies.apex(late_count=100)       S4: TriggerOption
    panewise.policies.final_only()               S2: one result for each window
    panewise.policies.each_update()              S2: a result for each update
    panewise.policies.flink_count(100)           Flink: CountTrigger; and the others that it ships

A preset is a trigger, so it leaves the accumulation to the operator. The default, "accumulating", is what S1,
S2, Kafka Streams and Flink's triggers do. Flink's PurgingTrigger needs accumulation="discarding". S4 has its own
modes: ACCUMULATING is "accumulating", DISCARDING "discarding", ACCUMULATING_AND_RETRACTING "retracting".
"""

from datetime import timedelta
from typing import Literal

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.composites import AfterAny, AfterWatermark, Repeatedly, Trigger
from panewise.spec.triggers import AfterCount, AfterEventTime, AfterProcessingTime, Always, Every, Never, OnDelta


def samza(
    early: DurationLike | Literal["each"] | None = None,
    late: DurationLike | Literal["each"] = "10 seconds",
    *,
    late_aligned: bool = False,
) -> AfterWatermark:
    """S1's three policies over an aggregate: early emission, full size (the pane when the watermark reaches the end), late arrival.

    Args:
        early: None: off, the default. A period: updates of a current window come at its multiples since 1970 ("1 minute": at
            full minutes), if rows are pending. "each": updates come at once.
        late: a period: updates of a past window come that long after the first pending row; S1's default for aggregates is
            10 seconds. "each": updates come at once.
        late_aligned: updates of past windows come at multiples of `late` since 1970, too.

    Raises:
        SpecError: for late_aligned=True with late="each".

    >>> samza()
    AfterWatermark(early=None, late=AfterProcessingTime(delay=Duration('10 seconds'), align=None))
    >>> samza(early="1 minute", late="1 minute", late_aligned=True).late
    Every(period=Duration('1 minute'), aligned=True)

    Source: S1 early emission, full size and late arrival policy, setOntimeUpdatePeriod, setLateUpdatePeriod; semantics 17.1.
    """
    return AfterWatermark(early=None if early is None else _early(early), late=_late(late, aligned=late_aligned))


def samza_join(
    early: DurationLike | Literal["each"] = "each",
    late: DurationLike | Literal["each"] = "each",
    *,
    late_aligned: bool = False,
) -> AfterWatermark:
    """S1's three policies with its defaults for joins: each message, early and late. Periods are those of :func:`samza`.

    >>> samza_join() == AfterWatermark(early=Always(), late=Always())
    True

    Source: S1 window operator for joins; semantics 17.1.
    """
    return AfterWatermark(early=_early(early), late=_late(late, aligned=late_aligned))


def _early(period: DurationLike | Literal["each"]) -> Trigger:
    return Always() if period == "each" else Every(period, aligned=True)


def _late(period: DurationLike | Literal["each"], *, aligned: bool) -> Trigger:
    if period != "each":
        return Every(period, aligned=True) if aligned else AfterProcessingTime(period)
    if aligned:
        rule = "only a period has multiples; each late message is an update at once"
        raise SpecError("late='each', late_aligned=True", rule, "give late a period, or leave late_aligned out")
    return Always()


def apex(
    early_every: DurationLike | None = None,
    early_count: int | None = None,
    late_every: DurationLike | None = None,
    late_count: int | None = None,
    *,
    at_watermark: bool = True,
) -> Trigger:
    """S4's TriggerOption: atWatermark, withEarlyFiringsAtEvery and withLateFiringsAtEvery of a time, a count, or both.

    With `at_watermark=False` there is no on-time firing: early and late firings are then one and the same, and must not differ. S4's
    firing at the watermark without new rows is `on_time="always"` of the operator, the default with early
    firings.
    `fireOnlyUpdatedPanes` is what "retracting" always does, and `only_updated=True` of the operator asks of "accumulating".

    >>> apex(early_every="1 minute", late_count=10)
    AfterWatermark(early=Every(period=Duration('1 minute')), late=AfterCount(n=10))

    Raises:
        SpecError: with `at_watermark=False` and late firings that are not the early ones.

    Source: S4 TriggerOption; semantics 17.2.
    """
    early, late = _firings(early_every, early_count), _firings(late_every, late_count)
    if at_watermark:
        return AfterWatermark(early=early, late=late or Never())
    if late is not None and late != early:
        rule = "without a firing at the watermark a window is followed by one trigger all the time"
        raise SpecError(f"apex(early={early!r}, late={late!r}, at_watermark=False)", rule, "leave the late firings out, or make them equal")
    return Never() if early is None else Repeatedly(early)


def _firings(every: DurationLike | None, count: int | None) -> Trigger | None:
    found: list[Trigger] = [] if every is None else [Every(every)]
    if count is not None:
        found.append(AfterCount(count))
    return AfterAny(*found) if len(found) > 1 else found[0] if found else None


def final_only() -> Never:
    """One result for each window, when it expires (S2; Kafka Streams: EmitStrategy.onWindowClose, suppress; Spark: append mode).

    Kafka's stream time of a task is watermark=StreamTime(per="all"), its session windows are Session(gap, closed="both").
    The allowed lateness is Kafka's grace period: what comes in it is in the one pane. That pane is ON_TIME;
    it is LATE only for a window whose first row came after its end.

    Source: S2; semantics 7.9, 17.3.
    """
    return Never()


def each_update() -> Always:
    """A result for each batch that changes a window; with evaluate="record" for each row (Kafka: onWindowUpdate; Spark: update mode).

    Source: S2; semantics 17.3.
    """
    return Always()


def flink_event_time() -> AfterWatermark:
    """EventTimeTrigger: at the watermark, then for each late row (batch of late rows).

    Source: Flink EventTimeTrigger; semantics 17.4.
    """
    return AfterWatermark(late=Always())


def flink_continuous_event_time(interval: DurationLike) -> AfterWatermark:
    """ContinuousEventTimeTrigger: at the multiples of the interval in event time, at the end, and then for each late row.

    It fires when the watermark reaches a multiple, if rows are pending, from the first multiple above the earliest row on.

    Source: Flink ContinuousEventTimeTrigger; semantics 17.4.
    """
    return AfterWatermark(early=AfterEventTime(interval), late=Always())


def flink_continuous_processing_time(interval: DurationLike) -> Repeatedly:
    """ContinuousProcessingTimeTrigger: at the multiples of the interval in processing time, if rows came.

    Source: Flink ContinuousProcessingTimeTrigger; semantics 17.4.
    """
    # The first multiple above the time of the first row: rounding up what lies a microsecond later.
    return Repeatedly(AfterProcessingTime(1, align=interval))


def flink_count(n: int) -> Repeatedly:
    """CountTrigger: whenever n rows have come.

    Source: Flink CountTrigger; semantics 17.4.
    """
    return Repeatedly(AfterCount(n))


def flink_delta(column: str, threshold: int | float | str | timedelta | Duration) -> Repeatedly:
    """DeltaTrigger: whenever `column` has moved by more than the threshold from where it was at the last firing.

    Source: Flink DeltaTrigger; semantics 17.4.
    """
    return Repeatedly(OnDelta(column, threshold))
