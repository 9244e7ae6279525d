"""The windows that a row belongs to (semantics 5 to 9.9, 11)."""

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.oracle.windowing.calendars import calendar_window
from panewise.oracle.windowing.custom import given_windows
from panewise.spec import (
    AnyWindow,
    Calendar,
    Cumulating,
    Custom,
    Global,
    Hopping,
    Rows,
    Session,
    Sliding,
    Tumbling,
    closed_at_end,
    length,
    merging_at_touch,
)

Bounds: TypeAlias = tuple[int | None, int | None]  # both None: the global window


def windows_of(window: AnyWindow, t: int, values: Mapping[str, Any]) -> list[Bounds]:
    """Returns the windows that a row at `t` is assigned to, in the order of (start, end).

    In windows of rows, `t` is the number of the row. For windows that merge and for sliding windows it is
    only the window that the row itself makes. Bounds are half-open and may exceed 64 bits; see
    :func:`exists`. Calendar windows that do not exist are left out (semantics 6.5).

    >>> windows_of(Hopping(10, 5), -1, {})
    [(-10, 0), (-5, 5)]
    """
    match window:
        case Tumbling():
            start = last_start(t, length(window.size), window.origin)
            return [(start, start + length(window.size))]
        case Hopping():
            return hopping(window, t)
        case Cumulating():
            start = last_start(t, window.size.us, window.origin)
            lengths = range(window.step.us, window.size.us + 1, window.step.us)
            return [(start, start + grown) for grown in lengths if t < start + grown]
        case Calendar():
            dates = calendar_window(window, t)
            return [] if dates is None else [dates]
        case Session():
            return [(t, t + reach(window, values) + (1 if window.closed == "both" else 0))]
        case Sliding():
            return [own_sliding(window, t)]
        case Custom():
            return sorted({(start, end) for start, end in given_windows(window, t, values)})
        case Global():
            return [(None, None)]
        case _:
            assert_never(window)


def last_start(t: int, step: int, origin: int) -> int:
    """Returns the greatest origin + n*step that is not above `t`, also before 1970 because // rounds down."""
    return origin + (t - origin) // step * step


def hopping(window: Hopping, t: int) -> list[Bounds]:
    """Returns the hopping windows that contain `t`; none if it is in a gap (semantics 6.1, 8.2, 8.9).

    Looks back, hop by hop, from the last start at or before `t` while the window ends after `t`.
    """
    containing: list[Bounds] = []
    size, hop = length(window.size), length(window.hop)
    start = last_start(t, hop, window.origin)
    while t < start + size:
        if start >= 0 or not window.only_when_full:
            containing.append((start, start + size))
        start -= hop
    return containing[::-1]


def own_sliding(window: Sliding, t: int) -> Bounds:
    """Returns the window that a row makes for itself, half-open (semantics 7, 7.2; windows of rows: 8.8)."""
    size = window.size.n - 1 if isinstance(window.size, Rows) else window.size.us
    start = t if window.anchor == "start" else t - size
    return (start, start + size + 1)


def output_bounds(window: AnyWindow, bounds: Bounds) -> Bounds:
    """Returns the bounds as outputs show them (semantics 7.2).

    The end of a window that is closed at both ends is its last instant.
    """
    start, end = bounds
    return (start, end - 1) if end is not None and closed_at_end(window) else (start, end)


def stamp(window: AnyWindow, output_end: int | None) -> int | None:
    """Returns the last instant of a window, given its end in :func:`output_bounds` (semantics 22.1)."""
    return output_end if output_end is None or closed_at_end(window) else output_end - 1


def reach(window: Session, values: Mapping[str, Any]) -> int:
    """Returns the length of the window that a row opens in a session (semantics 9, 9.3, 9.5).

    With a gap of n rows this window contains the row's own number and the next n.
    """
    match window.gap:
        case str():
            gap: int = values[window.gap]
            return gap
        case Rows(n):
            return n + 1
    return window.gap.us


def exists(bounds: Bounds) -> bool:
    """Returns whether both bounds fit in 64 bits (semantics 6.3)."""
    return all(bound is None or MIN_INSTANT <= bound <= MAX_INSTANT for bound in bounds)


def finite(bounds: Bounds) -> tuple[int, int]:
    """Returns the bounds of a window that is not global."""
    start, end = bounds
    assert start is not None, bounds
    assert end is not None, bounds
    return start, end


def overlap(window: AnyWindow, first: Bounds, second: Bounds) -> bool:
    """Returns whether two windows of a key merge, because they overlap or touch (semantics 9, 9.4)."""
    (first_start, first_end), (second_start, second_end) = finite(first), finite(second)
    if merging_at_touch(window):
        return first_start <= second_end and second_start <= first_end
    return first_start < second_end and second_start < first_end
