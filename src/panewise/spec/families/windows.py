"""Window operators, as :class:`panewise.spec.protocol.SpecParts`."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.errors import SpecWarning
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate, with_names
from panewise.spec.codec.documents import documents
from panewise.spec.describe.windows import describe
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Refusal, SpecParts, Types, carried_values
from panewise.spec.rules.row_numbering import with_event_time
from panewise.spec.rules.timely import ends_above
from panewise.spec.type_checks import boolean_columns_of_windows, check_window_types
from panewise.spec.watermarks import has_key_watermarks, row_driven
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import counted, merging


def check_types(spec: WindowOperator, types: Mapping[str, Types]) -> None:
    """Checks the types of columns (semantics 24.19)."""
    check_window_types(spec, types[INPUT])


def boolean_columns(spec: WindowOperator) -> set[str]:
    """Returns the columns of punctuations and of Boolean aggregates."""
    return boolean_columns_of_windows(spec)


def for_columns(spec: WindowOperator, columns: Mapping[str, set[str]]) -> WindowOperator:
    """Returns the operator, with the default event time if the input has that column (semantics 8.5)."""
    return with_event_time(spec, columns[INPUT])


def renamed(
    spec: WindowOperator, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> WindowOperator:
    """Returns the operator with other names of columns."""
    changes: dict[str, Any] = {
        "keys": tuple(names.get(name, name) for name in spec.keys),
        "aggregates": tuple(with_names(what, names) for what in spec.aggregates),
    }
    if not spec.accumulation_given:
        changes["accumulation"] = None  # a chain may still choose its own default
    if all_columns is not None and spec.delta is True:
        changes["delta"] = all_columns
    made: WindowOperator = silently_replaced(spec, **changes)
    return made


def with_position(spec: WindowOperator, position: Position) -> WindowOperator:
    """Returns the operator with a source position."""
    made: WindowOperator = silently_replaced(spec, position=position)
    return made


def silently_replaced(spec: Any, **changes: Any) -> Any:
    """Returns a specification with other fields. It warned when it was first built."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return replace(spec, **changes)


def one_shard(spec: WindowOperator) -> tuple[str, str] | None:
    """Returns why the rows of all keys meet, if they do."""
    if row_driven(spec.watermark) is not None and spec.evaluate == "record":
        rule = (
            "with evaluate='record' each row moves the watermark for the next row of any "
            "key, so there is one shard (semantics 12.9)"
        )
        return rule, "leave shards out, or use evaluate='batch'"
    if counted(spec.window) and merging(spec.window):
        rule = "a session of rows counts the rows of all keys, so there is one shard (semantics 9.7)"
        return rule, "leave shards out, or use a session with a gap of time"
    return None


def calls_users(spec: WindowOperator) -> bool:
    """Returns whether the operator has a custom window or a user-defined aggregate."""
    return isinstance(spec.window, Custom) or any(what.user is not None for what in spec.aggregates)


def functions(spec: WindowOperator, port: str) -> tuple[Aggregate, ...]:
    """Returns the aggregates."""
    return spec.aggregates


def carried(spec: WindowOperator, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
    """Returns the types of aggregates that return input values, and of the delta."""
    found = carried_values(spec.aggregates, known[INPUT], kinds)
    if spec.delta is not False:
        found["delta"] = kinds.rows_of(tuple(known[INPUT]) if spec.delta is True else spec.delta)
    return found


def instants(spec: WindowOperator) -> tuple[str, ...]:
    """Returns the columns of panes that are instants. Bounds of windows of rows are row numbers."""
    bounds = () if counted(spec.window) else ("window_start", "window_end")
    stamps = ("timestamp",) if spec.timestamp in ("end", "window_time") else ()
    return (*bounds, *stamps, "processing_time")


def emits_again(spec: WindowOperator) -> Refusal | None:
    """Returns why panes may be retracted or emitted again, None if they are not."""
    if spec.accumulation != "retracting":
        return None
    given, rule = f"accumulation={spec.accumulation!r}", "a second operator takes no retractions"
    return f"{given} before a second operator", rule, "use another accumulation, or result.then(...)"


def output_time(spec: WindowOperator) -> str | Refusal:
    """Returns the timestamp of panes."""
    if has_key_watermarks(spec.watermark) or counted(spec.window):
        rule = "the panes have no watermark of all keys that a second operator could follow"
        return "windows of rows, or StreamTime of each key, before a second operator", rule, "write the panes"
    if spec.timestamp not in ("end", "window_time"):
        rule = "the event time of panes is their timestamp, 'window_time' or 'end' (semantics 42.5)"
        return f"timestamp={spec.timestamp!r} before a second operator", rule, "set timestamp='window_time'"
    return "timestamp"


def timely_column(spec: WindowOperator) -> str | None:
    """Returns the timestamp of panes, if there are no panes after the end of their window."""
    found, in_time = output_time(spec), spec.lateness_us == 0 and ends_above(spec.window, spec.timestamp)
    return found if in_time and isinstance(found, str) else None


def itself(spec: WindowOperator) -> WindowOperator:
    """Returns the operator."""
    return spec


PARTS: Final = SpecParts(
    **documents(WindowOperator),
    describe=describe,
    check_types=check_types,
    boolean_columns=boolean_columns,
    for_columns=for_columns,
    renamed=renamed,
    with_position=with_position,
    one_shard=one_shard,
    calls_users=calls_users,
    functions=functions,
    deferrable=itself,
    carried=carried,
    instants=instants,
    emits_again=emits_again,
    output_time=output_time,
    timely_column=timely_column,
)
