"""What operators with one input have in common: the header of their state, and replay marks."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Output
from panewise.families import INPUT


class SingleInput:
    """An operator whose state is an :class:`panewise.engine.ingest.input_state.InputState`."""

    plan: Any
    state: Any
    add_valid: Any
    advance_inputs: Any

    def header(self) -> dict[str, Any]:
        """Returns what the state has besides tables, as JSON values."""
        header: dict[str, Any] = self.state.header(self.plan.entry)
        return header

    def with_header(self, header: Mapping[str, Any]) -> Any:
        """Returns the state with the values of a header."""
        return self.state.with_header(self.plan.entry, self.plan.schema, header)

    def marks(self, port: str = INPUT) -> Marks:
        """Returns the replay marks."""
        marks: Marks = self.state.marks
        return marks

    def raise_marks(self, marks: Marks, port: str = INPUT) -> None:
        """Replaces the replay marks by those of the rows that all shards of the operator have received."""
        self.state = replace(self.state, marks=marks)

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> list[Output]:
        """Adds the valid rows of the one port, then moves the watermarks that they drive."""
        outputs = [self.add_valid(rows, port) for port, rows in valid.items()]
        return outputs + [self.advance_inputs(seen, port) for port, seen in latest.items()]
