"""How many windows a row is in, and the warning where that is many (semantics 6.9)."""

from typing import Any, Final

from panewise.spec.measures import length
from panewise.spec.windows import Cumulating, Hopping

MANY_WINDOWS: Final = 1000


def windows_of_a_row(window: Any) -> int:
    """The most windows that one row is in; 1 for windows whose number is not known before the rows are.

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
    """The three parts of the warning; None where there is nothing to warn of."""
    count = windows_of_a_row(window)
    if count <= MANY_WINDOWS:
        return None
    rule = f"each row is in up to {count:,} windows, and each of these is stored and evaluated for each key"
    step = "step" if isinstance(window, Cumulating) else "hop"
    return f"{window!r}", rule, f"give a {step} of at least a thousandth of the size, or use Sliding"
