"""Cogroups, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec.aggregates.aggregate import Aggregate, has_default_name, with_names
from panewise.spec.aggregates.types import check_aggregates, columns_of_booleans
from panewise.spec.aggregates.user_merge import MergeAggregate
from panewise.spec.codec.documents import documents
from panewise.spec.describe.cogroup import describe
from panewise.spec.families import windows
from panewise.spec.families.sides import driven_by_rows, one_shard, renamed_side
from panewise.spec.families.windows import silently_replaced
from panewise.spec.operators.cogroup.operator import CogroupOperator
from panewise.spec.operators.cogroup.windowing import window_operator
from panewise.spec.operators.join.checks import check_comparable, check_shared_columns
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Refusal, SpecParts, Types, carried_values
from panewise.spec.triggers.composite import walk
from panewise.spec.triggers.simple import OnPunctuation
from panewise.spec.type_checks import check_entry, check_triggers
from panewise.spec.windows.custom import Custom


def check_types(spec: CogroupOperator, types: Mapping[str, Types]) -> None:
    """Checks the columns of each side. Compared columns, and those that windows read, have one type."""
    for name, entry in spec.ports.items():
        check_entry(entry, types[name])
        check_aggregates(spec.aggregates_of(name), types[name])
        check_triggers(spec.trigger, types[name])
    for left, right in zip(spec.left.keys, spec.right.keys, strict=True):
        check_comparable(left, types["left"].get(left), right, types["right"].get(right))
    check_shared_columns(spec.shared_columns, types)


def boolean_columns(spec: CogroupOperator) -> set[str]:
    """Returns the columns of punctuations and of Boolean aggregates."""
    marks = {node.column for node in walk(spec.trigger) if isinstance(node, OnPunctuation)}
    return marks | columns_of_booleans((*spec.left_aggregates, *spec.right_aggregates))


def for_delays(spec: CogroupOperator, delays: Mapping[str, Duration | None]) -> CogroupOperator:
    """Returns the cogroup, in which the rows of each side drive its watermark (semantics 36.1)."""
    made: CogroupOperator = silently_replaced(spec, **driven_by_rows(spec, delays))
    return made


def renamed(
    spec: CogroupOperator, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> CogroupOperator:
    """Returns the cogroup with other names of the columns of a side. Names of panes stay, except of keys."""
    changes: dict[str, Any] = {
        port: renamed_side(spec.sides[port], names),
        f"{port}_aggregates": tuple(with_names(one, names) for one in spec.aggregates_of(port)),
        "both_aggregates": tuple(_renamed_both(one, port, names) for one in spec.both_aggregates),
    }
    made: CogroupOperator = silently_replaced(spec, **changes)
    return made


def _renamed_both(what: MergeAggregate, port: str, names: Mapping[str, str]) -> MergeAggregate:
    """Returns an aggregate over a column with another name, also in its default name."""
    own = what.of(port)
    changes: dict[str, Any] = {port: names.get(own, own)}
    if has_default_name(what.name) and own in names:
        changes["name"] = what.name.replace(own, names[own])
    return replace(what, **changes)


def with_position(spec: CogroupOperator, position: Position) -> CogroupOperator:
    """Returns the cogroup with a source position of both sides."""
    sides = {name: replace(side, position=position) for name, side in spec.sides.items()}
    made: CogroupOperator = silently_replaced(spec, **sides)
    return made


def calls_users(spec: CogroupOperator) -> bool:
    """Returns whether the cogroup has a custom window or a user-defined aggregate."""
    own = any(what.user is not None for side in spec.sides for what in spec.aggregates_of(side))
    return own or bool(spec.both_aggregates) or isinstance(spec.window, Custom)


def functions(spec: CogroupOperator, port: str) -> tuple[Aggregate, ...]:
    """Returns the aggregates over columns of a side."""
    return spec.aggregates_of(port)


def unchanged(spec: CogroupOperator, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """Returns the keys. A key of either side has the type of the left one."""
    return {name: (LEFT, name) for name in spec.keys}


def carried(spec: CogroupOperator, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
    """Returns the types of aggregates that return values of a side."""
    found: dict[str, Any] = {}
    for side in spec.sides:
        found |= carried_values(spec.aggregates_of(side), known[side], kinds)
    return found | {one.name: kinds.of_name(one.user.result) for one in spec.both_aggregates}


def instants(spec: CogroupOperator) -> tuple[str, ...]:
    """Returns the columns of panes that are instants."""
    return windows.instants(window_operator(spec))


def emits_again(spec: CogroupOperator) -> Refusal | None:
    """Returns why panes may be retracted or emitted again, None if they are not."""
    return windows.emits_again(window_operator(spec))


def output_time(spec: CogroupOperator) -> str | Refusal:
    """Returns the timestamp of panes."""
    return windows.output_time(window_operator(spec))


def timely_column(spec: CogroupOperator) -> str | None:
    """Returns the timestamp of panes, if there are no panes after the end of their window."""
    return windows.timely_column(window_operator(spec))


PARTS: Final = SpecParts(
    **documents(CogroupOperator, "right", "window"),
    describe=describe,
    check_types=check_types,
    boolean_columns=boolean_columns,
    for_delays=for_delays,
    renamed=renamed,
    with_position=with_position,
    one_shard=one_shard,
    calls_users=calls_users,
    functions=functions,
    unchanged=unchanged,
    carried=carried,
    instants=instants,
    emits_again=emits_again,
    output_time=output_time,
    timely_column=timely_column,
)
