"""What operators with one input have in common: clocks and replay marks in the state, and their steps."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

import polars as pl

from panewise.engine.ingest import arrival
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import NEVER, Port, with_time
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import InputWatermark, InputWatermarks, latest_of
from panewise.engine.store.stored_table import StoredTable
from panewise.errors import StateError
from panewise.families import INPUT
from panewise.spec import Entry, Inputs, RowInputs, row_driven
from panewise.state.manifest import REMEDY, Checks, check_fields, optional, whole

_RULE = "a manifest is the JSON that panewise wrote"


@dataclass(frozen=True, kw_only=True)
class InputState:
    """The clocks and the replay marks of an operator with one input.

    Families add their tables, and fields of their own to the header.

    Attributes:
        TABLES: the attributes that are tables, in the order of their numbers. An attribute may be None.
        COUNTS: the attributes that are numbers of rows. The header has those that are not 0.
        checks: the other fields that the header may have.
        copies: :attr:`panewise.engine.protocol.OperatorState.copies`.
        clocks: the clocks.
        marks: the replay marks.
    """

    TABLES: ClassVar[tuple[str, ...]] = ()
    COUNTS: ClassVar[tuple[str, ...]] = ()
    checks: ClassVar[Checks] = {}
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
        """Returns clocks, marks and counts as JSON values."""
        counts = {name: count for name in self.COUNTS if (count := getattr(self, name))}
        return clocks_header(self.clocks, entry) | {"marks": marks_rows(self.marks)} | counts

    def with_header(self, entry: Entry, schema: Mapping[str, pl.DataType], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header; `{}` is that of no commit.

        Raises:
            StateError: if the header is not of such an operator.
        """
        checked(header, {**dict.fromkeys(self.COUNTS, COUNT), **self.checks})
        counts: dict[str, Any] = {name: header.get(name, 0) for name in self.COUNTS}
        clocks = read_clocks(header, self.clocks)
        return replace(self, clocks=clocks, marks=read_marks(header, entry, schema), **counts)


def clocks_header(clocks: Clocks, entry: Entry) -> dict[str, Any]:
    """Returns clocks as JSON values, with the watermarks of several inputs if there are any."""
    header: dict[str, Any] = {
        "processing_time": clocks.processing_time,
        "watermark": clocks.watermark,
        "finished": clocks.finished,
    }
    source = entry.watermark
    if source is not None and (isinstance(source, Inputs) or row_driven(source) is not None):
        reported = {name: [report.watermark, report.reported_at] for name, report in clocks.inputs.reports}
        header["inputs"] = {"since": clocks.inputs.since, "told": reported}
    return header


def read_clocks(header: Mapping[str, Any], before: Clocks) -> Clocks:
    """Returns the clocks of a header. `before` are the clocks of an operator that has taken no step."""
    if not header:
        return before
    known = header.get("inputs", {"told": {}, "since": None})
    inputs = InputWatermarks(
        tuple((name, InputWatermark(*report)) for name, report in known["told"].items()), known["since"]
    )
    return replace(
        before,
        processing_time=header["processing_time"],
        watermark=header["watermark"],
        finished=header["finished"],
        inputs=inputs,
    )


def marks_rows(marks: Marks) -> list[list[Any]]:
    """Returns replay marks as JSON values."""
    return [] if marks.table is None else [list(row) for row in marks.table.rows()]


def read_marks(header: Mapping[str, Any], entry: Entry, schema: Mapping[str, pl.DataType]) -> Marks:
    """Returns the replay marks of a header.

    Raises:
        StateError: if they do not have the columns of the position.
    """
    rows = header.get("marks", [])
    if not rows or entry.position is None:
        return Marks()
    try:
        columns = Marks.schema(entry.position, schema)
        return Marks(pl.DataFrame(rows, schema=columns, orient="row"))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise StateError(f"a header with marks={str(rows)[:40]!r}", _RULE, REMEDY) from error


def checked(header: Mapping[str, Any], more: Checks | None = None) -> Mapping[str, Any]:
    """Returns the header, after checking it. `{}` is the header of a state without any commit.

    `more` are the fields that a family adds.

    Raises:
        StateError: if a field is missing, or has a value that it cannot have.
    """
    checks = {**_FIELDS, **(more or {})}
    if header:
        known = {name: value for name, value in header.items() if name in checks}
        check_fields("a header", known, checks, required=(*_CLOCKS, "marks"))
    return header


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _marks(value: Any) -> bool:
    """Returns whether a value is a list of lists of nulls, texts, whole numbers and Booleans."""
    scalars = (
        [one for row in value if isinstance(row, list) for one in row] if isinstance(value, list) else [[]]
    )
    return all(one is None or isinstance(one, str) or _instant(one) or _flag(one) for one in scalars) and all(
        isinstance(row, list) for row in value
    )


def _inputs(value: Any) -> bool:
    """Returns whether a value has the form of `inputs`.

    The names of the fields are those of the stored format. `since` is the first reading of the clock. `told`
    has a pair for each input: its watermark, and when it last reported one.
    """
    if (
        not isinstance(value, dict)
        or value.keys() != {"since", "told"}
        or not isinstance(value["told"], dict)
    ):
        return False
    pairs = list(value["told"].values())
    return _instant_or_none(value["since"]) and all(
        isinstance(pair, list) and len(pair) == 2 and all(_instant_or_none(one) for one in pair)
        for pair in pairs
    )


_CLOCKS = ("processing_time", "watermark", "finished")
_instant = whole()
_instant_or_none = optional(_instant)
COUNT = whole(0)
FLAG = _flag
INPUTS = _inputs
MARKS = _marks
_FIELDS: Checks = {
    "processing_time": _instant,
    "watermark": _instant_or_none,
    "finished": _flag,
    "marks": _marks,
    "types": _texts,
    "inputs": _inputs,
    "timer": _instant_or_none,
}


class _Plan(Port, Protocol):
    """The plan of an operator with one input, which is its port."""

    @property
    def pane_schema(self) -> dict[str, pl.DataType]:
        """The columns of the emitted rows or panes."""
        ...


P = TypeVar("P", bound=_Plan)
S = TypeVar("S", bound=InputState)
Evict: TypeAlias = Callable[[Mapping[str, Any]], Output]  # evicts a partition


class UncombinedOperator:
    """An operator that takes no partials."""

    evict: Evict | None = None

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Raises AssertionError. It is never called, because the ports combine no rows."""
        raise AssertionError(NEVER)


class SingleInput(ABC, Generic[P, S]):
    """An operator with one input, a plan of type P, and a state of type S.

    Attributes:
        spec: the specification.
        plan: the plan.
        state: the state.
        changed: whether the tables have changed since the operator was made.
    """

    evict: Evict | None = None

    def __init__(self, spec: Any, plan: P, state: S) -> None:
        self.spec, self.plan, self.state, self.changed = spec, plan, state, False
        self._nothing = Output.nothing(plan.pane_schema, plan.late_schema, plan.invalid_schema)

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
