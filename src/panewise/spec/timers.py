"""How often the clock of an operator must be read."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from math import gcd
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec.operators.join.match import Latest
from panewise.spec.operators.policy.policies import PartitionAge, TimePolicy
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.protocol import Specification
from panewise.spec.triggers.simple import AfterProcessingTime, Every

# The values of a specification that wait for processing time, and their fields of type Duration.
_WAITING: Final[dict[type, tuple[str, ...]]] = {
    AfterProcessingTime: ("delay", "align"),
    Every: ("period", "offset"),
    TimePolicy: ("duration",),
    PartitionAge: ("duration",),
    Latest: ("ttl",),
}
_OF_WINDOWS: Final = ("size", "hop", "gap", "step", "origin", "max_length")  # lengths and offsets of windows


def timer_interval(*specs: Specification) -> Duration | None:
    """Returns the largest interval at which reading the clock meets every instant that operators wait for.

    It is the greatest common divisor of all lengths of processing time in the specifications: delays and
    periods of triggers and update policies, policies by time, times to live, `idle_after`, and windows of
    processing time. Instants count from the same origin as the readings, such as 1970-01-01 UTC. For delays
    that start when a row arrives, this holds if rows arrive at readings. A larger interval loses nothing:
    what is due is emitted at the next reading.

    Args:
        specs: one or more specifications of any kind, which one timer drives.

    Returns:
        The interval, or None if nothing waits for processing time.

    >>> from panewise import AfterWatermark, Every, Tumbling, WindowOperator, functions as F
    >>> early = AfterWatermark(early=Every("90 seconds"), late=AfterProcessingTime("1 minute"))
    >>> timer_interval(WindowOperator(window=Tumbling("1 hour"), trigger=early, aggregates=[F.count()]))
    Duration('30 seconds')

    Source: Samza's `task.window.ms`, which is the divisor of all durations of triggers and joins.
    """
    lengths = [length for spec in specs for length in _lengths(spec)]
    return Duration(gcd(*lengths)) if any(lengths) else None


def _lengths(value: Any) -> Iterator[int]:
    """Yields the lengths of processing time in a value and in everything that it contains."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _lengths(item)
    if not is_dataclass(value):
        return
    if isinstance(value, WindowOperator) and value.time == "processing":
        yield from _us(value.window, _OF_WINDOWS)
    yield from _us(value, (*_WAITING.get(type(value), ()), "idle_after"))
    for field in fields(value):
        yield from _lengths(getattr(value, field.name))


def _us(value: Any, names: tuple[str, ...]) -> Iterator[int]:
    for name in names:
        length = getattr(value, name, None)
        if isinstance(length, Duration):
            yield length.us
        elif name == "origin" and isinstance(length, int):
            yield length
