"""What operators with one input have in common: clocks and replay marks in the state, and their methods."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Output
from panewise.engine.ingest.port import NEVER, Port
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import Inputs, InputWatermark
from panewise.errors import StateError
from panewise.families import INPUT
from panewise.spec import Entry, row_driven
from panewise.spec import Inputs as InputsSpec
from panewise.state.manifest import REMEDY, Checks, check_fields, optional, whole

_RULE = "a manifest is the JSON that panewise wrote"


@dataclass(frozen=True, kw_only=True)
class InputState:
    """The clocks and the replay marks of an operator with one input.

    Families add their tables, and fields of their own to the header. `checks` has the fields that they add;
    `copies` is :attr:`panewise.engine.protocol.OperatorState.copies`.
    """

    checks: ClassVar[Checks] = {}
    copies: ClassVar[frozenset[str]] = frozenset()

    clocks: Clocks = field(default_factory=Clocks)
    marks: Marks = field(default_factory=Marks)

    def has_ended(self, port: str) -> bool:
        """Returns whether the input has ended."""
        return self.clocks.finished

    def header(self, entry: Entry) -> dict[str, Any]:
        """Returns the clocks and marks as JSON values."""
        return clocks_header(self.clocks, entry) | {"marks": marks_rows(self.marks)}

    def with_header(self, entry: Entry, schema: Mapping[str, pl.DataType], header: Mapping[str, Any]) -> Self:
        """Returns the state of a new operator with the clocks and marks of a header.

        `{}` is the header of no commit.

        Raises:
            StateError: if the header is not of such an operator.
        """
        checked(header, self.checks)
        clocks = read_clocks(header, self.clocks)
        return replace(self, clocks=clocks, marks=read_marks(header, entry, schema))


def clocks_header(clocks: Clocks, entry: Entry) -> dict[str, Any]:
    """Returns clocks as JSON values, with the watermarks of several inputs if there are any."""
    header: dict[str, Any] = {
        "processing_time": clocks.processing_time,
        "watermark": clocks.watermark,
        "finished": clocks.finished,
    }
    source = entry.watermark
    if source is not None and (isinstance(source, InputsSpec) or row_driven(source) is not None):
        reported = {name: [report.watermark, report.reported_at] for name, report in clocks.inputs.reports}
        header["inputs"] = {"since": clocks.inputs.since, "told": reported}
    return header


def read_clocks(header: Mapping[str, Any], before: Clocks) -> Clocks:
    """Returns the clocks of a header. `before` are the clocks of an operator that has taken no step."""
    if not header:
        return before
    known = header.get("inputs", {"told": {}, "since": None})
    inputs = Inputs(
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
        [scalar for row in value if isinstance(row, list) for scalar in row]
        if isinstance(value, list)
        else [[]]
    )
    return all(
        scalar is None or isinstance(scalar, str) or _instant(scalar) or _flag(scalar) for scalar in scalars
    ) and all(isinstance(row, list) for row in value)


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
        isinstance(pair, list) and len(pair) == 2 and all(_instant_or_none(instant) for instant in pair)
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
        return outputs + [self.advance_inputs(times, port) for port, times in latest.items()]
