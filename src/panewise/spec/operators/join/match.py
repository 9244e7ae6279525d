"""Matches of a join: which rows of the two sides belong together (semantics 37). Values only."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias

from panewise.chrono import MAX_INSTANT, Duration, DurationLike
from panewise.errors import SpecError

CLOSED: Final = ("both", "left", "right", "neither")
STRATEGIES: Final = ("backward", "forward", "nearest")


@dataclass(frozen=True, init=False)
class Interval:
    """Rows match if the event time of the right one minus that of the left one is in an interval.

    Args:
        lower: the least difference. A negative one lets the right row be the earlier one. A duration, or a
            text such as "-5 minutes".
        upper: the largest difference, not below `lower`.
        closed: the bounds that the interval includes: "both", "left" (`lower` only), "right" (`upper` only)
            or "neither". Default: "both".

    Raises:
        SpecError: for bounds the wrong way round, an interval without any whole microsecond, and other values
            of `closed`.

    >>> Interval("-5 minutes", "1 hour")
    Interval(lower=Duration('-5 minutes'), upper=Duration('1 hour'), closed='both')

    Source: semantics 37; Flink's interval join, Kafka Streams' JoinWindows, S1 "RANGE d PRECEDING".
    """

    kind: ClassVar[str] = "interval"
    lower: Duration
    upper: Duration
    closed: Literal["both", "left", "right", "neither"]

    def __init__(
        self,
        lower: DurationLike,
        upper: DurationLike,
        closed: Literal["both", "left", "right", "neither"] = "both",
    ) -> None:
        object.__setattr__(self, "lower", signed(lower, "lower"))
        object.__setattr__(self, "upper", signed(upper, "upper"))
        object.__setattr__(self, "closed", closed)
        if closed not in CLOSED:
            raise SpecError(f"closed={closed!r}", f"closed is one of {CLOSED}", "give one of these")
        if self.lower.us > self.upper.us:
            raise SpecError(
                f"Interval(lower={self.lower}, upper={self.upper})",
                "the lower bound is not above the upper one",
                "exchange the bounds",
            )
        if self.first > self.last:
            rule = "an interval includes a whole microsecond at least"
            raise SpecError(f"{self!r}", rule, "widen the interval, or give closed='both'")

    @property
    def first(self) -> int:
        """The least difference that the interval includes, in microseconds."""
        return self.lower.us + (self.closed in ("right", "neither"))

    @property
    def last(self) -> int:
        """The largest difference that the interval includes, in microseconds."""
        return self.upper.us - (self.closed in ("left", "neither"))

    @property
    def reach(self) -> tuple[int, int]:
        """How far the last right row lies after a left row that it matches, and the other way round."""
        return self.last, -self.first


@dataclass(frozen=True, init=False)
class AsOf:
    """The right row that was in force at the time of the left row, or the next or nearest one.

    Args:
        strategy: "backward" (the latest right row at or before the left one), "forward" (the earliest one at
            or after it) or "nearest" (the one with the least distance; of two the earlier one). Default:
            "backward".
        tolerance: the largest distance between both rows, 0 or more, included. Default: no limit; "forward"
            and "nearest" need one.

    Raises:
        SpecError: for another strategy, a negative tolerance, and a missing one.

    >>> AsOf(tolerance="1 hour")
    AsOf(strategy='backward', tolerance=Duration('1 hour'))

    Source: semantics 37.2; Flink FOR SYSTEM_TIME AS OF, Polars join_asof.
    """

    kind: ClassVar[str] = "as_of"
    strategy: Literal["backward", "forward", "nearest"]
    tolerance: Duration | None

    def __init__(
        self,
        strategy: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: DurationLike | None = None,
    ) -> None:
        given = None if tolerance is None else Duration.of(tolerance, "tolerance")
        object.__setattr__(self, "strategy", strategy)
        object.__setattr__(self, "tolerance", given)
        if strategy not in STRATEGIES:
            raise SpecError(f"strategy={strategy!r}", f"strategy is one of {STRATEGIES}", "give one of these")
        if given is not None and given.us < 0:
            raise SpecError(f"tolerance={tolerance!r}", "a tolerance is not negative", "give 0 or more")
        if given is None and strategy != "backward":
            rule = "a row that comes at any later time could be the next or nearest one"
            raise SpecError(f"strategy={strategy!r} without a tolerance", rule, "give a tolerance")

    @property
    def waits(self) -> int:
        """How far beyond a left row the right rows reach that it waits for, in microseconds."""
        return 0 if self.tolerance is None or self.strategy == "backward" else self.tolerance.us

    @property
    def reach(self) -> tuple[int, int]:
        """How far the last right row lies after a left row that it matches, and the other way round.

        A right row can match any later left row if there is no tolerance.
        """
        if self.strategy == "forward":
            return self.waits, 0
        return self.waits, MAX_INSTANT if self.tolerance is None else self.tolerance.us


Match: TypeAlias = Interval | AsOf


def signed(value: Any, name: str) -> Duration:
    """Returns a duration that may be negative: a text may begin with a minus.

    >>> signed("-5 minutes", "lower"), signed(7, "upper")
    (Duration('-5 minutes'), Duration('7 microseconds'))
    """
    if isinstance(value, str) and value.strip().startswith("-"):
        return Duration(-Duration.of(value.strip()[1:], name).us)
    return Duration.of(value, name)
