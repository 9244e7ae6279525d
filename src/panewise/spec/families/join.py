"""Joins, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.codec.documents import documents
from panewise.spec.conditions import check_condition
from panewise.spec.conditions import renamed as renamed_condition
from panewise.spec.describe.join import describe
from panewise.spec.families.sides import driven_by_rows, one_shard, renamed_side
from panewise.spec.operators.join.checks import check_comparable
from panewise.spec.operators.join.columns import BOUNDS, EITHER, JOIN_TIME, LEFT, Selected
from panewise.spec.operators.join.match_parts import match_parts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.position import Position
from panewise.spec.protocol import Refusal, SpecParts, Types, lag_on_batch
from panewise.spec.type_checks import check_entry


def check_types(spec: JoinOperator, types: Mapping[str, Types]) -> None:
    """Checks the columns of each side: their types, and that emitted columns have different names.

    Compared columns have one type.
    """
    for name, entry in spec.ports.items():
        check_entry(entry, types[name])
    for left, right in zip(spec.left.keys, spec.right.keys, strict=True):
        check_comparable(left, types["left"].get(left), right, types["right"].get(right))
    match_parts(spec.match).check_types(spec.match, types)
    if spec.condition is not None:
        check_condition(spec.condition, types["left"], types["right"])
    spec.selected(types)


def batch_error(spec: JoinOperator) -> Refusal | None:
    """Refuses a watermark, a window and a match that follow the clock."""
    error = match_parts(spec.match).batch_error(spec.match)
    if error is not None:
        return error
    errors = (lag_on_batch(side.watermark) for side in spec.sides.values())
    return next((error for error in errors if error is not None), None)


def for_delays(spec: JoinOperator, delays: Mapping[str, Duration | None]) -> JoinOperator:
    """Returns the join, in which the rows of each side drive its watermark if it has one (36.1, 36.13)."""
    return replace(spec, **driven_by_rows(spec, delays))


def renamed(
    spec: JoinOperator, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> JoinOperator:
    """Returns the join with other names of the columns of a side. Emitted names stay."""
    side = renamed_side(spec.sides[port], names)
    select = spec.select
    if select is not None:
        mine = (port, EITHER) if port == LEFT else (port,)
        select = tuple(
            Selected(one.side, names.get(one.column, one.column), one.name) if one.side in mine else one
            for one in select
        )
    condition = spec.condition
    if condition is not None:
        condition = renamed_condition(condition, port, names)
    match = match_parts(spec.match).renamed(spec.match, port, names)
    changes: dict[str, Any] = {port: side, "select": select, "condition": condition, "match": match}
    return replace(spec, **changes)


def with_position(spec: JoinOperator, position: Position) -> JoinOperator:
    """Returns the join with a source position of both sides."""
    return replace(
        spec, left=replace(spec.left, position=position), right=replace(spec.right, position=position)
    )


def calls_users(spec: JoinOperator) -> bool:
    """Returns whether the windows of the join are custom ones."""
    return match_parts(spec.match).calls_users(spec.match)


def unchanged(spec: JoinOperator, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """Returns all selected columns. A key of either side has the type of the left one."""
    found = spec.selected(columns)
    return {one.name: (LEFT if one.side == EITHER else one.side, one.column) for one in found}


def instants(spec: JoinOperator) -> tuple[str, ...]:
    """Returns the event time of emitted rows, and the bounds of their window."""
    return tuple(name for name in spec.added_columns if name in (JOIN_TIME, *BOUNDS))


def emits_again(spec: JoinOperator) -> Refusal | None:
    """Refuses what makes the join retract rows, or emit them again."""
    if spec.emits_again is None:
        return None
    given = f"{spec.emits_again} before a second operator"
    return given, "it takes rows that are emitted once, and are not retracted", "leave it out"


def output_time(spec: JoinOperator) -> str | Refusal:
    """Returns the event time of emitted rows."""
    if spec.has_event_times:
        return JOIN_TIME
    rule = "rows without an event time have no watermark that a second operator could follow"
    given = "a join with event_time=None before a second operator"
    return given, rule, "name the event time of both sides"


def timely_column(spec: JoinOperator) -> str | None:
    """Returns the event time of emitted rows, if a row is emitted when its later row arrives.

    Or, of windows, when the window is complete.
    """
    if any(side.allowed_lateness.us for side in spec.sides.values()):
        return None
    return JOIN_TIME if match_parts(spec.match).is_timely(spec) else None


def static_port(spec: JoinOperator) -> str | None:
    """Returns the side that may be static, if the match has one (semantics 36.8)."""
    return match_parts(spec.match).static_side


def check_static(spec: JoinOperator) -> None:
    """Refuses fields that have no effect, because the input of the right side ends at once."""
    side = spec.right
    given = {
        "watermark": side.watermark,
        "allowed_lateness": side.allowed_lateness.us or None,
        "position": side.position,
        "max_future_skew": side.max_future_skew,
    }
    set_ones = [name for name, value in given.items() if value is not None]
    of_both = [name for name in ("watermark", "idle_after") if getattr(spec, name) is not None]
    if set_ones or of_both:
        field = (
            f"{set_ones[0]} of a static right side" if set_ones else f"{of_both[0]} with a static right side"
        )
        rule = "its rows arrive before all others, and then its input ends (semantics 36.8)"
        raise SpecError(field, rule, "leave it out, or give it to the left side")


PARTS: Final = SpecParts(
    **documents(JoinOperator, "match"),
    describe=describe,
    check_types=check_types,
    batch_error=batch_error,
    for_delays=for_delays,
    renamed=renamed,
    with_position=with_position,
    one_shard=one_shard,
    static_port=static_port,
    check_static=check_static,
    calls_users=calls_users,
    unchanged=unchanged,
    instants=instants,
    emits_again=emits_again,
    output_time=output_time,
    timely_column=timely_column,
)
