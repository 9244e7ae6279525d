"""Describes windows of rows in words (semantics 8, 9.5)."""

from panewise.spec.operators.windows import WindowOperator
from panewise.spec.windows.kinds import AnyWindow, Hopping, Session, Tumbling
from panewise.spec.windows.measure import Rows


def membership(window: AnyWindow) -> str | None:
    """Returns in words which rows a window of rows contains; None for windows of time.

    >>> membership(Tumbling(Rows(3)))
    'each row is in one window of 3 rows; windows start at row 0 and every 3 rows from there, backwards too'
    """
    match window:
        case Tumbling(size=Rows() as size):
            return f"each row is in one window of {size}; {_starts(window.origin, size)}, backwards too"
        case Hopping(size=Rows() as size, hop=Rows() as hop):
            which = (
                "rows between two windows are in none"
                if window.gaps
                else "a row is in every window that holds its number"
            )
            full = (
                "; those that start before row 0 do not exist" if window.only_when_full else ", backwards too"
            )
            return f"windows of {size}, {which}; {_starts(window.origin, hop)}{full}"
        case Session(gap=Rows() as gap):
            return (
                f"a window ends when {gap} of other keys {'has' if gap.n == 1 else 'have'} come "
                "since its last row"
            )
    return None


def _starts(origin: int, every: Rows) -> str:
    return f"windows start at row {origin} and every {every} from there"


def progress(spec: WindowOperator) -> str:
    """Returns the line about the watermark, which is a number of rows received."""
    whose = (
        " of all keys" if isinstance(spec.window, Session) else ", of each key its own" if spec.keys else ""
    )
    return f"Watermark: the number of rows that have come{whose}."
