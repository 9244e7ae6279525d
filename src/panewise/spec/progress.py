"""Where the watermark comes from, if not from outside (semantics 12.4 and following). Values only."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.windows import positive


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


@dataclass(frozen=True, init=False)
class Inputs:
    """The watermark is the least of those of several inputs; one that has been silent for long does not hold it back.

    Each input tells its own: `{"op": "watermark", "to": t, "input": "orders"}`. On Spark, union streams that have a `withWatermark` each.

    Args:
        names: two inputs or more.
        idle_after: an input that has told no watermark for this long, in processing time, is left out until it tells one. Default: never.

    >>> Inputs(["orders", "payments"], idle_after="1 minute")
    Inputs(names=('orders', 'payments'), idle_after=Duration('1 minute'))

    Source: semantics 12.5, 12.6; S4 WindowedMergeOperator, Flink withIdleness.
    """

    kind: ClassVar[str] = "inputs"
    names: tuple[str, ...]
    idle_after: Duration | None

    def __init__(self, names: Iterable[str], idle_after: DurationLike | None = None) -> None:
        given = names if isinstance(names, str) else tuple(names)
        if isinstance(given, str) or len(set(given)) < max(2, len(given)) or not all(isinstance(name, str) and name for name in given):
            raise SpecError(f"names={names!r}", "inputs are two or more, with different names", "give a list: Inputs(['a', 'b'])")
        object.__setattr__(self, "names", given)
        object.__setattr__(self, "idle_after", None if idle_after is None else positive(idle_after, "idle_after"))


Watermark: TypeAlias = FixedLag | Inputs


def _length(value: DurationLike, name: str) -> Duration:
    length = Duration.of(value, name)
    if length.us < 0:
        raise SpecError(f"{name}={value!r}", f"{name} is not negative", "give 0 or more")
    return length
