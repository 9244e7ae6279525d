"""Simple triggers: the leaves of the trigger language (semantics 16). Values only.

:mod:`panewise.spec.composites` nests them.
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, TypeAlias

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.windows import positive


@dataclass(frozen=True)
class AfterCount:
    """Fires, once, when at least `n` rows have come. At the top level the window is closed then; inside AfterWatermark it is repeated.

    >>> AfterCount(100)
    AfterCount(n=100)

    Source: semantics 16.2; S4 withEarlyFiringsAtEvery(count), Beam AfterCount.
    """

    kind: ClassVar[str] = "after_count"
    n: int

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, int) or self.n < 1:
            raise SpecError(f"n={self.n!r}", "a count is a whole number above zero", "give n=1 or more")


@dataclass(frozen=True, init=False)
class AfterProcessingTime:
    """Fires, once, `delay` of processing time after the first row that came; with `align` at the next multiple of it.

    Args:
        delay: how long after the first row, 0 or more.
        align: the firing waits for the next multiple of this since 1970-01-01 UTC.

    >>> AfterProcessingTime("10 seconds")
    AfterProcessingTime(delay=Duration('10 seconds'), align=None)
    >>> AfterProcessingTime(0, align="1 minute").align
    Duration('1 minute')

    Source: semantics 16.8; S1 late arrival policy, Beam AfterProcessingTime, Flink ContinuousProcessingTimeTrigger (aligned).
    """

    kind: ClassVar[str] = "after_processing_time"
    delay: Duration
    align: Duration | None

    def __init__(self, delay: DurationLike, align: DurationLike | None = None) -> None:
        length = Duration.of(delay, "delay")
        if length.us < 0:
            raise SpecError(f"delay={delay!r}", "delay is not negative", "give 0 or more")
        object.__setattr__(self, "delay", length)
        object.__setattr__(self, "align", None if align is None else positive(align, "align"))


@dataclass(frozen=True, init=False, repr=False)
class Every:
    """Fires at the boundaries of a period of processing time, if rows are pending.

    Unaligned periods are counted from the window's last firing, at first from its first row. A boundary that passes while
    nothing is pending emits nothing, and the next one is a period later. A row waits for the first boundary after its arrival.

    Args:
        period: the length of a period, above zero.
        aligned: the boundaries are `offset` plus the multiples of `period` since 1970-01-01 UTC, the same for all windows.
        offset: with `aligned` only: 0 or more, and less than `period`.

    Raises:
        SpecError: for a period that is not above zero; for an offset outside [0, period), or without `aligned`.

    >>> Every("10 seconds")
    Every(period=Duration('10 seconds'))
    >>> Every("1 minute", aligned=True, offset="59 seconds")
    Every(period=Duration('1 minute'), aligned=True, offset=Duration('59 seconds'))

    Source: semantics 16.3, 16.14; S4 withEarlyFiringsAtEvery(duration); with `aligned` S1's update period, Beam alignedTo.
    """

    kind: ClassVar[str] = "every"
    period: Duration
    aligned: bool
    offset: Duration

    def __init__(self, period: DurationLike, *, aligned: bool = False, offset: DurationLike = 0) -> None:
        length, phase = positive(period, "period"), Duration.of(offset, "offset")
        if not isinstance(aligned, bool):
            raise SpecError(f"aligned={aligned!r}", "aligned is True or False", "give aligned=True for boundaries since 1970")
        if phase.us and not aligned:
            rule = "an offset shifts the boundaries of aligned periods; unaligned ones are counted from the last firing"
            raise SpecError(f"offset={offset!r}, aligned=False", rule, "give aligned=True, or leave offset out")
        if not 0 <= phase.us < length.us:
            rule = "an offset is 0 or more and less than the period"
            raise SpecError(f"offset={offset!r}, period={period!r}", rule, "give the rest of its division by the period")
        object.__setattr__(self, "period", length)
        object.__setattr__(self, "aligned", aligned)
        object.__setattr__(self, "offset", phase)

    def __repr__(self) -> str:
        phase = f", offset={self.offset!r}" if self.offset.us else ""
        return f"Every(period={self.period!r}{', aligned=True' if self.aligned else ''}{phase})"


@dataclass(frozen=True, init=False)
class AfterEventTime:
    """Fires whenever the watermark reaches a multiple of `period` since 1970-01-01 UTC, if rows are pending.

    The first multiple is the first one above the earliest row of the window. From then on every multiple counts, whatever the event times
    of the pending rows are. A jump of the watermark over several multiples fires once.

    >>> AfterEventTime("5 minutes")
    AfterEventTime(period=Duration('5 minutes'))

    Source: semantics 16.8; Flink ContinuousEventTimeTrigger.
    """

    kind: ClassVar[str] = "after_event_time"
    period: Duration

    def __init__(self, period: DurationLike) -> None:
        object.__setattr__(self, "period", positive(period, "period"))


@dataclass(frozen=True)
class OnPunctuation:
    """Fires, once, when a row has come whose `column` (a boolean) is true.

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
    """Fires, once, when `column` differs by more than `amount` from what it was at the last such firing (at first: in the first row).

    Args:
        column: a number or a timestamp; nulls and NaN are passed over.
        amount: in the column's unit, 0 or more; of a timestamp microseconds, or a duration such as "5 minutes".

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
        number = Duration.of(amount, "amount").us if isinstance(amount, (str, timedelta, Duration)) else amount
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number) or number < 0:
            raise SpecError(f"amount={amount!r}", "an amount is a number, 0 or more, or a duration", "give one such as 0.5 or '1 second'")
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "amount", number)


@dataclass(frozen=True)
class Always:
    """Fires at every evaluation at which rows are pending: once for each batch that touches the window.

    Source: semantics 16.2; Kafka emit on update, Spark update mode.
    """

    kind: ClassVar[str] = "always"


@dataclass(frozen=True)
class Never:
    """Never fires. The window's rows are sent once, when it expires.

    Source: semantics 16.2, 16.6; Beam Never.
    """

    kind: ClassVar[str] = "never"


Leaf: TypeAlias = AfterCount | AfterProcessingTime | Every | AfterEventTime | OnPunctuation | OnDelta | Always | Never


def _check_column(column: object) -> None:
    if not isinstance(column, str) or not column:
        raise SpecError(f"column={column!r}", "a trigger reads a column by its name", "give a non-empty string")
