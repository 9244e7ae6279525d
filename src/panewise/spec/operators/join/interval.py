"""Intervals: how far apart the event times of both sides are that match (semantics 37). Values only."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from panewise.choices import check_choice
from panewise.chrono import Duration, DurationLike, signed_duration
from panewise.errors import SpecError
from panewise.spec.fields import set_fields
from panewise.spec.operators.windows import UNLIMITED
from panewise.spec.windows.kinds import positive
from panewise.spec.windows.size_in_rows import MOST_ROWS, is_number_of_rows

CLOSED: Final = ("both", "left", "right", "neither")
LATE: Final = ("output", "join")


@dataclass(frozen=True, init=False)
class Interval:
    """Rows match if the event time of the right one minus that of the left one is in an interval.

    Args:
        lower: the least difference. A negative one lets the right row be the earlier one. A duration, or a
            text such as "-5 minutes". None: no bound. An int is in microseconds.
        upper: the largest difference, not below `lower`. None: no bound. An int is in microseconds.
        closed: the bounds that the interval includes: "both", "left" (`lower` only), "right" (`upper` only)
            or "neither". Default: "both".
        retain_for: how long a row is retained that a row of any later time could match, in event time: until
            the horizon of the other side is more than that after it; or "unlimited", until the input of the
            other side ends. An interval without an upper bound retains left rows, one without a lower bound
            right rows. No watermark bounds their number, so it needs `retain_for`, `retain_rows` or both.
            An int is in microseconds.
        retain_rows: how many of these rows are retained of each key: those that arrived last. A row is
            compared with all rows of its key in the same batch that the interval includes, whatever the
            number.

        late: what happens to a row behind the horizon of its side: "output" (it is emitted to the late
            output) or "join" (it is joined with the rows of the other side that are stored, and only a row
            that can have no partner is late), which needs both bounds. Default: "output".

    Raises:
        SpecError: for bounds the wrong way round, an interval without any whole microsecond, other values of
            `closed` and `late`, a missing retention, and one that has no effect or contradicts the other.

    >>> Interval("-5 minutes", "1 hour")
    Interval(lower=Duration('-5 minutes'), upper=Duration('1 hour'), closed='both', retain_for=None,
    retain_rows=None, late='output')
    >>> Interval(None, "1 hour", retain_for="1 day").retained
    ('right',)

    Source: semantics 37, 37.1, 37.24, 37.25; Flink's interval join, Kafka Streams' JoinWindows, S1 "RANGE d
    PRECEDING".
    """

    kind: ClassVar[str] = "interval"
    lower: Duration | None
    upper: Duration | None
    closed: Literal["both", "left", "right", "neither"]
    retain_for: Duration | Literal["unlimited"] | None
    retain_rows: int | None
    late: Literal["output", "join"]

    def __init__(
        self,
        lower: DurationLike | None,
        upper: DurationLike | None,
        closed: Literal["both", "left", "right", "neither"] = "both",
        *,
        retain_for: DurationLike | Literal["unlimited"] | None = None,
        retain_rows: int | None = None,
        late: Literal["output", "join"] = "output",
    ) -> None:
        for name, bound in (("lower", lower), ("upper", upper)):
            set_fields(self, **{name: None if bound is None else signed_duration(bound, name)})
        set_fields(self, closed=closed, late=late)
        set_fields(self, retain_for=_limit(retain_for), retain_rows=retain_rows)
        check_choice("closed", closed, CLOSED)
        check_choice("late", late, LATE)
        self._check_bounds()
        self._check_retention()
        if late == "join" and self.retained:
            rule = "without a bound a row could match however late it is, so no row would be late"
            raise SpecError(f"{self!r}", rule, "give both bounds, or allowed_lateness on the side")

    def _check_bounds(self) -> None:
        if self.lower is None or self.upper is None:
            allowed = ("both",) if self.lower is self.upper else ("both", "neither")
            if self.closed not in allowed:
                rule = "closed names only bounds that the interval has"
                raise SpecError(f"{self!r}", rule, f"give one of {allowed}")
            return
        if self.lower.us > self.upper.us:
            raise SpecError(f"{self!r}", "the lower bound is not above the upper one", "exchange the bounds")
        if self.upper.us - self.lower.us < {"both": 0, "neither": 2}.get(self.closed, 1):
            rule = "an interval includes a whole microsecond at least"
            raise SpecError(f"{self!r}", rule, "widen the interval, or give closed='both'")

    def _check_retention(self) -> None:
        count: Any = self.retain_rows
        if count is not None and not is_number_of_rows(count):
            rule = f"the number of rows to retain is whole, 1 or more, and {MOST_ROWS} at most"
            raise SpecError(f"retain_rows={count!r}", rule, "give one such as 1000")
        limited = self.retain_for is not None or count is not None
        if self.retained and not limited:
            rule = "a row of any later time could match, so rows would be stored for good"
            remedy = "give retain_for='1 day', retain_rows=1000, or both; or retain_for='unlimited'"
            raise SpecError(f"{self!r}", rule, remedy)
        if limited and not self.retained:
            rule = "only an interval without a bound has a retention"
            raise SpecError(f"{self!r}", rule, "leave it out, or give None for a bound")
        if self.retain_for == UNLIMITED and count is not None:
            rule = "rows that are stored for good are not limited in number"
            raise SpecError(f"{self!r}", rule, "leave out retain_for or retain_rows")

    @cached_property
    def first(self) -> int | None:
        """The least difference that the interval includes, in microseconds; None without a lower bound."""
        return None if self.lower is None else self.lower.us + (self.closed in ("right", "neither"))

    @cached_property
    def last(self) -> int | None:
        """The largest difference that it includes, in microseconds; None without an upper bound."""
        return None if self.upper is None else self.upper.us - (self.closed in ("left", "neither"))

    @property
    def length(self) -> int | None:
        """The largest difference less the least one, in microseconds; None if there is a bound missing."""
        return None if self.first is None or self.last is None else self.last - self.first

    @cached_property
    def retained(self) -> tuple[str, ...]:
        """The sides whose rows a row of any later time could match."""
        return ("left",) * (self.upper is None) + ("right",) * (self.lower is None)

    @cached_property
    def waits(self) -> dict[str, int | None]:
        """How long after a row of each side rows of the other side can match it, in microseconds.

        For a retained row this is `retain_for`; None if there is no such limit.
        """
        limit = self.retain_for.us if isinstance(self.retain_for, Duration) else None
        first, last = self.first, self.last
        return {"left": limit if last is None else last, "right": limit if first is None else -first}


def _limit(value: Any) -> Duration | Literal["unlimited"] | None:
    """Returns how long rows are retained by event time.

    >>> _limit("unlimited"), _limit("1 day")
    ('unlimited', Duration('1 day'))
    """
    if isinstance(value, str) and value == UNLIMITED:
        return UNLIMITED
    return None if value is None else positive(value, "retain_for")
