"""What follows from the kind of a window: which columns it reads, whether windows merge or count rows."""

from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import AnyWindow, Hopping, Session, Tumbling
from panewise.spec.windows.size_in_rows import Rows
from panewise.spec.windows.sliding import Sliding


def columns_of_window(window: AnyWindow | None) -> tuple[str, ...]:
    """Returns the columns, besides the event time, that determine the windows of a row.

    >>> columns_of_window(Session("timeout"))
    ('timeout',)
    """
    return window.columns if isinstance(window, Custom) else gap_columns(window)


def gap_columns(window: AnyWindow | None) -> tuple[str, ...]:
    """Returns the column of the gaps of a session, as a tuple; empty if rows have no gaps of their own.

    >>> gap_columns(Session("timeout")), gap_columns(Session("5 minutes"))
    (('timeout',), ())
    """
    return (window.gap,) if isinstance(window, Session) and isinstance(window.gap, str) else ()


def merging(window: AnyWindow | None) -> bool:
    """Returns whether windows of a key that overlap are merged.

    >>> merging(Session(10)), merging(Tumbling(10))
    (True, False)
    """
    return isinstance(window, Session) or (isinstance(window, Custom) and window.merge is not False)


def closed_at_end(window: AnyWindow) -> bool:
    """Returns whether a window contains its end, so that panes show its last instant (semantics 7.2, 9.9).

    >>> closed_at_end(Sliding(10)), closed_at_end(Session(10, closed="both")), closed_at_end(Tumbling(10))
    (True, True, False)
    """
    closed_session = isinstance(window, Session) and window.closed == "both"
    return closed_session or (isinstance(window, Sliding) and not isinstance(window.size, Rows))


def merging_at_touch(window: AnyWindow) -> bool:
    """Returns whether windows of a key are also merged if one ends where the other starts.

    >>> merging_at_touch(Session(10))
    False
    """
    return (isinstance(window, Session) and window.touching == "merge") or (
        isinstance(window, Custom) and window.merge == "touching"
    )


def counted_by_key(window: object) -> bool:
    """Returns whether windows are measured in rows of their key (semantics 8).

    >>> from panewise import rows
    >>> counted_by_key(Tumbling(rows(3))), counted_by_key(Session(rows(3))), counted_by_key(Tumbling(3))
    (True, False, False)
    """
    return isinstance(window, Tumbling | Hopping | Sliding) and isinstance(window.size, Rows)


def counted(window: object) -> bool:
    """Returns whether windows are measured in rows: of their key or, for sessions, of all (semantics 8, 9.5).

    >>> from panewise import rows
    >>> counted(Tumbling(rows(3))), counted(Session(rows(3))), counted(Tumbling(3))
    (True, True, False)
    """
    return counted_by_key(window) or (isinstance(window, Session) and isinstance(window.gap, Rows))
