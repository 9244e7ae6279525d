"""OVER operators, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate, with_names
from panewise.spec.codec.documents import documents
from panewise.spec.describe.over import describe
from panewise.spec.operators.over.operator import OverOperator
from panewise.spec.protocol import Carried, Refusal, SpecParts, Types, carried_values
from panewise.spec.type_checks import boolean_columns_of_over, check_over_types


def check_types(spec: OverOperator, types: Mapping[str, Types]) -> None:
    """Checks the types of columns, and of the defaults of lag and lead."""
    check_over_types(spec, types[INPUT])


def boolean_columns(spec: OverOperator) -> set[str]:
    """Returns the columns of Boolean aggregates."""
    return boolean_columns_of_over(spec)


def renamed(
    spec: OverOperator, port: str, names: Mapping[str, str], all_columns: tuple[str, ...] | None
) -> OverOperator:
    """Returns the operator with other names of columns in its functions. Keys are simple names."""
    columns = tuple(replace(column, what=with_names(column.what, names)) for column in spec.columns)
    return replace(spec, columns=columns)


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


def output_time(spec: OverOperator) -> str | Refusal:
    """Returns the event time of the rows, which are emitted in its order."""
    if spec.event_time is not None:
        return spec.event_time
    return (
        "rows that an OVER operator takes in arrival order, before a second operator",
        "such rows have no watermark that an operator could follow",
        "order the windows by the event time, or use windows of rows or of processing time",
    )


def new_columns(spec: OverOperator) -> tuple[str, ...]:
    """Returns the names of the new columns."""
    return tuple(column.name for column in spec.columns)


def lengths_ahead(spec: OverOperator) -> tuple[int, ...]:
    """Returns how far the ranges reach ahead of a row."""
    return (spec.us_ahead,)


# `timely_column` is None: a row that is exactly at a watermark passes only after it.
PARTS: Final = SpecParts(
    **documents(OverOperator, "columns"),
    describe=describe,
    check_types=check_types,
    boolean_columns=boolean_columns,
    renamed=renamed,
    calls_users=calls_users,
    functions=functions,
    lengths_ahead=lengths_ahead,
    unchanged=unchanged,
    carried=carried,
    output_time=output_time,
    new_columns=new_columns,
    passed_on=True,
)
