"""What operators of joins and cogroups have in common: two ports, with clocks and marks of their own."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol, cast

import polars as pl

from panewise.engine.columns import TIME
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.input_state import UncombinedOperator
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.state import SidesState
from panewise.engine.protocol import Plan
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.entry import SideEntry, TwoSided


class SidesPlan(Plan, Protocol):
    """The plan of an operator with two sides."""

    @property
    def entries(self) -> Mapping[str, SideEntry]:
        """The specifications of the ports."""
        ...


class TwoSidedOperator(UncombinedOperator, ABC):
    """An operator with the ports "left" and "right".

    Attributes:
        spec: the specification.
        plan: the plan.
        state: the state, with clocks and marks of both sides.
        changed: whether the tables have changed since the operator was made.
    """

    spec: TwoSided
    plan: SidesPlan
    state: SidesState
    changed: bool

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive a watermark."""
        return any(port.row_driven_inputs is not None for port in self.plan.ports.values())

    def header(self) -> dict[str, Any]:
        """Returns what the state has besides tables, as JSON values."""
        return self.state.header()

    def with_header(self, header: Mapping[str, Any]) -> Any:
        """Returns the state with the values of a header."""
        return self.state.with_header(self.plan.ports, header)

    def marks(self, port: str = LEFT) -> Marks:
        """Returns the replay marks of a side."""
        return self.state.marks[port]

    def raise_marks(self, marks: Marks, port: str = LEFT) -> None:
        """Replaces the replay marks of a side by those of the rows that all shards have received."""
        self.state = replace(self.state, marks={**self.state.marks, port: marks})

    def add(self, rows: pl.DataFrame, port: str = LEFT) -> Output:
        """Adds a batch of rows of one side."""
        (output,) = self.add_batch({port: rows})
        return output

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds a batch with rows of one side or of both. Returns an output for each side in it."""
        now = self.state.clocks.processing_time
        validated = {side: self.plan.ports[side].validate(one, now) for side, one in rows.items()}
        valid = {side: one.valid for side, one in validated.items()}
        latest = {side: {"all": cast(int, one[TIME].max())} for side, one in valid.items() if one.height}
        by_side: dict[str, list[Output]] = {side: [] for side in rows}
        for output in self.add_together(valid, latest):
            by_side[output.port].append(output)
        outputs = []
        for side, of_side in by_side.items():
            output, invalid = Output.merged(of_side), validated[side].invalid
            counts = output.counts + Counts(rows_in=invalid.height, invalid=invalid.height)
            columns = list(self.plan.ports[side].invalid_schema)
            outputs.append(replace(output, invalid=invalid.select(columns), counts=counts))
        return outputs

    @abstractmethod
    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterable[Output]:
        """Adds valid rows of both sides as one batch, and moves the watermarks that rows drive (36.7)."""

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves the clocks. `source` is the side that reports the watermark; None: both do."""
        return self._moved(self.state.clocks.moved(self.spec, processing_time, watermark, source))

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a side, or of both."""
        return self._moved(self.state.clocks.ended(port))

    @abstractmethod
    def _moved(self, clocks: JoinClocks) -> Output:
        """Moves the clocks, and emits what is due."""

    def _nothing(self, side: str) -> Output:
        port = self.plan.ports[side]
        nothing = Output.nothing(self.plan.pane_schema, port.late_schema, port.invalid_schema)
        return replace(nothing, port=side)
