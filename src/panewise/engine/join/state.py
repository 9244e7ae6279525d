"""The state of joins."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Self

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.input_state import COUNT, INPUTS, MARKS, checked, marks_rows, read_marks
from panewise.engine.ingest.validate import Port
from panewise.engine.join.clocks import JoinClocks, SideClock
from panewise.engine.store.stored_table import StoredTable
from panewise.spec.operators.join.columns import SIDES
from panewise.state.manifest import Checks, check_fields


@dataclass(frozen=True, kw_only=True)
class SidesState:
    """What an operator with two sides stores between steps, besides its tables.

    Attributes:
        clocks: the clocks.
        marks: the replay marks by side.
        next_number: the number of the next valid row.
    """

    clocks: JoinClocks = field(default_factory=JoinClocks)
    marks: Mapping[str, Marks] = field(default_factory=lambda: dict.fromkeys(SIDES, Marks()))
    next_number: int = 0

    def has_ended(self, port: str) -> bool:
        """Returns whether the input of a side has ended."""
        return self.clocks.sides[port].ended

    def header(self) -> dict[str, Any]:
        """Returns everything that is not in a table, as JSON values."""
        clocks = self.clocks
        reports = {side: [one.watermark, one.reported_at] for side, one in clocks.sides.items()}
        return {
            "processing_time": clocks.processing_time,
            "watermark": clocks.watermark,
            "finished": clocks.finished,
            "inputs": {"since": clocks.since, "told": reports},
            "ended": [side for side, one in clocks.sides.items() if one.ended],
            "marks": [],
            "marks_by_side": {side: marks_rows(marks) for side, marks in self.marks.items()},
            "next_number": self.next_number,
        }

    def with_header(self, ports: Mapping[str, Port], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header; `{}` is that of no commit.

        Raises:
            StateError: if the header is not of such an operator.
        """
        if not _checked(header):
            return self
        marks = {
            side: read_marks({"marks": header["marks_by_side"][side]}, port.entry, port.schema)
            for side, port in ports.items()
        }
        return replace(self, clocks=read_clocks(header), marks=marks, next_number=header["next_number"])


@dataclass(frozen=True)
class JoinState(SidesState):
    """Everything that a join stores between steps.

    Attributes:
        tables: the tables by name. The method of the join (:mod:`panewise.engine.join.method`) says which
            there are.
    """

    copies: ClassVar[frozenset[str]] = frozenset()

    tables: dict[str, StoredTable]

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of those of the same names."""
        return replace(self, tables={**self.tables, **tables})

    def after(self, tables: Mapping[str, StoredTable], clocks: JoinClocks) -> Self:
        """Returns the state after a step: with these tables, and with these clocks."""
        return replace(self, tables={**self.tables, **tables}, clocks=clocks)


def read_clocks(header: Mapping[str, Any]) -> JoinClocks:
    """Returns the clocks of a header; `{}` is that of no commit.

    Raises:
        StateError: if the header is not of a join.
    """
    if not _checked(header):
        return JoinClocks()
    reports, ended = header["inputs"]["told"], header["ended"]
    sides = {side: SideClock(reports[side][0], reports[side][1], side in ended) for side in SIDES}
    return JoinClocks(header["processing_time"], header["inputs"]["since"], sides)


def _checked(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the header, after checking that it has the fields of a join, if it has any."""
    if checked(header, CHECKS):
        check_fields(
            "a header", {name: header[name] for name in CHECKS if name in header}, CHECKS, required=CHECKS
        )
    return header


def _by_side(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == set(SIDES)


CHECKS: Final[Checks] = {
    "inputs": lambda value: INPUTS(value) and _by_side(value["told"]),
    "ended": lambda value: isinstance(value, list) and all(side in SIDES for side in value),
    "marks_by_side": lambda value: _by_side(value) and all(map(MARKS, value.values())),
    "next_number": COUNT,
}
