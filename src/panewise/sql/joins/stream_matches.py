"""The match of a join of tables with windows of CQL, or with update policies (semantics 46.24, 46.25)."""

from typing import Any

from panewise.chrono import Duration
from panewise.spec import Every, Interval, JoinWindow, LastRows, Tumbling, WindowedStreams, rows
from panewise.spec.windows.size_in_rows import MOST_ROWS
from panewise.sql.parsing.syntax import CqlWindow, Join, NamedTable


def stream_windows(join: Join) -> tuple[CqlWindow | None, CqlWindow | None] | None:
    """Returns the windows of CQL of both sides, None if neither has one."""
    left, right = (side.window if isinstance(side, NamedTable) else None for side in (join.left, join.right))
    return None if left is None and right is None else (left, right)


def stream_match(left: CqlWindow | None, right: CqlWindow | None) -> Interval | LastRows | WindowedStreams:
    """Returns the match of two windows: of rows that are in the windows of their tables at one time."""
    kinds = {_kind(window) for window in (left, right)}
    if "rows" not in kinds:
        return _interval(left, right)
    if "range" in kinds:
        return WindowedStreams(_join_window(left), _join_window(right))
    return LastRows(_count(right), left=_count(left))


def updated_match(kind: str, length: Any, period: Duration | None, *, late: bool) -> WindowedStreams:
    """Returns the match of `JOIN t OVER (...)` whose rows are released by an update policy.

    Args:
        kind: "rows" or "range".
        length: the number of rows, or the duration.
        period: the period of processing time, None to release each row with its batch.
        late: whether late rows are released by the period, too.
    """
    early: Any = "each" if period is None else Every(period, aligned=True)
    window: Any = rows(int(length)) if kind == "rows" else Tumbling(length)
    after: Any = early if kind == "range" and late else None
    return WindowedStreams(JoinWindow(early=early), JoinWindow(window, early=early, late=after))


def _kind(window: CqlWindow | None) -> str:
    return "unbounded" if window is None else window.kind


def _interval(left: CqlWindow | None, right: CqlWindow | None) -> Interval:
    """Returns the match of windows of time: a row is in its window from its event time on, for the length."""
    lower, upper = _length(right), _length(left)
    retained = "unlimited" if lower is None or upper is None else None
    return Interval(None if lower is None else Duration(-lower.us), upper, retain_for=retained)


def _length(window: CqlWindow | None) -> Duration | None:
    if window is None or window.kind == "unbounded":
        return None
    return Duration(0) if window.kind == "now" else Duration(window.length.us)


def _count(window: CqlWindow | None) -> int:
    if window is None or window.kind == "unbounded":
        return MOST_ROWS
    return 0 if window.kind == "now" else int(window.length)


def _join_window(window: CqlWindow | None) -> JoinWindow:
    if window is None or window.kind == "unbounded":
        return JoinWindow()
    return JoinWindow(rows(window.length) if window.kind == "rows" else Tumbling(window.length))
