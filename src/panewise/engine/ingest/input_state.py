"""The part of a state that every operator with one input has: clocks and replay marks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import InputWatermark, InputWatermarks
from panewise.engine.store.stored_table import StoredTable
from panewise.errors import StateError
from panewise.spec import Entry, Inputs, row_driven
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
        clocks = read_clocks(header, Clocks.of(entry))
        return replace(self, clocks=clocks, marks=read_marks(header, entry, schema), **counts)


def clocks_header(clocks: Clocks, entry: Entry) -> dict[str, Any]:
    """Returns clocks as JSON values, with the watermarks of several inputs if there are any."""
    header: dict[str, Any] = {
        "processing_time": clocks.processing_time,
        "watermark": clocks.watermark,
        "finished": clocks.finished,
    }
    if isinstance(entry.watermark, Inputs) or row_driven(entry.watermark) is not None:
        reported = {name: [one.watermark, one.reported_at] for name, one in clocks.inputs.reports}
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
