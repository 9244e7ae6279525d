"""Where the watermark comes from, if not from outside (semantics 12.4 and following). Values only."""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError


@dataclass(frozen=True, init=False)
class FixedLag:
    """The watermark follows processing time at a fixed distance, whatever event times come.

    A watermark from outside counts too: the larger one wins.

    Args:
        lag: how far behind processing time, 0 or more.

    >>> FixedLag("10 seconds")
    FixedLag(lag=Duration('10 seconds'))

    Source: semantics 12.4; S4 setFixedWatermark, FixedDiffProcessingTimeWatermarkGen.
    """

    kind: ClassVar[str] = "fixed_lag"
    lag: Duration

    def __init__(self, lag: DurationLike) -> None:
        object.__setattr__(self, "lag", _length(lag, "lag"))


Watermark: TypeAlias = FixedLag


def _length(value: DurationLike, name: str) -> Duration:
    length = Duration.of(value, name)
    if length.us < 0:
        raise SpecError(f"{name}={value!r}", f"{name} is not negative", "give 0 or more")
    return length
