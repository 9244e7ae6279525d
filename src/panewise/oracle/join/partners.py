"""Which rows are partners, and until when rows match in an interval (semantics 28, 37, 37.1, 38)."""

from panewise.oracle.columns import same_value
from panewise.oracle.conditions import matches
from panewise.oracle.join.applied import Applied
from panewise.oracle.rows import Row
from panewise.spec.conditions import Node
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.interval import Interval


def keys_are_equal(left: Row, right: Row) -> bool:
    """Returns whether the keys are equal; null equals nothing, and NaN equals NaN (semantics 28)."""
    pairs = zip(left.key, right.key, strict=True)
    return all(a is not None and b is not None and same_value(a, b) for a, b in pairs)


def has_null_key(row: Row) -> bool:
    """Returns whether a key of the row is null, so that it has no partner (semantics 28)."""
    return any(value is None for value in row.key)


def condition_is_true(condition: Node | None, left: Row, right: Row) -> bool:
    """Returns whether the condition is true; without one it is (semantics 38)."""
    return condition is None or matches(condition, left.values, right.values)


def are_partners(condition: Node | None, row: Applied, other: Applied) -> bool:
    """Returns whether rows of different sides have equal keys, and the condition is true of them."""
    left, right = (row.row, other.row) if row.side == LEFT else (other.row, row.row)
    return keys_are_equal(left, right) and condition_is_true(condition, left, right)


def in_interval(match: Interval, left: Row, right: Row) -> bool:
    """Returns whether the difference of the event times is in the interval (semantics 37).

    >>> from panewise.spec.operators.join.interval import Interval
    >>> rows = [Row({}, time, (), {}) for time in (10, 8, 9)]
    >>> [in_interval(Interval(-2, 5, "right"), rows[0], row) for row in rows[1:]]
    [False, True]
    """
    apart = right.time - left.time
    if match.lower is not None:
        includes_lower = match.closed in ("both", "left")
        if apart < match.lower.us or (apart == match.lower.us and not includes_lower):
            return False
    if match.upper is not None:
        includes_upper = match.closed in ("both", "right")
        if apart > match.upper.us or (apart == match.upper.us and not includes_upper):
            return False
    return True


def reach(match: Interval, side: str) -> int | None:
    """Returns how far the last match of a row of this side is after the row; negative if it is before it.

    None if there is no last match.
    """
    bound = match.upper if side == LEFT else match.lower
    if bound is None:
        return None
    if side == LEFT:
        return bound.us - (match.closed not in ("both", "right"))
    return -bound.us - (match.closed not in ("both", "left"))
