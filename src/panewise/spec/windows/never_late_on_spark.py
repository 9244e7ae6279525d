"""Which windows have panes that Spark never takes for late (semantics 42.11).

Spark's watermark is in whole milliseconds. A pane is emitted when the watermark reaches the end of its
window, so the watermark before is below that end. It is also below the last instant of the window, which is
one microsecond earlier, if the end is a whole millisecond.
"""

from panewise.chrono import Duration
from panewise.spec.windows.kinds import AnyWindow, Calendar, Cumulating, Hopping, Session, Tumbling

_MILLISECOND = 1000


def ends_above(window: AnyWindow, timestamp: str | None) -> bool:
    """Returns whether the timestamp of a pane is above each watermark below the end of its window."""
    if on_milliseconds(window):
        return True
    half_open = isinstance(window, Session) and window.closed == "left"
    return timestamp == "end" and (half_open or isinstance(window, Tumbling | Hopping | Cumulating))


def on_milliseconds(window: AnyWindow) -> bool:
    """Returns whether all windows end at a whole millisecond.

    >>> on_milliseconds(Tumbling("1 minute")), on_milliseconds(Session("1 minute"))
    (True, False)
    """
    match window:
        case Calendar():
            return True
        case Tumbling():
            lengths = [window.size]
        case Hopping():
            lengths = [window.size, window.hop]
        case Cumulating():
            lengths = [window.size, window.step]
        case _:
            return False
    times = [window.origin, *(length.us for length in lengths if isinstance(length, Duration))]
    return len(times) > len(lengths) and not any(time % _MILLISECOND for time in times)
