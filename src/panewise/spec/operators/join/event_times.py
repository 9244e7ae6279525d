"""Joins of rows that have no event times (semantics 36.13)."""

from typing import TYPE_CHECKING, Any

from panewise.errors import SpecError
from panewise.spec.operators.join.match_parts import match_parts

if TYPE_CHECKING:
    from panewise.spec.operators.join.operator import JoinOperator

_NAME_IT = "name the event time of both sides"


def has_event_times(*sides: Any) -> bool:
    """Returns whether rows of one of the sides have event times. What is no side counts as one that has."""
    return any(getattr(side, "event_time", "") is not None for side in sides)


def check_event_times(spec: "JoinOperator") -> None:
    """Refuses sides without event times, if something needs them.

    Raises:
        SpecError: if only one side has none, the match is not by arrival, or a field of the join needs them.
    """
    without = [name for name, side in spec.sides.items() if side.event_time is None]
    if not without:
        return
    if len(without) == 1:
        rule = "both sides of a join have event times, or neither has (semantics 36.13)"
        remedy = "name the event time, or give event_time=None on both sides"
        raise SpecError(f"event_time=None of the {without[0]} only", rule, remedy)
    if not match_parts(spec.match).by_arrival(spec.match):
        rule = "only Latest, and LastRows by arrival, match without event times (semantics 36.13)"
        remedy = (
            "use one of these; or add a column with the time of arrival, such as current_timestamp(), "
            "and watermark=FixedLag(0)"
        )
        raise SpecError(f"event_time=None, {spec.match!r}", rule, remedy)
    for name in ("timestamp", "watermark", "idle_after"):
        if getattr(spec, name) is not None:
            rule = f"{name} needs event times (semantics 36.13)"
            given = f"event_time=None, {name}={getattr(spec, name)!r}"
            raise SpecError(given, rule, f"leave {name} out, or {_NAME_IT}")


def check_has_event_times(spec: Any, what: str) -> None:
    """Refuses sides without event times in an operator that needs them. `what` names it.

    Raises:
        SpecError: for such a side.
    """
    for name, side in spec.sides.items():
        if side.event_time is None:
            rule = f"{what} needs event times; only joins that match by arrival do without (semantics 36.13)"
            raise SpecError(f"event_time=None of the {name} side of {what}", rule, _NAME_IT)
