"""OVER operators, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from panewise.chrono import Duration
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate, with_names
from panewise.spec.codec.over import complete, from_dict, reads, to_dict
from panewise.spec.describe.over import describe
from panewise.spec.families.windows import lag_on_batch
from panewise.spec.operators.over.operator import OverOperator
from panewise.spec.position import Position
from panewise.spec.protocol import Carried, Error, Types, carried_values
from panewise.spec.type_checks import boolean_columns_of_over, check_over_types

__all__ = ["complete", "describe", "from_dict", "reads", "to_dict"]


def check_types(spec: OverOperator, types: Mapping[str, Types]) -> None:
    """Checks the types of columns, and of the defaults of lag and lead."""
    check_over_types(spec, types[INPUT])


def boolean_columns(spec: OverOperator) -> set[str]:
    """Returns the columns of Boolean aggregates."""
    return boolean_columns_of_over(spec)


def batch_error(spec: OverOperator) -> Error | None:
    """Refuses a watermark that follows the clock."""
    return lag_on_batch(spec.watermark)


def for_columns(spec: OverOperator, columns: Mapping[str, set[str]]) -> OverOperator:
    """Returns the operator, which names its event time or has none."""
    return spec


def for_delays(spec: OverOperator, delays: Mapping[str, Duration | None]) -> OverOperator:
    """Returns the specification: the watermark of a single input is that of the query."""
    return spec


def renamed(
    spec: OverOperator, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> OverOperator:
    """Returns the operator with other names of columns in its functions. Keys are simple names."""
    columns = tuple(replace(column, what=with_names(column.what, names)) for column in spec.columns)
    return replace(spec, columns=columns)


def with_position(spec: OverOperator, position: Position) -> OverOperator:
    """Returns the operator with a source position."""
    return replace(spec, position=position)


def shard_keys(spec: OverOperator, port: str) -> tuple[str, ...]:
    """Returns the keys."""
    return spec.keys


def one_shard(spec: OverOperator) -> tuple[str, str] | None:
    """Returns None: rows of different keys never meet."""
    return None


def calls_users(spec: OverOperator) -> bool:
    """Returns whether a column is a user-defined aggregate."""
    return any(isinstance(column.what, Aggregate) and column.what.user is not None for column in spec.columns)


def functions(spec: OverOperator, port: str) -> tuple[Any, ...]:
    """Returns the aggregates and row functions."""
    return tuple(column.what for column in spec.columns)


def unchanged(spec: OverOperator, columns: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, str]]:
    """Returns all columns of the input."""
    return {name: (INPUT, name) for name in columns[INPUT]}


def carried(spec: OverOperator, known: Mapping[str, Mapping[str, Any]], kinds: Carried) -> dict[str, Any]:
    """Returns the types of the new columns that return input values."""
    return carried_values(functions(spec, INPUT), known[INPUT], kinds)


def instants(spec: OverOperator) -> tuple[str, ...]:
    """Returns nothing: rows have the types that they had in the input."""
    return ()


def emits_again(spec: OverOperator) -> None:
    """Returns None: each row is emitted once."""


def output_time(spec: OverOperator) -> str | Error:
    """Returns the event time of the rows, which are emitted in its order."""
    if spec.event_time is not None:
        return spec.event_time
    return (
        "rows that an OVER operator takes in arrival order, before a second operator",
        "such rows have no watermark that an operator could follow",
        "order the windows by the event time, or use windows of rows or of processing time",
    )


def timely_column(spec: OverOperator) -> None:
    """Returns None: a row that is exactly at a watermark passes only after it."""
    return


def new_columns(spec: OverOperator) -> tuple[str, ...]:
    """Returns the names of the new columns."""
    return tuple(column.name for column in spec.columns)


def passed_on(spec: OverOperator) -> bool:
    """Returns True: each row is emitted with its columns."""
    return True
