"""Deduplications, as :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from typing import Final

from panewise.families import INPUT
from panewise.spec.codec.documents import DocumentedParts
from panewise.spec.families.input_changes import INPUT_CHANGES
from panewise.spec.family_parts import emitted_again
from panewise.spec.operators.deduplicate import DeduplicateOperator
from panewise.spec.operators.panes import OP
from panewise.spec.protocol import Refusal, Types
from panewise.spec.type_checks import check_row_order


class _DeduplicateParts(DocumentedParts[DeduplicateOperator]):
    kind, own_fields, passed_on = DeduplicateOperator, ("keep",), True
    changeable = INPUT_CHANGES

    def check_types(self, spec: DeduplicateOperator, types: Mapping[str, Types]) -> None:
        """Checks the types of the keys, of the event time, and of the columns that order rows."""
        check_row_order(spec, types[INPUT])

    def emits_again(self, spec: DeduplicateOperator) -> Refusal | None:
        return emitted_again("emit='retracting'", "use emit='complete'") if self.has_op(spec) else None

    def row_key(self, spec: DeduplicateOperator) -> tuple[str, ...]:
        """Returns the keys, if all rows of the same keys are one group."""
        return spec.keys if spec.within_us is None else ()

    def has_op(self, spec: DeduplicateOperator) -> bool:
        """Returns whether a chosen row may be retracted."""
        return spec.emit == "retracting"

    def output_time(self, spec: DeduplicateOperator) -> str | Refusal:
        """Returns the event time."""
        if spec.event_time is not None:
            return spec.event_time
        rule = "rows without an event time have no watermark that a second operator could follow"
        return "a deduplication with event_time=None before a second operator", rule, "name the event time"

    def timely_column(self, spec: DeduplicateOperator) -> str | None:
        """Returns the event time, if rows are emitted when they arrive: then none is behind the watermark."""
        return spec.event_time if spec.emit == "at_once" else None

    def new_columns(self, spec: DeduplicateOperator) -> tuple[str, ...]:
        """Returns the column that marks retractions."""
        return (OP,) if self.has_op(spec) else ()


PARTS: Final = _DeduplicateParts()
