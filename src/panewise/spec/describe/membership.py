"""Says which rows sliding windows and windows of rows contain (semantics 8, 9.5)."""

from panewise.spec.operators.windows import WindowOperator
from panewise.spec.windows.kinds import AnyWindow, Hopping, Session, Tumbling
from panewise.spec.windows.size_in_rows import Rows
from panewise.spec.windows.sliding import Sliding


def of_windows_of_rows(window: AnyWindow) -> str | None:
    """Returns in words which rows a window of rows contains; None for windows of time.

    >>> of_windows_of_rows(Tumbling(Rows(3)))
    'each row belongs to one window of 3 rows; windows start at row 0 and every 3 rows from there, in both
    directions'
    """
    match window:
        case Tumbling(size=Rows() as size):
            starts = f"{_starts(window.origin, size)}, in both directions"
            return f"each row belongs to one window of {size}; {starts}"
        case Hopping(hop=Rows() as hop):
            full = "; no window starts before row 0" if window.only_when_full else ", in both directions"
            return in_hops(window, "number", f"{_starts(window.origin, hop)}{full}")
        case Session(gap=Rows() as gap):
            return (
                f"a window ends when {gap} of other keys {'has' if gap.n == 1 else 'have'} "
                "arrived since its last row"
            )
    return None


def _starts(origin: int, every: Rows) -> str:
    return f"windows start at row {origin} and every {every} from there"


def in_hops(window: Hopping, place: str, starts: str) -> str:
    """Returns in words which hopping windows contain a row, by its `place`: its time or its number."""
    every = f"a row belongs to every window that contains its {place}"
    which = "rows in a gap between windows belong to none" if window.gaps else every
    return f"windows of {window.size}; {which}; {starts}"


def progress_in_rows(spec: WindowOperator) -> str:
    """Returns the line about the watermark, which is a number of rows received."""
    whose = " of all keys" if isinstance(spec.window, Session) else " of each key" if spec.keys else ""
    return f"Watermark: the number of rows received{whose}."


def of_sliding_windows(window: Sliding) -> str:
    """Returns a clause that says which windows exist, and which of them contain a row.

    >>> of_sliding_windows(Sliding("1 minute")).split("; ")[0]
    'a row at t makes the window from 1 minute before t to t, if it does not exist yet'
    """
    if isinstance(window.size, Rows):
        return f"each row makes a window of the last {window.size}, itself included"
    before, after = f"from {window.size} before t to t", f"from t to {window.size} after t"
    behind = f"from directly after t to {window.size} after that if it contains any row"
    makes = {
        "end": f"the window {before}, if it does not exist yet",
        "start": f"the window {after}, if it does not exist yet",
        "both": f"the window {before}, and the one {behind}, if they do not exist yet",
    }
    return (
        f"a row at t makes {makes[window.anchor]}; a row belongs to every window that contains its time, "
        "start and end included"
    )
