"""Instants at which off-by-one mistakes show: on the bounds of windows, and one off."""

from collections.abc import Iterable
from typing import Final

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.spec import AfterEventTime, AfterProcessingTime, Cumulating, Every, Global, Hopping, Session, Tumbling, WindowOperator
from panewise.spec.composites import walk

EXTREMES: Final = (MIN_INSTANT, MIN_INSTANT + 1, MIN_INSTANT + 8, MAX_INSTANT - 8, MAX_INSTANT - 1, MAX_INSTANT, MAX_INSTANT)
_TURNS: Final = range(-2, 3)  # windows on both sides of 1970
_NEAR: Final = (0, -1, 1)


def bounds(spec: WindowOperator) -> list[int]:
    """Starts and ends of windows around 1970; for sessions and the global window, which have none of their own, some instants.

    >>> from panewise import functions as F
    >>> bounds(WindowOperator(window=Tumbling(10), aggregates=[F.count()]))
    [0, 10, -10, 20, -20, 30]
    """
    match spec.window:
        case Tumbling(size=size, origin=origin):
            found = [(origin + n * size.us, origin + (n + 1) * size.us) for n in _TURNS]
        case Hopping(size=size, hop=hop, origin=origin):
            found = [(origin + n * hop.us, origin + n * hop.us + size.us) for n in _TURNS]
        case Cumulating(size=size, step=step, origin=origin):
            steps = range(step.us, size.us + 1, step.us)
            found = [(origin + n * size.us, origin + n * size.us + length) for n in _TURNS for length in steps]
        case Session() | Global():
            found = [(n * 3, n * 3) for n in _TURNS]
    return _simplest_first(bound for pair in found for bound in pair)


def times(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Event times worth a row: the bounds and their neighbours; for sessions also where one seen before would touch or overlap."""
    reach = [spec.window.gap.us] if isinstance(spec.window, Session) else []
    near = [bound + off for bound in bounds(spec) for off in _NEAR]
    meeting = [t + sign * gap + off for t in seen for gap in reach for sign in (1, -1) for off in _NEAR]
    return _simplest_first([*near, *meeting])


def watermarks(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Watermarks worth a move: where a window of the rows seen completes or expires, where a row falls behind, and one off."""
    instants = [*bounds(spec), *seen, *_ends(spec, seen), *_marks(spec, seen)]
    return _simplest_first(instant + length + off for instant in instants for length in (0, spec.lateness_us or 0) for off in _NEAR)


def expiries(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Of those, the ones at which a window of the rows seen completes or expires; 0 if there is none."""
    ends = _ends(spec, seen) or [0]
    return _simplest_first(end + length + off for end in ends for length in (0, spec.lateness_us or 0) for off in _NEAR)


def _ends(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """An end of a window of each row seen, as far as there are bounds beyond it."""
    if isinstance(spec.window, Session):
        return [t + spec.window.gap.us for t in seen]
    beyond = ([bound for bound in bounds(spec) if bound > t] for t in seen)
    return [min(later) for later in beyond if later]


def clocks(spec: WindowOperator, now: int, firsts: Iterable[int]) -> list[int]:
    """Clock readings worth a move: at a deadline of the trigger (from now, and from readings before), one off, and back."""
    found = [now + d for period in periods(spec) for start in (now, *firsts) for d in (start - now + period + off for off in _NEAR)]
    return [*found, now + 1, now + 7, now, now - 1]


def periods(spec: WindowOperator) -> list[int]:
    """The periods and delays of processing time, in microseconds, in the trigger."""
    found = []
    for node in walk(spec.trigger):
        if isinstance(node, Every):
            found.append(node.period.us)
        elif isinstance(node, AfterProcessingTime):
            found.append(node.delay.us)
    return found


def _marks(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """The watermarks that every AfterEventTime in the trigger waits for after the rows seen."""
    periods_ = [node.period.us for node in walk(spec.trigger) if isinstance(node, AfterEventTime)]
    return [(t // period + 1) * period for t in seen for period in periods_]


def _simplest_first(instants: Iterable[int]) -> list[int]:
    """Each once and inside 64 bits; those near to 0 first, as Hypothesis shrinks towards the first."""
    return sorted({t for t in instants if MIN_INSTANT <= t <= MAX_INSTANT}, key=lambda t: (abs(t), t < 0))
