"""What the operators of several families have in common.

OVER operators, policy windows, deduplications and joins need each row.
So their rows are never pre-aggregated.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.input_state import InputState
from panewise.engine.ingest.output import Output
from panewise.engine.ingest.port import NEVER, Port
from panewise.families import INPUT

S = TypeVar("S", bound=InputState)
Evict: TypeAlias = Callable[[Mapping[str, Any]], Output]  # evicts a partition


class UncombinedOperator:
    """An operator that takes no partials."""

    evict: Evict | None = None

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Raises AssertionError. It is never called, because the ports combine no rows."""
        raise AssertionError(NEVER)


class SingleInput(ABC, Generic[S]):
    """An operator with one input, and a state of type S."""

    plan: Port
    state: S
    evict: Evict | None = None

    @abstractmethod
    def add(self, rows: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds a batch of rows."""

    @abstractmethod
    def add_valid(self, valid: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds rows that the port found valid."""

    @abstractmethod
    def advance_inputs(self, latest: Mapping[str, int], port: str = INPUT) -> Output:
        """Moves the watermarks that rows drive."""

    def header(self) -> dict[str, Any]:
        """Returns what the state has besides tables, as JSON values."""
        return self.state.header(self.plan.entry)

    def with_header(self, header: Mapping[str, Any]) -> S:
        """Returns the state with the values of a header."""
        return self.state.with_header(self.plan.entry, self.plan.schema, header)

    def marks(self, port: str = INPUT) -> Marks:
        """Returns the replay marks."""
        return self.state.marks

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
