"""OVER operators, as :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.types import check_aggregates, columns_of_booleans
from panewise.spec.carried_values import Carried, Known, carried_values
from panewise.spec.codec.documents import DocumentedParts
from panewise.spec.families.input_changes import INPUT_CHANGES
from panewise.spec.operators.over.operator import OverOperator
from panewise.spec.operators.over.row_function import RowFunction
from panewise.spec.protocol import Refusal, Types
from panewise.spec.type_checks import check_row_order, is_of_type


def _other_names(old: OverOperator, new: OverOperator) -> str | None:
    """Refuses other columns than the same ones under other names."""
    before, after = (
        [replace(column, what=replace(column.what, name="any")) for column in spec.columns]
        for spec in (old, new)
    )
    return (
        None
        if before == after
        else "of the columns that OVER adds only the names may change (semantics 47.2)"
    )


class _OverParts(DocumentedParts[OverOperator]):
    # `timely_column` is None: a row that is exactly at a watermark passes only after it.
    kind, own_fields, passed_on = OverOperator, ("columns",), True
    changeable = MappingProxyType({**INPUT_CHANGES, "columns": _other_names})

    def check_types(self, spec: OverOperator, types: Mapping[str, Types]) -> None:
        """Checks the types of columns, and of the defaults of lag and lead."""
        check_row_order(spec, types[INPUT])
        check_aggregates(_aggregates(spec), types[INPUT])
        for column in spec.columns:
            if isinstance(column.what, RowFunction):
                _check_default(column.what, types[INPUT])

    def boolean_columns(self, spec: OverOperator) -> set[str]:
        return columns_of_booleans(_aggregates(spec))

    def calls_users(self, spec: OverOperator) -> bool:
        return any(what.user is not None for what in _aggregates(spec))

    def functions(self, spec: OverOperator, port: str) -> tuple[Any, ...]:
        return tuple(column.what for column in spec.columns)

    def lengths_ahead(self, spec: OverOperator) -> tuple[int, ...]:
        """Returns how far the ranges reach ahead of a row."""
        return (spec.us_ahead,)

    def carried(self, spec: OverOperator, known: Known, kinds: Carried) -> dict[str, Any]:
        return carried_values(self.functions(spec, INPUT), known[INPUT], kinds)

    def output_time(self, spec: OverOperator) -> str | Refusal:
        """Returns the event time of the rows, which are emitted in its order."""
        if spec.event_time is not None:
            return spec.event_time
        rule = "rows in arrival order have no watermark that a second operator could follow"
        remedy = "order the windows by the event time, or use windows of rows or of processing time"
        return "rows that an OVER operator takes in arrival order, before a second operator", rule, remedy

    def new_columns(self, spec: OverOperator) -> tuple[str, ...]:
        return tuple(column.name for column in spec.columns)


def _aggregates(spec: OverOperator) -> list[Aggregate]:
    return [column.what for column in spec.columns if isinstance(column.what, Aggregate)]


def _check_default(what: RowFunction, types: Types) -> None:
    """Checks that the default of lag and lead has the type of their column."""
    kind = types.get(what.column or "")
    if what.default is not None and kind is not None and not is_of_type(what.default, kind):
        rule = f"the default has the type of the column, {kind}"
        raise SpecError(f"{what.name}: default={what.default!r}", rule, "give a value of it, or leave it out")


PARTS: Final = _OverParts()
