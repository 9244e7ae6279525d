"""How far the rows that a window join emits may lie behind its watermark (semantics 40.4)."""

from typing import Final

from panewise.chrono import Duration
from panewise.spec import AnyWindow, Calendar, Cumulating, Hopping, JoinOperator, Tumbling
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.windows.kinds import LONGEST_DAYS
from panewise.spec.windows.size_in_rows import length

_DAY: Final = 86_400_000_000


def furthest_behind(spec: JoinOperator) -> int | None:
    """Returns how far `join_time` of an emitted row may lie behind the watermark (semantics 40.4).

    None: there is no bound, or lateness is unlimited.

    >>> from panewise import Side
    >>> match = SameWindow(Tumbling(10), allowed_lateness=3)
    >>> furthest_behind(JoinOperator(left=Side(), right=Side(prefix="r_"), match=match))
    3
    """
    match = spec.match
    assert isinstance(match, SameWindow)
    lateness = match.allowed_lateness
    if not isinstance(lateness, Duration):
        return None
    if spec.timestamp == "window":
        return lateness.us
    span = _longest(match.window)
    return None if span is None else lateness.us + span


def _longest(window: AnyWindow) -> int | None:
    """Returns the length of the longest window, None if there is none."""
    match window:
        case Tumbling() | Hopping() | Cumulating():
            return length(window.size)
        case Calendar():
            return window.n * LONGEST_DAYS[window.unit] * _DAY + 2 * _DAY  # a zone may skip or repeat a day
    return None
