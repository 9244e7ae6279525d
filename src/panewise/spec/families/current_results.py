"""Which windows have current results that a store can contain (semantics 31.16)."""

from typing import Final

from panewise.chrono import Duration, saturating_add
from panewise.spec.family_parts import ResultWindows
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.protocol import Refusal
from panewise.spec.windows.kinds import LONGEST_DAYS, AnyWindow, Calendar, Hopping, Session, Tumbling
from panewise.spec.windows.sliding import Sliding
from panewise.spec.windows.traits import counted

_WINDOWS: Final = (Tumbling, Hopping, Sliding, Calendar, Session)
_DAY: Final = 86_400_000_000
_CLOCK_CHANGE: Final = 3_600_000_000  # a window with the end of summer time is longer by an hour
NEEDS_WINDOWS: Final = (
    "materialize needs a WindowOperator with Tumbling, Hopping, Sliding, Calendar or Session windows"
)


def result_windows(spec: WindowOperator) -> ResultWindows | Refusal:
    """Returns the windows of an operator, or why a store cannot have their current results."""
    window, kind = spec.window, type(spec.window).__name__
    if counted(window):
        rule = "windows of rows start at row numbers of each key, and a store has one time for all keys"
        return f"{kind} of rows", rule, "use windows of time"
    if not isinstance(window, _WINDOWS):
        return f"{kind} windows", NEEDS_WINDOWS, "use one of these"
    if spec.accumulation == "discarding":
        rule = "a current result is that of all rows of a window, and firings discard these"
        return "accumulation='discarding'", rule, "use 'accumulating'"
    if spec.evictor is not None:
        rule = "a current result is that of all rows of a window, and an evictor removes some when it fires"
        return f"{spec.evictor!r}", rule, "leave one of them out"
    if spec.max_windows is not None:
        rule = "a store keeps the current results of windows until they expire (semantics 15.27)"
        return f"max_windows={spec.max_windows!r}", rule, "leave one of them out"
    size = None if isinstance(window, (Calendar, Session)) else _longest(window)
    lateness = spec.lateness_us
    live = None if lateness is None else saturating_add(_longest(window), lateness)
    names = tuple(aggregate.name for aggregate in spec.aggregates)
    return ResultWindows(kind, spec.keys, names, isinstance(window, Session), size, live)


def _longest(window: AnyWindow) -> int:
    """Returns the size of the longest window, or the gap of sessions, in microseconds; 0 for gaps of rows."""
    match window:
        case Calendar():
            return saturating_add(window.n * LONGEST_DAYS[window.unit] * _DAY, _CLOCK_CHANGE)
        case Session(gap=length) | Tumbling(size=length) | Hopping(size=length) | Sliding(size=length):
            return length.us if isinstance(length, Duration) else 0
    return 0
