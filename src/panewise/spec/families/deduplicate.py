"""Deduplications, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from panewise.chrono import Duration
from panewise.families import INPUT
from panewise.spec.codec.deduplicate import complete, from_dict, reads, to_dict
from panewise.spec.describe.deduplicate import describe
from panewise.spec.families.windows import lag_on_batch
from panewise.spec.operators.deduplicate import OP, DeduplicateOperator
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Error, Types
from panewise.spec.type_checks import check_row_order

__all__ = ["complete", "describe", "from_dict", "reads", "to_dict"]


def check_types(spec: DeduplicateOperator, types: Mapping[str, Types]) -> None:
    """Checks the types of the keys, of the event time, and of the columns that order rows."""
    check_row_order(spec, types[INPUT])


def boolean_columns(spec: DeduplicateOperator) -> set[str]:
    """Returns nothing."""
    return set()


def batch_error(spec: DeduplicateOperator) -> Error | None:
    """Refuses a watermark that follows the clock."""
    return lag_on_batch(spec.watermark)


def for_columns(spec: DeduplicateOperator, columns: Mapping[str, set[str]]) -> DeduplicateOperator:
    """Returns the operator, which names its event time or has none."""
    return spec


def for_delays(spec: DeduplicateOperator, delays: Mapping[str, Duration | None]) -> DeduplicateOperator:
    """Returns the specification: the watermark of a single input is that of the query."""
    return spec


def renamed(
    spec: DeduplicateOperator, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> DeduplicateOperator:
    """Returns the operator: its columns are simple names."""
    return spec


def with_position(spec: DeduplicateOperator, position: Position) -> DeduplicateOperator:
    """Returns the operator with a source position."""
    return replace(spec, position=position)


def shard_keys(spec: DeduplicateOperator, port: str) -> tuple[str, ...]:
    """Returns the keys."""
    return spec.keys


def one_shard(spec: DeduplicateOperator) -> tuple[str, str] | None:
    """Returns None: rows of different keys never meet."""
    return None


def calls_users(spec: DeduplicateOperator) -> bool:
    """Returns False."""
    return False


def functions(spec: DeduplicateOperator, port: str) -> tuple[Any, ...]:
    """Returns nothing: the operator computes no columns."""
    return ()


def unchanged(
    spec: DeduplicateOperator, columns: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, str]]:
    """Returns all columns of the input."""
    return {name: (INPUT, name) for name in columns[INPUT]}


def carried(
    spec: DeduplicateOperator, known: Mapping[str, Mapping[str, Any]], kinds: Carried
) -> dict[str, Any]:
    """Returns nothing: no column is computed."""
    return {}


def instants(spec: DeduplicateOperator) -> tuple[str, ...]:
    """Returns nothing: rows have the types that they had in the input."""
    return ()


def emits_again(spec: DeduplicateOperator) -> Error | None:
    """Refuses retractions."""
    if spec.emit != "retracting":
        return None
    rule = "a second operator takes no retractions"
    return "emit='retracting' before a second operator", rule, "use emit='complete'"


def output_time(spec: DeduplicateOperator) -> str | Error:
    """Returns the event time."""
    if spec.event_time is not None:
        return spec.event_time
    rule = "rows without an event time have no watermark that a second operator could follow"
    return "a deduplication with event_time=None before a second operator", rule, "name the event time"


def timely_column(spec: DeduplicateOperator) -> str | None:
    """Returns the event time, if rows are emitted when they arrive: then none is behind the watermark."""
    return spec.event_time if spec.emit == "at_once" else None


def new_columns(spec: DeduplicateOperator) -> tuple[str, ...]:
    """Returns the column that marks retractions."""
    return (OP,) if spec.emit == "retracting" else ()


def passed_on(spec: DeduplicateOperator) -> bool:
    """Returns True: each row is emitted with its columns."""
    return True
