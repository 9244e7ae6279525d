"""Simple triggers: the leaves of the trigger language (semantics 16). Values only.

:mod:`panewise.spec.triggers.composite` combines them.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, TypeAlias

from panewise.choices import check_flag
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import (
    is_count,
    is_finite_number,
    is_name,
    not_negative,
    number_or_us,
    set_fields,
)
from panewise.spec.windows.kinds import positive


@dataclass(frozen=True)
class AfterCount:
    """Fires once, when at least n rows are pending.

    As the whole trigger of a window it closes the window with this firing. In AfterWatermark it is repeated.

    Args:
        n: the number of rows, 1 or more.

    Raises:
        SpecError: if n is not a whole number above zero.

    >>> AfterCount(100)
    AfterCount(n=100)

    Source: semantics 16.2; S4 withEarlyFiringsAtEvery(count), Beam AfterCount.
    """

    kind: ClassVar[str] = "after_count"
    n: int

    def __post_init__(self) -> None:
        if not is_count(self.n):
            raise SpecError(f"n={self.n!r}", "a count is a whole number above zero", "give n=1 or more")


@dataclass(frozen=True, init=False)
class AfterProcessingTime:
    """Fires once, when a length of processing time has passed since the first row.

    The first row is the first one that reaches this trigger: as the whole trigger, the first row of the
    window; in a repeated trigger, the first one after each firing.

    Args:
        delay: the processing time from the first row to the firing, 0 or more. An int is in microseconds.
        align: rounds the time of the firing up to a multiple of this length since 1970-01-01 UTC. It is above
            zero. Default: None, no rounding. An int is in microseconds.

    Raises:
        SpecError: for a negative delay, and for an `align` that is not above zero.

    >>> AfterProcessingTime("10 seconds")
    AfterProcessingTime(delay=Duration('10 seconds'), align=None)
    >>> AfterProcessingTime(0, align="1 minute").align
    Duration('1 minute')

    Source: semantics 16.8; S1's update policy of late arrival, Beam AfterProcessingTime, Flink
    ContinuousProcessingTimeTrigger (aligned).
    """

    kind: ClassVar[str] = "after_processing_time"
    _clock_fields: ClassVar[tuple[str, ...]] = ("delay", "align")
    delay: Duration
    align: Duration | None

    def __init__(self, delay: DurationLike, align: DurationLike | None = None) -> None:
        aligned = None if align is None else positive(align, "align")
        set_fields(self, delay=not_negative(delay, "delay"), align=aligned)


@dataclass(frozen=True, init=False)
class AfterSilence:
    """Fires once, when no row has come for a length of processing time.

    Each row that reaches this trigger moves the time of the firing: it is the arrival of the last one plus
    `duration`. So a window whose rows never pause that long does not fire by this trigger. To limit the wait,
    combine it: AfterAny(AfterSilence("10 seconds"), AfterProcessingTime("1 minute")).

    As the whole trigger of a window it closes the window with this firing. Repeatedly repeats it.

    Args:
        duration: the processing time from the last row to the firing, above zero. An int is in microseconds.

    Raises:
        SpecError: for a duration that is not above zero.

    >>> AfterSilence("10 seconds")
    AfterSilence(duration=Duration('10 seconds'))

    Source: semantics 16.16; Samza Triggers.timeSinceLastMessage, Flink ProcessingTimeoutTrigger (with
    resetTimerOnNewRecord).
    """

    kind: ClassVar[str] = "after_silence"
    _clock_fields: ClassVar[tuple[str, ...]] = ("duration",)
    duration: Duration

    def __init__(self, duration: DurationLike) -> None:
        set_fields(self, duration=positive(duration, "duration"))


@dataclass(frozen=True, init=False, repr=False)
class Every:
    """Fires at the boundaries of a period of processing time, if rows are pending.

    By default periods are counted from the last firing of the window, at first from the arrival of its first
    row. A boundary that passes while no rows are pending emits nothing, and the next one is a period later. A
    row waits for the first boundary after its arrival.

    Args:
        period: the length of a period, above zero. An int is in microseconds.
        aligned: with True the boundaries are `offset` plus the multiples of `period` since 1970-01-01 UTC,
            the same for all windows.
        offset: shifts aligned boundaries, in [0, period). Only with `aligned`. Default: 0.
            An int is in microseconds.

    Raises:
        SpecError: for a period that is not above zero; for an offset outside [0, period), or without
            `aligned`.

    >>> Every("10 seconds")
    Every(period=Duration('10 seconds'))
    >>> Every("1 minute", aligned=True, offset="59 seconds")
    Every(period=Duration('1 minute'), aligned=True, offset=Duration('59 seconds'))

    Source: semantics 16.3, 16.14; S4 withEarlyFiringsAtEvery(duration); with `aligned` S1's update period,
    Beam alignedTo.
    """

    kind: ClassVar[str] = "every"
    _clock_fields: ClassVar[tuple[str, ...]] = ("period", "offset")
    period: Duration
    aligned: bool
    offset: Duration

    def __init__(self, period: DurationLike, *, aligned: bool = False, offset: DurationLike = 0) -> None:
        length, phase = positive(period, "period"), Duration.of(offset, "offset")
        check_flag("aligned", aligned)
        if phase.us and not aligned:
            rule = (
                "an offset shifts the boundaries of aligned periods; unaligned ones are counted from "
                "the last firing"
            )
            remedy = "give aligned=True, or leave offset out"
            raise SpecError(f"offset={offset!r}, aligned=False", rule, remedy)
        if not 0 <= phase.us < length.us:
            rule = "an offset is 0 or more and less than the period"
            remedy = "give the remainder of its division by the period"
            raise SpecError(f"offset={offset!r}, period={period!r}", rule, remedy)
        set_fields(self, period=length, aligned=aligned, offset=phase)

    def __repr__(self) -> str:
        phase = f", offset={self.offset!r}" if self.offset.us else ""
        return f"Every(period={self.period!r}{', aligned=True' if self.aligned else ''}{phase})"


@dataclass(frozen=True, init=False)
class AfterEventTime:
    """Fires whenever the watermark reaches a multiple of `period` since 1970-01-01 UTC, if rows are pending.

    The first multiple is the first one above the earliest row of the window. From then on every multiple
    counts, whatever the event times of the pending rows are. If the watermark passes several multiples at
    once, it fires once.

    Args:
        period: a length of event time, above zero. An int is in microseconds.

    Raises:
        SpecError: for a period that is not above zero.

    >>> AfterEventTime("5 minutes")
    AfterEventTime(period=Duration('5 minutes'))

    Source: semantics 16.8; Flink ContinuousEventTimeTrigger.
    """

    kind: ClassVar[str] = "after_event_time"
    period: Duration

    def __init__(self, period: DurationLike) -> None:
        set_fields(self, period=positive(period, "period"))


@dataclass(frozen=True, init=False)
class AfterEventTimeDelay:
    """Fires once, when the watermark has reached the event time of the first row plus a delay.

    The first row is the first one, in arrival order, that reaches this trigger: as the whole trigger, the
    first row of the window; in a repeated trigger, the first one after each firing. Later rows do not change
    the time of the firing, whatever their event times are.

    Args:
        delay: the event time from the first row to the firing, 0 or more. An int is in microseconds.

    Raises:
        SpecError: for a negative delay.

    >>> AfterEventTimeDelay("5 minutes")
    AfterEventTimeDelay(delay=Duration('5 minutes'))

    Source: semantics 16.17; Kafka Suppressed.untilTimeLimit.
    """

    kind: ClassVar[str] = "after_event_time_delay"
    delay: Duration

    def __init__(self, delay: DurationLike) -> None:
        set_fields(self, delay=not_negative(delay, "delay"))


@dataclass(frozen=True)
class OnPunctuation:
    """Fires once, when a row has arrived in which a Boolean column is true.

    Args:
        column: the name of the column.

    Raises:
        SpecError: if the name is not a non-empty string.

    >>> OnPunctuation("end_of_order")
    OnPunctuation(column='end_of_order')

    Source: semantics 16.8; S5 punctuation policies, Flink PunctuatedTrigger.
    """

    kind: ClassVar[str] = "on_punctuation"
    column: str

    def __post_init__(self) -> None:
        _check_column(self.column)


@dataclass(frozen=True, init=False)
class OnDelta:
    """Fires once, when a value differs from the reference by more than an amount, up or down.

    The reference is the first value until the first firing. After a firing it is the last value before the
    firing.

    Args:
        column: a column of whole numbers, doubles or timestamps. Nulls and NaN are ignored.
        amount: 0 or more, in the unit of the column. For timestamps it is a number of microseconds, or a
            duration such as "5 minutes".

    Raises:
        SpecError: for an empty column name; for an amount that is negative, not finite or not a number.

    >>> OnDelta("temperature", 0.5)
    OnDelta(column='temperature', amount=0.5)
    >>> OnDelta("seen_at", "1 second").amount
    1000000

    Source: semantics 16.8; S5 delta policies, Flink DeltaTrigger.
    """

    kind: ClassVar[str] = "on_delta"
    column: str
    amount: int | float

    def __init__(self, column: str, amount: int | float | str | timedelta | Duration) -> None:
        _check_column(column)
        number = number_or_us(amount, "amount")
        if not is_finite_number(number) or number < 0:
            rule = "an amount is a number, 0 or more, or a duration"
            raise SpecError(f"amount={amount!r}", rule, "give one such as 0.5 or '1 second'")
        set_fields(self, column=column, amount=number)


@dataclass(frozen=True)
class Always:
    """Fires at every evaluation with pending rows: once for each batch that applies rows to the window.

    With evaluate="record" it fires for each row.

    Source: semantics 16.2; Kafka emit on update, Spark update mode.
    """

    kind: ClassVar[str] = "always"


@dataclass(frozen=True)
class Never:
    """Never fires. The rows of the window are emitted once, when it expires.

    Source: semantics 16.2, 16.6; Beam Never.
    """

    kind: ClassVar[str] = "never"


Leaf: TypeAlias = (
    AfterCount
    | AfterProcessingTime
    | AfterSilence
    | Every
    | AfterEventTime
    | AfterEventTimeDelay
    | OnPunctuation
    | OnDelta
    | Always
    | Never
)


def _check_column(column: object) -> None:
    if not is_name(column):
        rule = "a trigger reads a column by its name"
        raise SpecError(f"column={column!r}", rule, "give a non-empty string")
