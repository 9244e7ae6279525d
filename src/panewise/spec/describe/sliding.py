"""The text that describes sliding windows, for :func:`panewise.spec.describe.describe`."""

from panewise.spec.windows.measure import Rows
from panewise.spec.windows.sliding import Sliding


def membership(window: Sliding) -> str:
    """Returns a clause that says which windows exist, and which of them contain a row.

    >>> membership(Sliding("1 minute")).split("; ")[0]
    'a row at t makes the window from 1 minute before t to t, if it is not there yet'
    """
    if isinstance(window.size, Rows):
        return f"each row makes a window of the last {window.size} up to it"
    before, after = f"from {window.size} before t to t", f"from t to {window.size} after t"
    behind = f"from right after t to {window.size} after that if any row is in it"
    made = {
        "end": f"the window {before}, if it is not there yet",
        "start": f"the window {after}, if it is not there yet",
        "both": f"the window {before}, and the one {behind}, if they are not there yet",
    }
    return (
        f"a row at t makes {made[window.anchor]}; a row is in every window that holds its time, ends included"
    )
