"""Triggers: when a window sends a pane (semantics 16). Values only."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.windows import positive


@dataclass(frozen=True)
class AfterCount:
    """Fires when at least `n` rows are pending. At the top level once, then the window is closed; inside AfterWatermark repeatedly.

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
class Every:
    """Fires `period` of processing time after the window's last firing (at first: after its first row), if rows are pending.

    >>> Every("10 seconds")
    Every(period=Duration('10 seconds'))

    Source: semantics 16.3; S4 withEarlyFiringsAtEvery(duration).
    """

    kind: ClassVar[str] = "every"
    period: Duration

    def __init__(self, period: DurationLike) -> None:
        object.__setattr__(self, "period", positive(period, "period"))


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


Repeating: TypeAlias = AfterCount | Every | Always | Never


@dataclass(frozen=True)
class AfterWatermark:
    """Fires when the watermark reaches the window's end; before that as `early` says, after it as `late` says.

    Args:
        early: AfterCount, Every, Always, Never or None (as Never), repeated until the watermark reaches the end.
        late: the same, repeated until the window expires. None closes the window at its end.

    >>> AfterWatermark(early=Every("1 minute"), late=Always())
    AfterWatermark(early=Every(period=Duration('1 minute')), late=Always())

    Source: semantics 16.4; Beam AfterWatermark, S4 AtWatermark.
    """

    kind: ClassVar[str] = "after_watermark"
    early: Repeating | None = None
    late: Repeating | None = None

    def __post_init__(self) -> None:
        for name in ("early", "late"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Repeating):
                rule = f"{name} is AfterCount, Every, Always, Never or None"
                raise SpecError(f"{name}={value!r}", rule, f"give one of these, such as {name}=Always()")


Trigger: TypeAlias = AfterWatermark | Repeating
DEFAULT_TRIGGER = AfterWatermark(late=Always())
