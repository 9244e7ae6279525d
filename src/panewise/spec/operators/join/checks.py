"""Checks of what joins and cogroups have in common: two sides, with keys, watermarks and event times."""

from collections.abc import Iterable, Mapping
from typing import Any

from panewise.errors import SpecError
from panewise.spec.column_types import Type
from panewise.spec.fields import refuse_fields
from panewise.spec.operators.join.match_parts import match_parts
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.side_entry import TwoSided
from panewise.spec.watermarks import FixedLag, StreamTime

_NAME_IT = "name the event time of both sides"


def check_sides(spec: TwoSided) -> None:
    """Refuses sides of another type."""
    for name, side in spec.sides.items():
        value: Any = side
        if not isinstance(value, Side):
            rule = "each side is a panewise.Side"
            raise SpecError(f"{name}={value!r}", rule, "give one such as Side(keys=['id'])")


def check_keys(spec: TwoSided) -> None:
    """Refuses sides with different numbers of keys (semantics 28)."""
    left, right = (side.keys for side in spec.sides.values())
    if len(left) != len(right):
        rule = "both sides have as many keys, which are compared in their order"
        raise SpecError(f"keys {list(left)} and {list(right)}", rule, "name a right key for each left key")


def check_watermarks(spec: TwoSided) -> None:
    """Refuses watermarks of which one has no effect (semantics 36.2, 36.5)."""
    shared: Any = spec.watermark
    own = [name for name, side in spec.sides.items() if side.watermark is not None]
    if shared is not None:
        if not isinstance(shared, StreamTime) or shared.per != "all":
            rule = "the watermark of both sides is StreamTime(per='all')"
            raise SpecError(f"watermark={shared!r}", rule, "give it, or a watermark of each side")
        if own:
            rule = "either both sides share one watermark, or each side has its own"
            raise SpecError(f"watermark={shared!r}, and one of the {own[0]}", rule, "leave one of them out")
    for watermark in (shared, *(side.watermark for side in spec.sides.values())):
        if isinstance(watermark, StreamTime) and watermark.idle_after is not None:
            rule = "an operator with two sides has an idle_after of its own (semantics 36.5)"
            raise SpecError(f"{watermark!r}", rule, "leave idle_after out of the watermark")
    if spec.idle_after is None:
        return
    lagging = [name for name, side in spec.sides.items() if isinstance(side.watermark, FixedLag)]
    if shared is not None or lagging:
        rule = "idle_after is for sides whose watermarks come from outside or from their own rows"
        raise SpecError(f"idle_after={spec.idle_after}", rule, "leave idle_after out")


def check_lateness_of_windows(spec: TwoSided, where: str) -> None:
    """Refuses an allowed lateness of a side if windows have one. `where` is what takes it."""
    for name, side in spec.sides.items():
        if side.allowed_lateness.us:
            rule = "windows are made from the rows of both sides, so they have one allowed lateness"
            problem = f"allowed_lateness={side.allowed_lateness} on the {name}"
            raise SpecError(problem, rule, f"give it to {where}, and leave it out here")


def check_comparable(left: str, left_type: Type | None, right: str, right_type: Type | None) -> None:
    """Refuses columns that are compared and have different types. A type that is not known is None."""
    if left_type is None or right_type is None or left_type == right_type:
        return
    problem = f"keys {left}: {left_type} (left) and {right}: {right_type} (right)"
    raise SpecError(problem, "columns that are compared have one type (semantics 28)", "cast one of them")


def check_shared_columns(names: Iterable[str], types: Mapping[str, Mapping[str, Type]]) -> None:
    """Checks the columns that windows and triggers read: both sides have them, with one type."""
    for name in names:
        missing = [side for side, columns in types.items() if columns and name not in columns]
        if missing:
            rule = "the windows and the trigger of a join read the same columns of both sides"
            remedy = f"add the column {name!r} to the {missing[0]} side"
            raise SpecError(f"no column {name!r} on the {missing[0]} side", rule, remedy)
        check_comparable(name, types["left"].get(name), name, types["right"].get(name))


def has_event_times(*sides: Any) -> bool:
    """Returns whether rows of one of the sides have event times. What is no side counts as one that has."""
    return not all(isinstance(side, Side) and side.event_time is None for side in sides)


def check_event_times(spec: Any) -> None:
    """Refuses sides of a join without event times, if the match or something else needs them."""
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
    refused = {
        name: (getattr(spec, name) is not None, f"{name} needs event times (semantics 36.13)")
        for name in ("timestamp", "watermark", "idle_after")
    }
    refuse_fields(spec, refused, f"leave {{name}} out, or {_NAME_IT}", before="event_time=None, ")


def check_has_event_times(spec: Any, what: str) -> None:
    """Refuses sides without event times in an operator that needs them. `what` names it."""
    for name, side in spec.sides.items():
        if side.event_time is None:
            rule = f"{what} needs event times; only joins that match by arrival do without (semantics 36.13)"
            raise SpecError(f"event_time=None of the {name} side of {what}", rule, _NAME_IT)
