"""What operators with one input have in common: clocks and replay marks in the state, and their steps."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import polars as pl

from panewise.engine.ingest import arrival
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import NEVER, InputPort, with_time
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import InputWatermark, InputWatermarks, latest_of
from panewise.engine.tables.stored_table import StoredTable
from panewise.families import INPUT
from panewise.spec import Entry, Inputs, RowInputs, Specification, row_driven
from panewise.state.manifest import REPORTS, SINCE, Checks, checked


@dataclass(frozen=True, kw_only=True)
class InputState:
    """The clocks and the replay marks of an operator with one input.

    Families add their tables, and fields of their own to the header.

    Attributes:
        TABLES: the attributes that are tables, in the order of their numbers. An attribute may be None.
        FIELDS: the attributes that the header has unless they are 0 or false.
        copies: :attr:`panewise.engine.protocol.OperatorState.copies`.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    FIELDS: ClassVar[Checks] = {}
    copies: ClassVar[frozenset[str]] = frozenset()

    clocks: Clocks = field(default_factory=Clocks)
    marks: Marks = field(default_factory=Marks)

    def has_ended(self, port: str) -> bool:
        """Returns whether the input has ended."""
        return self.clocks.finished

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables that the operator has."""
        return {name: table for name in self.TABLES if (table := getattr(self, name)) is not None}

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of its own."""
        changes: dict[str, Any] = dict(tables)
        return replace(self, **changes)

    def header(self, entry: Entry) -> dict[str, Any]:
        """Returns clocks, marks and the family's own fields as JSON values."""
        own = {name: value for name in self.FIELDS if (value := getattr(self, name))}
        marks = [] if entry.position is None else self.marks.rows()
        return clocks_header(self.clocks, entry) | {"marks": marks} | own

    def with_header(self, entry: Entry, schema: Mapping[str, pl.DataType], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header; `{}` is that of no commit."""
        checked(header, self.FIELDS)
        own: dict[str, Any] = {name: header.get(name, getattr(type(self), name)) for name in self.FIELDS}
        marks = Marks()
        if entry.position is not None:
            marks = Marks.from_header(header.get("marks", []), entry.position, schema)
        return replace(self, clocks=read_clocks(header, self.clocks), marks=marks, **own)


def clocks_header(clocks: Clocks, entry: Entry) -> dict[str, Any]:
    """Returns clocks as JSON values, with the watermarks of several inputs if there are any."""
    header: dict[str, Any] = {
        "processing_time": clocks.processing_time,
        "watermark": clocks.watermark,
        "finished": clocks.finished,
        **({} if clocks.floor is None else {"floor": clocks.floor}),
    }
    source = entry.watermark
    if source is not None and (isinstance(source, Inputs) or row_driven(source) is not None):
        reported = {name: [report.watermark, report.reported_at] for name, report in clocks.inputs.reports}
        header["inputs"] = {SINCE: clocks.inputs.since, REPORTS: reported}
    return header


def read_clocks(header: Mapping[str, Any], before: Clocks) -> Clocks:
    """Returns the clocks of a header. `before` are the clocks of an operator that has taken no step."""
    if not header:
        return before
    known = header.get("inputs", {REPORTS: {}, SINCE: None})
    inputs = InputWatermarks(
        tuple((name, InputWatermark(*report)) for name, report in known[REPORTS].items()), known[SINCE]
    )
    return replace(
        before,
        processing_time=header["processing_time"],
        watermark=header["watermark"],
        finished=header["finished"],
        inputs=inputs,
        floor=header.get("floor"),
    )


P = TypeVar("P", bound=InputPort)
S = TypeVar("S", bound=InputState)


class UncombinedOperator:
    """An operator that takes no partials."""

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Raises AssertionError. It is never called, because the ports combine no rows."""
        raise AssertionError(NEVER)


class SingleInput(ABC, Generic[P, S]):
    """An operator with one input, a plan of type P, and a state of type S."""

    spec: Specification

    def __init__(self, spec: Specification, plan: P, state: S) -> None:
        self.spec, self.plan, self.state, self.changed = spec, plan, state, False
        self._nothing = Output.nothing(plan.pane_schema, plan.late_schema, plan.invalid_schema)

    def replace_state(self, state: object) -> None:
        """Replaces the state by another one of this operator."""
        assert isinstance(state, type(self.state))
        self.state = state

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive the watermark."""
        return self.plan.row_driven_inputs is not None

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves both clocks together, then emits what is due (semantics 18).

        With several inputs (semantics 12.5), `source` is the name of the input that reports the watermark.
        """
        return self._tick(self.state.clocks.moved(self.plan.entry, processing_time, watermark, source))

    def note_rows(self, processing_time: int) -> None:
        """Notes that the clock is read for a batch with valid rows, so the stream is not idle (12.12)."""
        inputs = self.plan.row_driven_inputs
        if inputs is not None and inputs.moves_while_idle:
            clocks = self.state.clocks
            active = clocks.inputs.active(max(processing_time, clocks.processing_time))
            self.state = replace(self.state, clocks=replace(clocks, inputs=active))

    def finish(self, port: str | None = None) -> Output:
        """Ends the input (semantics 12.2)."""
        return self._tick(replace(self.state.clocks, finished=True))

    @abstractmethod
    def _tick(self, clocks: Clocks) -> Output:
        """Moves the clocks, and emits what is due."""

    def add(self, rows: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds a batch of rows, then moves the watermarks that they drive.

        After the end of input all rows are late, with the reason `finished`.
        """
        validated, inputs = self.plan.validate(rows, self.state.clocks.processing_time), self._row_driven
        output, refused = self._added(validated.valid), validated.invalid
        latest = {} if inputs is None else latest_of(inputs, validated.valid)
        if latest:
            output = replace(output, panes=pl.concat([output.panes, self.advance_inputs(latest).panes]))
        counts = output.counts + Counts(rows_in=refused.height, invalid=refused.height)
        if not refused.height and not output.invalid.height:
            return replace(output, invalid=self._nothing.invalid, counts=counts)
        invalid = self._in_order(pl.concat([refused, output.invalid])) if output.invalid.height else refused
        return replace(output, invalid=invalid.select(*self.plan.invalid_schema), counts=counts)

    def add_valid(self, valid: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds rows that the port found valid. :meth:`advance_inputs` moves the watermarks."""
        output = self._added(valid)
        return replace(output, invalid=self._in_order(output.invalid).select(*self.plan.invalid_schema))

    def _in_order(self, invalid: pl.DataFrame) -> pl.DataFrame:
        """Returns invalid rows with their place, in arrival order."""
        if invalid.is_empty():
            return invalid
        timed = with_time(self.plan.entry, invalid, self.state.clocks.processing_time)
        return arrival.in_order(self.plan.entry, timed)

    @abstractmethod
    def _added(self, valid: pl.DataFrame) -> Output:
        """Adds valid rows. Invalid rows in the output have their place."""

    @property
    def _row_driven(self) -> RowInputs | None:
        """The inputs whose watermarks the rows of a batch drive."""
        return self.plan.row_driven_inputs

    def advance_inputs(self, latest: Mapping[str, int], port: str = INPUT) -> Output:
        """Moves the watermarks of the inputs that had valid rows in a batch (semantics 12.9).

        `latest` has the highest event time of the valid rows of each of these inputs.
        """
        inputs = self._row_driven
        return (
            self._nothing if inputs is None else self._tick(self.state.clocks.moved_by_rows(inputs, latest))
        )

    def evaluate_all(self) -> Output:
        """Evaluates everything that is stored once, at the present clocks. Here nothing can be due."""
        return self._nothing

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
