"""Windows over event time: which rows belong together.

All windows are half-open, [start, end). Values only: frozen, comparable, printable; no behaviour.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from panewise.chrono import Duration, DurationLike, InstantLike, instant_us
from panewise.errors import SpecError


def positive(value: DurationLike, name: str) -> Duration:
    """The duration, checked to be above zero."""
    duration = Duration.of(value, name)
    if duration.us <= 0:
        raise SpecError(f"{name}={value!r}", f"{name} is above zero", f"give a {name} such as '1 minute'")
    return duration


def _freeze(spec: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(spec, name, value)


@dataclass(frozen=True, init=False)
class Tumbling:
    """Windows [origin + n*size, origin + (n+1)*size), for every integer n: each row is in exactly one.

    Args:
        size: length of a window, above zero.
        origin: an instant at which a window starts.

    >>> Tumbling("1 hour")
    Tumbling(size=Duration('1 hour'), origin=0)

    Source: semantics 6; S1 tumbling, S4 TimeWindows.
    """

    kind: ClassVar[str] = "tumbling"
    size: Duration
    origin: int

    def __init__(self, size: DurationLike, origin: InstantLike = 0) -> None:
        _freeze(self, size=positive(size, "size"), origin=instant_us(origin, "origin"))


@dataclass(frozen=True, init=False)
class Hopping:
    """Windows [origin + n*hop, origin + n*hop + size), for every integer n.

    Args:
        size: length of a window, above zero; need not be a multiple of `hop`.
        hop: distance from one window's start to the next one's, above zero.
        origin: an instant at which a window starts.
        gaps: must be True if `hop` is larger than `size`: rows between two windows then go to the invalid output.

    >>> Hopping("10 minutes", "2 minutes")
    Hopping(size=Duration('10 minutes'), hop=Duration('2 minutes'), origin=0, gaps=False)

    Source: semantics 6.1; S1 hopping, S4 SlidingTimeWindows, Beam SlidingWindows.
    """

    kind: ClassVar[str] = "hopping"
    size: Duration
    hop: Duration
    origin: int
    gaps: bool

    def __init__(self, size: DurationLike, hop: DurationLike, origin: InstantLike = 0, gaps: bool = False) -> None:
        _freeze(self, size=positive(size, "size"), hop=positive(hop, "hop"), origin=instant_us(origin, "origin"), gaps=gaps)
        if (self.hop > self.size) != gaps:
            rule = "hop > size leaves gaps between windows, and only then gaps=True is given"
            raise SpecError(f"size={self.size}, hop={self.hop}, gaps={gaps}", rule, "give a smaller hop, or change gaps")


@dataclass(frozen=True, init=False)
class Cumulating:
    """Windows that grow by `step` up to `size`: [c, c + k*step), k = 1 .. size/step, with c a multiple of size from origin.

    Args:
        size: length of the longest window, a multiple of `step`.
        step: growth from one window to the next, above zero.
        origin: an instant at which windows start.

    >>> Cumulating("1 day", step="1 hour").step
    Duration('1 hour')

    Source: semantics 6.2; Flink CUMULATE.
    """

    kind: ClassVar[str] = "cumulating"
    size: Duration
    step: Duration
    origin: int

    def __init__(self, size: DurationLike, step: DurationLike, origin: InstantLike = 0) -> None:
        _freeze(self, size=positive(size, "size"), step=positive(step, "step"), origin=instant_us(origin, "origin"))
        if self.size.us % self.step.us:
            rule = "size is a multiple of step"
            raise SpecError(f"size={self.size}, step={self.step}", rule, "give a step that divides size")


@dataclass(frozen=True, init=False)
class Session:
    """Windows of activity, per key: a row opens [t, t + gap), and windows that overlap are merged.

    Args:
        gap: silence that ends a session, above zero.
        touching: what becomes of two sessions where one ends exactly when the other starts:
            "separate" (S4, Beam) or "merge" (S1, Kafka, Flink, Spark).

    >>> Session("30 minutes")
    Session(gap=Duration('30 minutes'), touching='separate')

    Source: semantics 9; S1 session window, S4 SessionWindows.
    """

    kind: ClassVar[str] = "session"
    gap: Duration
    touching: Literal["separate", "merge"] = "separate"

    def __init__(self, gap: DurationLike, touching: Literal["separate", "merge"] = "separate") -> None:
        if touching not in ("separate", "merge"):
            raise SpecError(f"touching={touching!r}", "touching sessions are separate or merged", "give 'separate' or 'merge'")
        _freeze(self, gap=positive(gap, "gap"), touching=touching)


@dataclass(frozen=True)
class Global:
    """One window for each key, without start or end; complete at the end of input.

    >>> Global()
    Global()

    Source: semantics 11; S4 GlobalWindow.
    """

    kind: ClassVar[str] = "global"


Window: TypeAlias = Tumbling | Hopping | Cumulating | Session | Global
