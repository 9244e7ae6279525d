"""Joins, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.codec.join import complete, from_dict, reads, to_dict
from panewise.spec.conditions import check_condition
from panewise.spec.conditions import renamed as renamed_condition
from panewise.spec.describe.join import describe
from panewise.spec.families.sides import (
    check_comparable,
    check_shared_columns,
    driven_by_rows,
    one_shard,
    renamed_side,
)
from panewise.spec.operators.join.columns import BOUNDS, EITHER, JOIN_TIME, LEFT, RIGHT, Selected
from panewise.spec.operators.join.event_times import by_arrival
from panewise.spec.operators.join.match import AsOf, Interval, LastRows, Latest, Match, RowWindow
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.spec.operators.policy.policies import DeltaPolicy, TimePolicy
from panewise.spec.position import Position
from panewise.spec.protocol import Error, SpecParts, Types, lag_on_batch
from panewise.spec.rules.timely import on_milliseconds
from panewise.spec.type_checks import check_delta, check_entry
from panewise.spec.windows.custom import Custom


def check_types(spec: JoinOperator, types: Mapping[str, Types]) -> None:
    """Checks the columns of each side: their types, and that emitted columns have different names.

    Compared columns have one type.
    """
    for name, entry in spec.ports.items():
        check_entry(entry, types[name])
    for left, right in zip(spec.left.keys, spec.right.keys, strict=True):
        check_comparable(left, types["left"].get(left), right, types["right"].get(right))
    if isinstance(spec.match, SameWindow):
        check_shared_columns(spec.match.columns_read, types)
    for name, window in _windows(spec.match).items():
        if isinstance(window, DeltaPolicy) and window.column in types[name]:
            check_delta(window, types[name][window.column])
    if spec.condition is not None:
        check_condition(spec.condition, types["left"], types["right"])
    spec.selected(types)


def _windows(match: Match) -> Mapping[str, RowWindow | None]:
    """Returns the windows of rows by side."""
    return match.windows if isinstance(match, LastRows) else {}


def batch_error(spec: JoinOperator) -> Error | None:
    """Refuses a watermark, a window and a match that follow the clock."""
    if isinstance(spec.match, Latest):
        rule = "the rows of a batch DataFrame arrive together, so none is newer than another (semantics 37.7)"
        return f"{spec.match!r} on a batch DataFrame", rule, "use AsOf, or read a stream"
    if isinstance(spec.match, WindowedStreams):
        period = next((one for window in spec.match.windows.values() for one in window.periods), None)
        if period is not None:
            rule = "a batch DataFrame is processed at one time, so no period passes (semantics 37.16)"
            return f"{period!r} on a batch DataFrame", rule, "use 'each', or read a stream"
    timed = next((one for one in _windows(spec.match).values() if isinstance(one, TimePolicy)), None)
    if timed is not None:
        rule = "a batch DataFrame is processed at one time, so no processing time passes (semantics 37.5)"
        given = f"time('{timed.duration}') on a batch DataFrame"
        return given, rule, "use delta over a timestamp, or read a stream"
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
    match = _renamed_match(spec.match, port, names)
    changes: dict[str, Any] = {port: side, "select": select, "condition": condition, "match": match}
    return replace(spec, **changes)


def _renamed_match(match: Match, port: str, names: Mapping[str, str]) -> Match:
    """Returns the match with other names of the columns of a side."""
    if isinstance(match, Latest):
        columns = match.deletes_by_side
        if columns[port] is not None:
            columns[port] = names.get(str(columns[port]), columns[port])
        return replace(match, deletes=(columns["left"], columns["right"]))
    if not isinstance(match, LastRows):
        return match
    window = match.windows[port]
    if not isinstance(window, DeltaPolicy):
        return match
    changed: dict[str, Any] = {port: replace(window, column=names.get(window.column, window.column))}
    return replace(match, **changed)


def with_position(spec: JoinOperator, position: Position) -> JoinOperator:
    """Returns the join with a source position of both sides."""
    return replace(
        spec, left=replace(spec.left, position=position), right=replace(spec.right, position=position)
    )


def calls_users(spec: JoinOperator) -> bool:
    """Returns whether the windows of the join are custom ones."""
    return isinstance(spec.match, SameWindow) and isinstance(spec.match.window, Custom)


def unchanged(spec: JoinOperator, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """Returns all selected columns. A key of either side has the type of the left one."""
    found = spec.selected(columns)
    return {one.name: (LEFT if one.side == EITHER else one.side, one.column) for one in found}


def instants(spec: JoinOperator) -> tuple[str, ...]:
    """Returns the event time of emitted rows, and the bounds of their window."""
    return tuple(name for name in spec.added_columns if name in (JOIN_TIME, *BOUNDS))


def emits_again(spec: JoinOperator) -> Error | None:
    """Refuses what makes the join retract rows, or emit them again."""
    if spec.emits_again is None:
        return None
    given = f"{spec.emits_again} before a second operator"
    return given, "it takes rows that are emitted once, and are not retracted", "leave it out"


def output_time(spec: JoinOperator) -> str | Error:
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
    if isinstance(spec.match, SameWindow):
        in_windows = spec.timestamp == "window" and spec.match.allowed_lateness == Duration(0)
        return JOIN_TIME if in_windows and on_milliseconds(spec.match.window) else None
    if isinstance(spec.match, Interval) and spec.match.late == "join":
        return None
    at_arrival = isinstance(spec.match, Interval) or by_arrival(spec.match)
    return JOIN_TIME if at_arrival and spec.how == "inner" and spec.timestamp == "later" else None


def static_port(spec: JoinOperator) -> str | None:
    """Returns the right side of an as-of join (semantics 36.8)."""
    return RIGHT if isinstance(spec.match, AsOf) else None


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
    reads=reads,
    to_dict=to_dict,
    from_dict=from_dict,
    complete=complete,
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
