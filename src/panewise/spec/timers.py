"""How often the clock of an operator must be read."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from math import gcd
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.family_parts import parts
from panewise.spec.protocol import Specification, is_specification
from panewise.spec.watermarks import follows_clock
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import Calendar, Session
from panewise.spec.windows.traits import gap_columns

_OF_CALENDARS: Final = 15 * 60 * 1_000_000  # local dates start at multiples of it in all zones of today


def timer_interval(*specs: Specification) -> Duration | None:
    """Returns the largest interval at which the clock is read at every instant that operators wait for.

    It is the greatest common divisor of all lengths of processing time in the specifications: delays and
    periods of triggers and update policies, policies by time, times to live, and `idle_after`. With
    `time="processing"`, a `FixedLag`, or a StreamTime with `idle_after` the watermark follows the clock. So
    all lengths in that specification count, because any of them may be added to an event time: also windows,
    periods of event time, and how far RANGE frames of OVER look ahead. A calendar window counts as 15
    minutes.

    Instants count from the same origin as the readings, such as 1970-01-01 UTC. Delays may start when a row
    arrives, or at its event time. Their ends are hit if the arrivals or event times are multiples of the
    interval. A larger interval loses nothing: what is due is emitted at the next reading. So are rows of
    OVER, which wait until the watermark is above such an instant.

    Args:
        specs: one or more specifications of any kind, which one timer drives. Settings of retained windows
            are none: what waits for the clock there are the periods `early` and `late`.

    Returns:
        The interval, or None if nothing waits for a length of processing time.

    Raises:
        SpecError: if a value is no specification, and if the watermark follows the clock to the ends of
            windows whose lengths are not in the specification: custom windows, and sessions with a gap for
            each row.

    >>> from panewise import AfterProcessingTime, AfterWatermark, Every, Tumbling, WindowOperator
    >>> from panewise import functions as F
    >>> early = AfterWatermark(early=Every("90 seconds"), late=AfterProcessingTime("1 minute"))
    >>> timer_interval(WindowOperator(window=Tumbling("1 hour"), trigger=early, aggregates=[F.count()]))
    Duration('30 seconds')

    Source: Samza's `task.window.ms`, which is the divisor of all durations of triggers and joins.
    """
    lengths = [length for spec in specs for length in _lengths_of(spec)]
    return Duration(gcd(*lengths)) if any(lengths) else None


def _lengths_of(spec: Any) -> Iterator[int]:
    """Yields the lengths of processing time in a specification."""
    if not is_specification(spec):
        rule = "a timer drives operators, which specifications describe"
        raise SpecError(f"timer_interval of {spec!r}", rule, "give each specification as an argument")
    values = list(_inside(spec))
    by_clock = any(follows_clock(value) or getattr(value, "time", None) == "processing" for value in values)
    if not by_clock:
        for value in values:
            yield from _us(value, getattr(value, "_clock_fields", ()))  # a class states those of its values
        return
    yield from parts(spec).lengths_ahead(spec)
    for value in values:
        _check_bounded(value)
        if isinstance(value, Calendar):
            yield _OF_CALENDARS
        yield from _us(value, tuple(field.name for field in fields(value)))


def _inside(value: Any) -> Iterator[Any]:
    """Yields a value and everything that it contains, if they have fields."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _inside(item)
    if is_dataclass(value):
        yield value
        for field in fields(value):
            yield from _inside(getattr(value, field.name))


def _check_bounded(value: Any) -> None:
    """Refuses windows whose lengths depend on rows."""
    if isinstance(value, Custom) or (isinstance(value, Session) and gap_columns(value)):
        rule = "no interval can be computed for windows whose ends depend on rows"
        raise SpecError(f"timer_interval with window={value!r}", rule, "choose an interval")


def _us(value: Any, names: tuple[str, ...]) -> Iterator[int]:
    for name in names:
        length = getattr(value, name, None)
        if isinstance(length, Duration):
            yield length.us
        elif name == "origin" and isinstance(length, int):
            yield length
