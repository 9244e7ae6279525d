"""The text that describes sliding windows, for :func:`panewise.spec.describe.describe`."""

from panewise.spec.windows.measure import Rows
from panewise.spec.windows.sliding import Sliding


def membership(window: Sliding) -> str:
    """Returns a clause that says which windows exist, and which of them contain a row.

    >>> membership(Sliding("1 minute")).split("; ")[0]
    'a row at t makes the window from 1 minute before t to t, if it does not exist yet'
    """
    if isinstance(window.size, Rows):
        return f"each row makes a window of the last {window.size}, itself included"
    before, after = f"from {window.size} before t to t", f"from t to {window.size} after t"
    behind = f"from directly after t to {window.size} after that if it contains any row"
    made = {
        "end": f"the window {before}, if it does not exist yet",
        "start": f"the window {after}, if it does not exist yet",
        "both": f"the window {before}, and the one {behind}, if they do not exist yet",
    }
    return (
        f"a row at t makes {made[window.anchor]}; a row belongs to every window that contains its time, "
        "start and end included"
    )
