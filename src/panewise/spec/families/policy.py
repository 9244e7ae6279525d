"""Policy windows, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from panewise.chrono import Duration
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate, with_names
from panewise.spec.codec.policy import complete, from_dict, reads, to_dict
from panewise.spec.describe.policy import describe
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Error, Types, carried_values
from panewise.spec.type_checks import boolean_columns_of_policies, check_policy_types

__all__ = ["complete", "describe", "from_dict", "reads", "to_dict"]


def check_types(spec: StreamWindow, types: Mapping[str, Types]) -> None:
    """Checks the types of the columns of policies and aggregates."""
    check_policy_types(spec, types[INPUT])


def boolean_columns(spec: StreamWindow) -> set[str]:
    """Returns the columns of markers and of Boolean aggregates."""
    return boolean_columns_of_policies(spec)


def batch_error(spec: StreamWindow) -> Error | None:
    """Refuses policies that wait for processing time to pass."""
    if spec.timed is None:
        return None
    rule = "a batch DataFrame is processed at one time, so no processing time passes (semantics 10.25)"
    return f"{spec.timed} on a batch DataFrame", rule, "use delta over a timestamp, or read a stream"


def for_columns(spec: StreamWindow, columns: Mapping[str, set[str]]) -> StreamWindow:
    """Returns the windows, which have no event time."""
    return spec


def for_delays(spec: StreamWindow, delays: Mapping[str, Duration | None]) -> StreamWindow:
    """Returns the specification: the watermark of a single input is that of the query."""
    return spec


def renamed(
    spec: StreamWindow, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> StreamWindow:
    """Returns the windows with other names of columns."""
    keys = tuple(names.get(name, name) for name in spec.partition_by)
    return replace(spec, partition_by=keys, aggregates=tuple(with_names(a, names) for a in spec.aggregates))


def with_position(spec: StreamWindow, position: Position) -> StreamWindow:
    """Returns the windows with a source position."""
    return replace(spec, position=position)


def shard_keys(spec: StreamWindow, port: str) -> tuple[str, ...]:
    """Returns the columns of a partition."""
    return spec.partition_by


def one_shard(spec: StreamWindow) -> tuple[str, str] | None:
    """Returns which policy concerns all partitions, if one does."""
    if spec.one_place is None:
        return None
    rule = f"{spec.one_place}: one shard has all partitions (semantics 10.25)"
    return rule, "leave shards out"


def calls_users(spec: StreamWindow) -> bool:
    """Returns whether there is a listener or a user-defined aggregate."""
    return spec.listener is not None or any(what.user is not None for what in spec.aggregates)


def functions(spec: StreamWindow, port: str) -> tuple[Aggregate, ...]:
    """Returns the aggregates."""
    return spec.aggregates


def unchanged(spec: StreamWindow, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """Returns the columns of a partition."""
    return {name: (INPUT, name) for name in spec.partition_by}


def carried(spec: StreamWindow, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
    """Returns the types of aggregates that return input values, and of the tuples of an event."""
    found = carried_values(spec.aggregates, known[INPUT], kinds)
    if not spec.aggregates and spec.listener is None:
        found["tuples"] = kinds.rows_of(spec.columns or tuple(known[INPUT]))
    return found


def instants(spec: StreamWindow) -> tuple[str, ...]:
    """Returns the column of the processing time."""
    return ("processing_time",)


def emits_again(spec: StreamWindow) -> None:
    """Returns None: each event is emitted once."""


def output_time(spec: StreamWindow) -> Error:
    """Refuses it."""
    return (
        "the events of policy windows before a second operator",
        "events have no event time, and no watermark that an operator could follow",
        "use windows of rows or of processing time",
    )


def timely_column(spec: StreamWindow) -> None:
    """Returns None: events have no event time."""
    return


def new_columns(spec: StreamWindow) -> tuple[str, ...]:
    """Returns nothing: events have columns of their own."""
    return ()


def passed_on(spec: StreamWindow) -> bool:
    """Returns False: events do not have the columns of rows."""
    return False
