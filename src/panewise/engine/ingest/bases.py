"""What the operators of several families have in common.

The state of an operator with one input is an :class:`panewise.engine.ingest.input_state.InputState`. OVER
operators, policy windows, deduplications and joins need each row, so their rows are never pre-aggregated.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Output
from panewise.families import INPUT

Evict: TypeAlias = Callable[[Mapping[str, Any]], Output]  # evicts a partition
_WHY = "rows of this operator are never pre-aggregated"


class UncombinedPort:
    """A port that combines no rows."""

    can_combine = False

    def combine(self, valid: pl.DataFrame) -> pl.DataFrame:
        """Raises AssertionError. It is never called, because `can_combine` is False."""
        raise AssertionError(_WHY)

    def combine_again(self, partials: pl.DataFrame) -> pl.DataFrame:
        """Raises AssertionError. It is never called, because `can_combine` is False."""
        raise AssertionError(_WHY)


class UncombinedOperator:
    """An operator that takes no partials."""

    evict: Evict | None = None

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Raises AssertionError. It is never called, because the ports combine no rows."""
        raise AssertionError(_WHY)


class SingleInput:
    """An operator with one input."""

    plan: Any
    state: Any
    add: Any
    add_valid: Any
    advance_inputs: Any
    evict: Evict | None = None

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

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds a batch of the one port."""
        return [self.add(of_port, port) for port, of_port in rows.items()]

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> list[Output]:
        """Adds the valid rows of the one port, then moves the watermarks that they drive."""
        outputs = [self.add_valid(rows, port) for port, rows in valid.items()]
        return outputs + [self.advance_inputs(seen, port) for port, seen in latest.items()]
