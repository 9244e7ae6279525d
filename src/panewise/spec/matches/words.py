"""Words that the descriptions of several matches have in common."""

from panewise.chrono import Duration
from panewise.spec.operators.join.side import Side


def passed(us: int, other: Side) -> str:
    """Returns how far after a row the watermark of the other side is when it has passed `us` after the row.

    >>> passed(0, Side()), passed(-5, Side())
    ('after', 'less than 5 microseconds before')
    """
    beyond = us + other.allowed_lateness.us
    if beyond == 0:
        return "after"
    if beyond > 0:
        return f"more than {Duration(beyond)} after"
    return f"less than {Duration(-beyond)} before"
