"""The windows of a join as a window operator of the rows of both sides (semantics 37.11).

The operator decides which rows are late, and when windows merge, fire and expire. A row has its place among
all rows of the join as its number.
"""

import warnings
from typing import Final

from panewise.chrono import Duration
from panewise.errors import SpecWarning
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.windows.kinds import AnyWindow, Calendar, Cumulating, Hopping, Tumbling
from panewise.spec.windows.measure import length

_DAY: Final = 86_400_000_000
_DAYS: Final = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
# The columns of the rows: the event time, and the place among all rows.
ROW_TIME: Final = "row:time"
ROW_NUMBER: Final = "row:number"


def row_key(place: int) -> str:
    """Returns the name of a key column of the rows, by its place among the keys of the join."""
    return f"row:key:{place}"


def window_operator(spec: JoinOperator, aggregate: Aggregate) -> WindowOperator:
    """Returns the window operator of a join with `SameWindow`.

    Its panes have the value of `aggregate` for the rows so far. A pane is retracted when the next one of its
    window is emitted, or when the window merges. A window emits a last pane when it expires.

    Args:
        spec: the join.
        aggregate: what a pane contains, an aggregate of `ROW_NUMBER`.
    """
    match = spec.match
    assert isinstance(match, SameWindow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # the join has warned when it was built
        return WindowOperator(
            window=match.window,
            trigger=match.trigger,
            accumulation="retracting",
            allowed_lateness=match.allowed_lateness,
            drop_by=match.drop_by,
            aggregates=[aggregate],
            keys=[row_key(place) for place in range(len(spec.keys))],
            event_time=ROW_TIME,
            order=[ROW_NUMBER],
            closing="always",
        )


def furthest_behind(spec: JoinOperator) -> int | None:
    """Returns how far `join_time` of an emitted row may lie behind the watermark (semantics 40.4).

    None: there is no bound, or lateness is unlimited.


    >>> from panewise.spec.operators.join.side import Side
    >>> from panewise.spec.windows.kinds import Tumbling
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
            return window.n * _DAYS[window.unit] * _DAY + 2 * _DAY  # a zone may skip or repeat a day
    return None
