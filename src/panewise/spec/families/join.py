"""Joins, as :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.conditions import check_condition, columns_of_side
from panewise.spec.families.input_changes import SIDE_CHANGES, of_side
from panewise.spec.families.two_sides import SideParts, check_types_of_sides
from panewise.spec.family_parts import emitted_again
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, SIDES, Selected, side_of
from panewise.spec.operators.join.match_parts import OF_ONE_MATCH, match_parts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.panes import BOUNDS
from panewise.spec.protocol import Columns, Origins, Refusal, Types

_NOT_STATIC: Final = ("watermark", "allowed_lateness", "position", "max_future_skew")


def _select(old: JoinOperator, new: JoinOperator) -> str | None:
    """Refuses columns of the condition that were not emitted before: not all tables have their values."""
    if new.condition is None or old.select is None:
        return None
    for side in new.sides:
        stored = {*new.sides[side].keys, *_selected(old.select, side)}
        lacking = set(columns_of_side(new.condition, side)) - stored
        if lacking if new.select is None else lacking & set(_selected(new.select, side)):
            return "a column of the condition that was not emitted before is not added (semantics 47.16)"
    return None


def _match(old: JoinOperator, new: JoinOperator) -> str | None:
    if old.match.kind != new.match.kind:
        return OF_ONE_MATCH
    return match_parts(new.match).refuses_change(old, new)


def _selected(select: tuple[Selected, ...], side: str) -> list[str]:
    mine = (side, EITHER) if side == LEFT else (side,)
    return [column.column for column in select if column.side in mine]


class _JoinParts(SideParts[JoinOperator]):
    kind, own_fields = JoinOperator, ("match",)
    changeable = MappingProxyType(
        {
            **SIDE_CHANGES,
            **{side: of_side(side, ("allowed_lateness", "prefix")) for side in SIDES},
            "select": _select,
            "match": _match,
        }
    )

    def check_types(self, spec: JoinOperator, types: Mapping[str, Types]) -> None:
        """Checks the columns of each side, and that emitted columns have different names."""
        check_types_of_sides(spec, types)
        match_parts(spec.match).check_types(spec.match, types)
        if spec.condition is not None:
            check_condition(spec.condition, types["left"], types["right"])
        spec.selected(types)

    def batch_error(self, spec: JoinOperator) -> Refusal | None:
        """Refuses a watermark, a window and a match that follow the clock."""
        return match_parts(spec.match).batch_error(spec.match) or super().batch_error(spec)

    def calls_users(self, spec: JoinOperator) -> bool:
        """Returns whether the windows of the join are custom ones."""
        return match_parts(spec.match).calls_users(spec.match)

    def unchanged(self, spec: JoinOperator, columns: Columns) -> Origins:
        """Returns all selected columns. A key of either side has the type of the left one."""
        return {
            selected.name: (side_of(selected.side), selected.column) for selected in spec.selected(columns)
        }

    def instants(self, spec: JoinOperator) -> tuple[str, ...]:
        """Returns the event time of emitted rows, and the bounds of their window."""
        return tuple(name for name in spec.added_columns if name in (JOIN_TIME, *BOUNDS))

    def allowed_lateness(self, spec: JoinOperator, port: str) -> Duration | Literal["unlimited"]:
        """Returns that of the side. Rows of windows have that of the match instead."""
        own = spec.sides[port].allowed_lateness
        return own if own.us else match_parts(spec.match).allowed_lateness(spec.match)

    def emits_again(self, spec: JoinOperator) -> Refusal | None:
        """Refuses what makes the join retract rows, or emit them again."""
        return None if spec.emits_again is None else emitted_again(spec.emits_again, "leave it out")

    def has_op(self, spec: JoinOperator) -> bool:
        """Returns True: emitted rows have it."""
        return True

    def output_time(self, spec: JoinOperator) -> str | Refusal:
        """Returns the event time of emitted rows."""
        if spec.has_event_times:
            return JOIN_TIME
        rule = "rows without an event time have no watermark that a second operator could follow"
        problem = "a join with event_time=None before a second operator"
        return problem, rule, "name the event time of both sides"

    def timely_column(self, spec: JoinOperator) -> str | None:
        """Returns the event time of emitted rows, if a row is emitted when its later row arrives.

        Or, of windows, when the window is complete.
        """
        if any(side.allowed_lateness.us for side in spec.sides.values()):
            return None
        return JOIN_TIME if match_parts(spec.match).is_timely(spec, spec.match) else None

    def static_port(self, spec: JoinOperator) -> str | None:
        """Returns the side that may be static, if the match has one (semantics 36.8)."""
        return match_parts(spec.match).static_side

    def check_static(self, spec: JoinOperator) -> None:
        """Refuses fields that have no effect, because the input of the right side ends at once."""
        of_side = [name for name in _NOT_STATIC if getattr(spec.right, name) not in (None, Duration(0))]
        of_both = [name for name in ("watermark", "idle_after") if getattr(spec, name) is not None]
        if of_side or of_both:
            problem = f"{of_both[0]} with a static right side" if of_both else ""
            problem = f"{of_side[0]} of a static right side" if of_side else problem
            rule = (
                "the rows of a static side arrive before all others, and then its input ends (semantics 36.8)"
            )
            raise SpecError(problem, rule, "leave it out, or give it to the left side")


PARTS: Final = _JoinParts()
