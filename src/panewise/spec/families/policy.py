"""Policy windows, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate, with_names
from panewise.spec.codec.documents import documents
from panewise.spec.describe.policy import describe
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.protocol import Carried, Refusal, SpecParts, Types, carried_values
from panewise.spec.type_checks import boolean_columns_of_policies, check_policy_types


def check_names(spec: StreamWindow, names: Mapping[str, str]) -> None:
    """Refuses other names of columns that a listener would see."""
    if spec.listener is None:
        return
    seen = (*spec.partition_by, *(names if spec.columns is None else spec.columns), *more_names(spec))
    refused = [name for name in seen if name in names]
    if refused:
        rule = "inside the operator a name that begins with '__' is another one, which a listener would see"
        remedy = "give columns=[...] without it, or rename it"
        raise SpecError(f"listener={spec.listener!r} with {refused[0]!r}", rule, remedy)


def more_names(spec: StreamWindow) -> tuple[str, ...]:
    """Returns the names of a listener's outputs."""
    return () if spec.listener is None else tuple(name for name, _ in spec.listener.outputs)


def check_types(spec: StreamWindow, types: Mapping[str, Types]) -> None:
    """Checks the types of the columns of policies and aggregates."""
    check_policy_types(spec, types[INPUT])


def boolean_columns(spec: StreamWindow) -> set[str]:
    """Returns the columns of markers and of Boolean aggregates."""
    return boolean_columns_of_policies(spec)


def batch_error(spec: StreamWindow) -> Refusal | None:
    """Refuses policies that wait for processing time to pass."""
    if spec.timed is None:
        return None
    rule = "a batch DataFrame is processed at one time, so no processing time passes (semantics 10.25)"
    return f"{spec.timed} on a batch DataFrame", rule, "use delta over a timestamp, or read a stream"


def renamed(
    spec: StreamWindow, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> StreamWindow:
    """Returns the windows with other names of columns."""
    keys = tuple(names.get(name, name) for name in spec.partition_by)
    return replace(spec, partition_by=keys, aggregates=tuple(with_names(a, names) for a in spec.aggregates))


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


def carried(spec: StreamWindow, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
    """Returns the types of aggregates that return input values, and of the tuples of an event."""
    found = carried_values(spec.aggregates, known[INPUT], kinds)
    if not spec.aggregates and spec.listener is None:
        found["tuples"] = kinds.rows_of(spec.columns or tuple(known[INPUT]))
    return found


def instants(spec: StreamWindow) -> tuple[str, ...]:
    """Returns the column of the processing time."""
    return ("processing_time",)


def output_time(spec: StreamWindow) -> Refusal:
    """Refuses it."""
    return (
        "the events of policy windows before a second operator",
        "events have no event time, and no watermark that an operator could follow",
        "use windows of rows or of processing time",
    )


PARTS: Final = SpecParts(
    **documents(StreamWindow, "stream_window"),
    describe=describe,
    check_types=check_types,
    check_names=check_names,
    boolean_columns=boolean_columns,
    batch_error=batch_error,
    renamed=renamed,
    one_shard=one_shard,
    calls_users=calls_users,
    functions=functions,
    carried=carried,
    instants=instants,
    output_time=output_time,
    more_names=more_names,
)
