"""Evictors: which rows a window removes permanently when it fires (semantics 11.1 to 11.8). Values only."""

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
    number_or_us,
    set_fields,
)
from panewise.spec.windows.kinds import positive


@dataclass(frozen=True)
class CountEvictor:
    """Keeps the last `n` rows of a window, in arrival order.

    Args:
        n: the number of rows that stay, 1 or more.
        after: evict after a pane's aggregates are computed, not before.

    Raises:
        SpecError: if a value breaks a rule.

    >>> CountEvictor(100)
    CountEvictor(n=100, after=False)

    Source: semantics 11.2; Flink CountEvictor.
    """

    kind: ClassVar[str] = "count_evictor"
    n: int
    after: bool = False

    def __post_init__(self) -> None:
        if not is_count(self.n):
            raise SpecError(f"n={self.n!r}", "an evictor keeps one row or more", "give n=1 or more")
        check_flag("after", self.after)


@dataclass(frozen=True, init=False)
class TimeEvictor:
    """Keeps the rows whose event time is less than `duration` before the latest event time in the window.

    Args:
        duration: above zero. A row that is exactly this much older than the latest row is evicted, too.
            An int is in microseconds.
        after: evict after a pane's aggregates are computed, not before.

    Raises:
        SpecError: if a value breaks a rule.

    >>> TimeEvictor("10 seconds", after=True)
    TimeEvictor(duration=Duration('10 seconds'), after=True)

    Source: semantics 11.3; Flink TimeEvictor.
    """

    kind: ClassVar[str] = "time_evictor"
    duration: Duration
    after: bool

    def __init__(self, duration: DurationLike, after: bool = False) -> None:
        set_fields(self, duration=positive(duration, "duration"), after=after)
        check_flag("after", after)


@dataclass(frozen=True, init=False)
class DeltaEvictor:
    """Keeps the rows whose value in `column` is less than `threshold` below the last value in the window.

    The difference is signed, as in Flink's own examples: a row with a larger value than the last one stays.

    Args:
        column: a column of whole numbers, doubles or timestamps. Rows without a value (null, NaN) stay; the
            last value is that of the last row that has one.
        threshold: above 0, in the unit of the column. For timestamps it is in microseconds, or a duration
            such as "5 minutes".
        after: evict after a pane's aggregates are computed, not before.

    Raises:
        SpecError: if a value breaks a rule.

    >>> DeltaEvictor("distance", 50.0)
    DeltaEvictor(column='distance', threshold=50.0, after=False)
    >>> DeltaEvictor("seen_at", "1 second").threshold
    1000000

    Source: semantics 11.4; Flink DeltaEvictor.
    """

    kind: ClassVar[str] = "delta_evictor"
    column: str
    threshold: int | float
    after: bool

    def __init__(
        self, column: str, threshold: int | float | str | timedelta | Duration, after: bool = False
    ) -> None:
        if not is_name(column):
            raise SpecError(
                f"column={column!r}", "an evictor reads a column by its name", "give a non-empty string"
            )
        number = number_or_us(threshold, "threshold")
        if not is_finite_number(number) or number <= 0:
            rule = (
                "a threshold is a number above zero, or a duration: with zero the last "
                "row itself would be evicted"
            )
            raise SpecError(f"threshold={threshold!r}", rule, "give one such as 0.5 or '1 second'")
        set_fields(self, column=column, threshold=number, after=after)
        check_flag("after", after)


Evictor: TypeAlias = CountEvictor | TimeEvictor | DeltaEvictor


def evictor_columns(evictor: Evictor | None) -> tuple[str, ...]:
    """Returns the columns that an evictor reads, besides the event time."""
    return (evictor.column,) if isinstance(evictor, DeltaEvictor) else ()


def check_evictor(evictor: object, accumulation: str) -> None:
    """Checks that a value is None or an evictor, and that it has an effect with this `accumulation`."""
    if evictor is None:
        return
    if not isinstance(evictor, Evictor):
        raise SpecError(
            f"evictor={evictor!r}", "an evictor is one of panewise's", "give one such as CountEvictor(100)"
        )
    if evictor.after and accumulation == "discarding":
        rule = (
            "in discarding mode rows are purged after each pane, so none are left to evict (semantics 11.5)"
        )
        raise SpecError(
            f"evictor={evictor!r}, accumulation='discarding'", rule, "leave after out, or use 'accumulating'"
        )
