"""Counts the windows of a row, and words the warning for rows in too many of them (semantics 6.9)."""

from typing import Any, Final

from panewise.spec.windows.kinds import Cumulating, Hopping
from panewise.spec.windows.size_in_rows import length

MANY_WINDOWS: Final = 1000


def windows_of_a_row(window: Any) -> int:
    """Returns the maximum number of windows that contain one row.

    For window types other than Hopping and Cumulating it returns 1: their rows are in one window, or in a
    number of windows that depends on the data.

    >>> windows_of_a_row(Hopping("1 day", "1 hour")), windows_of_a_row(Cumulating("1 day", step="1 minute"))
    (24, 1440)
    """
    match window:
        case Hopping():
            return -(-length(window.size) // length(window.hop))
        case Cumulating():
            return window.size.us // window.step.us
    return 1


def too_many(window: Any) -> tuple[str, str, str] | None:
    """Returns the warning as (what was given, rule, remedy), or None if a row is in at most 1,000 windows."""
    count = windows_of_a_row(window)
    if count <= MANY_WINDOWS:
        return None
    rule = f"each row is in up to {count:,} windows, and each of these is stored and evaluated for each key"
    step = "step" if isinstance(window, Cumulating) else "hop"
    return f"{window!r}", rule, f"give a {step} of at least a thousandth of the size, or use Sliding"
