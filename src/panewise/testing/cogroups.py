"""Hypothesis strategies of cogroups (semantics 43). Events for them are those of joins."""

from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

from hypothesis import strategies as st

from panewise.chrono import Duration
from panewise.spec import CogroupOperator, MergeAggregate, UserMergeAggregate
from panewise.spec.fields import silently
from panewise.spec.operators.cogroup.operator import FIELDS_OF_WINDOWS
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.testing.aggregates import aggregates
from panewise.testing.joins import two_sides, watermarks_of_sides
from panewise.testing.samples import USER_AGGREGATES
from panewise.testing.window_specs import KINDS, specs

__all__ = ["USERS", "cogroup_specs"]

IN_ORDER = UserMergeAggregate(
    "in_order",
    init=list,
    accumulate_left=lambda state, value: [*state, f"left {value}"],
    accumulate_right=lambda state, value: [*state, f"right {value}"],
    merge=lambda state, other: state + other,
    finish=lambda state: state,
    result="array<string>",
)
SURPLUS = UserMergeAggregate(
    "surplus",
    init=lambda: 0,
    accumulate_left=lambda state, value: state + (value is not None),
    accumulate_right=lambda state, value: state - (value is not None),
    merge=lambda state, other: state + other,
    finish=lambda state: None if state == 0 else state,
    result="bigint",
    commutative=True,
)
# The user-defined aggregates that the strategies draw from, by name.
USERS: Final[dict[str, Any]] = {**USER_AGGREGATES, "in_order": IN_ORDER, "surplus": SURPLUS}
# Fields of window operators that cogroups do not have.
_WITHOUT: Final[dict[str, Any]] = {
    "evictor": None,
    "delta": False,
    "time": "event",
    "watermark": None,
    "max_future_skew": None,
}


@st.composite
def cogroup_specs(draw: st.DrawFn, /, **fixed: Any) -> CogroupOperator:
    """Draws cogroups: all windows, triggers and aggregates; fields that are `fixed` are not drawn."""
    operator = draw(specs(draw(st.sampled_from(KINDS)), **_WITHOUT))
    fields: dict[str, Any] = {name: getattr(operator, name) for name in FIELDS_OF_WINDOWS}
    fields |= draw(watermarks_of_sides())
    fields |= draw(_contents())
    left, right = (
        replace(side, allowed_lateness=Duration(0)) for side in draw(two_sides(fields.pop("watermarks")))
    )
    with silently():
        return CogroupOperator(**{"left": left, "right": right, **fields, **fixed})


@st.composite
def _contents(draw: st.DrawFn, /) -> dict[str, Any]:
    """Draws aggregates of each side and of both, with different names."""
    kinds = draw(st.lists(st.sampled_from([LEFT, RIGHT, RIGHT, "both"]), min_size=1, max_size=4, unique=True))
    contents: dict[str, Any] = {
        f"{side}_aggregates": [
            aggregate.alias(f"{side} {aggregate.name}") for aggregate in draw(aggregates())
        ]
        for side in (LEFT, RIGHT)
        if side in kinds
    }
    if "both" in kinds:
        contents["both_aggregates"] = draw(
            st.lists(_of_both(), min_size=1, max_size=2, unique_by=attrgetter("name"))
        )
    return contents


def _of_both() -> st.SearchStrategy[MergeAggregate]:
    columns = st.sampled_from(["v", "n", "note"])
    return st.builds(
        lambda user, left, right: user(left, right), st.sampled_from([IN_ORDER, SURPLUS]), columns, columns
    )
