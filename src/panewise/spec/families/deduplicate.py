"""Deduplications, as :class:`panewise.spec.protocol.SpecParts`."""

from collections.abc import Mapping
from typing import Final

from panewise.families import INPUT
from panewise.spec.codec.documents import documents
from panewise.spec.describe.deduplicate import describe
from panewise.spec.operators.deduplicate import OP, DeduplicateOperator
from panewise.spec.protocol import Refusal, SpecParts, Types
from panewise.spec.type_checks import check_row_order


def check_types(spec: DeduplicateOperator, types: Mapping[str, Types]) -> None:
    """Checks the types of the keys, of the event time, and of the columns that order rows."""
    check_row_order(spec, types[INPUT])


def unchanged(
    spec: DeduplicateOperator, columns: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, str]]:
    """Returns all columns of the input."""
    return {name: (INPUT, name) for name in columns[INPUT]}


def emits_again(spec: DeduplicateOperator) -> Refusal | None:
    """Returns why panes may be retracted or emitted again, None if they are not."""
    if spec.emit != "retracting":
        return None
    rule = "a second operator takes no retractions"
    return "emit='retracting' before a second operator", rule, "use emit='complete'"


def output_time(spec: DeduplicateOperator) -> str | Refusal:
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


PARTS: Final = SpecParts(
    **documents(DeduplicateOperator, "keep"),
    describe=describe,
    check_types=check_types,
    unchanged=unchanged,
    emits_again=emits_again,
    output_time=output_time,
    timely_column=timely_column,
    new_columns=new_columns,
    passed_on=True,
)
