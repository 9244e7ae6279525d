"""Chains of a window operator and stages, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.codec.documents import documents
from panewise.spec.codec.forms import has_stages
from panewise.spec.describe.chain import describe
from panewise.spec.families import windows
from panewise.spec.operators.chain import Chain
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Refusal, SpecParts, Types, carried_values
from panewise.spec.type_checks import boolean_columns_of_windows, check_stages, check_window_types


def check_types(spec: Chain, types: Mapping[str, Types]) -> None:
    """Checks the types of columns, and those of the columns of panes that stages read."""
    check_window_types(spec.first, types[INPUT])
    check_stages(spec, types[INPUT])


def boolean_columns(spec: Chain) -> set[str]:
    """Returns the Boolean columns of the window operator."""
    return boolean_columns_of_windows(spec.first)


def renamed(spec: Chain, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None) -> Chain:
    """Returns the chain with other names of columns."""
    return replace(spec, first=windows.renamed(spec.first, port, names, all_columns))


def with_position(spec: Chain, position: Position) -> Chain:
    """Returns the chain with a source position."""
    return replace(spec, first=windows.with_position(spec.first, position))


def shard_keys(spec: Chain, port: str) -> tuple[str, ...]:
    """Returns the keys that all stages have: panes that differ in one of them never meet."""
    return spec.shared_keys


def one_shard(spec: Chain) -> tuple[str, str] | None:
    """Returns why the rows or panes of all keys meet, if they do."""
    if spec.shared_keys:
        return windows.one_shard(spec.first)
    rule = "a chain without a key that all stages keep has one shard (semantics 30.11)"
    return rule, "leave shards out, or keep a key of the operator in all stages"


def calls_users(spec: Chain) -> bool:
    """Returns whether the operator or a stage has functions of the user."""
    users = (what.user for stage in spec.stages for what in stage.aggregates)
    return windows.calls_users(spec.first) or any(user is not None for user in users)


def functions(spec: Chain, port: str) -> tuple[Aggregate, ...]:
    """Returns the aggregates of the window operator."""
    return spec.first.aggregates


def unchanged(spec: Chain, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """Returns the keys that all stages have."""
    return {name: (INPUT, name) for name in spec.shared_keys}


def carried(spec: Chain, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
    """Returns the types of the last stage's aggregates and keys that return input values."""
    found = {name: known[INPUT][name] for name in spec.first.keys if name in known[INPUT]}
    found |= carried_values(spec.first.aggregates, known[INPUT], kinds)
    for stage in spec.stages:
        keys = {name: kind for name, kind in found.items() if name in stage.keys}
        found = keys | carried_values(stage.aggregates, found, kinds)
    return found


def instants(spec: Chain) -> tuple[str, ...]:
    """Returns the columns of panes that are instants."""
    return windows.instants(spec.first)


def emits_again(spec: Chain) -> Refusal | None:
    """Returns why panes may be retracted or emitted again, None if they are not."""
    return windows.emits_again(spec.first)


def output_time(spec: Chain) -> str | Refusal:
    """Returns the timestamp of panes."""
    return windows.output_time(spec.first)


def timely_column(spec: Chain) -> str | None:
    """Returns the timestamp of panes, if there are no panes after the end of their window."""
    return windows.timely_column(spec.first)


PARTS: Final = SpecParts(
    **{**documents(Chain), "reads": has_stages},
    describe=describe,
    check_types=check_types,
    boolean_columns=boolean_columns,
    renamed=renamed,
    with_position=with_position,
    shard_keys=shard_keys,
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
