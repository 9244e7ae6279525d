"""What operators with two sides have in common: clocks and replay marks in the state, and their steps.

The valid rows of both sides have one sequence of numbers, in the order in which they are applied. Invariant:
a later row has a higher number, also after a restart, because the header has the next number. So of two rows
the one with the lower number arrived first, whatever their sides.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar, cast

import polars as pl

from panewise.engine.columns import TIME, key_columns
from panewise.engine.family_parts import Inspection
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.input_state import UncombinedOperator
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import Port
from panewise.engine.join.clocks import JoinClocks, SideClock
from panewise.engine.merged_header import HeaderRules, by_side, most_marks
from panewise.engine.protocol import OperatorState, Plan
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.rows_by_key import RowsByKey
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.tables.time_queue import TimeQueue
from panewise.spec.operators.join.columns import LEFT, RIGHT, SIDES
from panewise.spec.operators.join.side_entry import SideEntry, TwoSided
from panewise.spec.operators.join.windowing import row_keys
from panewise.state.manifest import REPORTS, SINCE, Checks, check_fields, checked, inputs, marks, whole

# The fields of the header that bound the horizon of a side after a change of its lateness (semantics 47.15).
FLOORS: Final = {LEFT: "floor_left", RIGHT: "floor_right"}
CEILINGS: Final = {LEFT: "ceiling_left", RIGHT: "ceiling_right"}
FLOOR: Final = "floor"  # the same for windows of both sides (semantics 47.19)
NEXT_NUMBER: Final = "next_number"  # the field that counts received rows
T = TypeVar("T", bound=StoredTable)


@dataclass(frozen=True, kw_only=True)
class SidesState:
    """What an operator with two sides stores between steps, besides its tables.

    `next_number` is the number of the next valid row.
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
        reports = {side: [clock.watermark, clock.reported_at] for side, clock in clocks.sides.items()}
        return {
            "processing_time": clocks.processing_time,
            "watermark": clocks.watermark,
            "finished": clocks.finished,
            "inputs": {SINCE: clocks.since, REPORTS: reports},
            "ended": [side for side, clock in clocks.sides.items() if clock.ended],
            "marks": [],
            "marks_by_side": {side: marks.rows() for side, marks in self.marks.items()},
            NEXT_NUMBER: self.next_number,
            **{FLOORS[side]: clock.floor for side, clock in clocks.sides.items() if clock.floor is not None},
            **({} if clocks.floor is None else {FLOOR: clocks.floor}),
        }

    def with_header(self, ports: Mapping[str, Port], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header; `{}` is that of no commit."""
        if not _checked(header):
            return self
        marks = {
            side: Marks.from_header(header["marks_by_side"][side], position, port.schema)
            for side, port in ports.items()
            if (position := port.entry.position) is not None
        }
        marks = {**self.marks, **marks}
        return replace(self, clocks=read_clocks(header), marks=marks, next_number=header[NEXT_NUMBER])


@dataclass(frozen=True)
class JoinState(SidesState):
    """Everything that a join stores between steps.

    `tables` has the tables by name. The method of the join (:mod:`panewise.engine.join.method`) says which
    there are, and of which kind.
    """

    copies: ClassVar[frozenset[str]] = frozenset()

    tables: dict[str, StoredTable]

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of those of the same names."""
        return replace(self, tables={**self.tables, **tables})

    def after(self, tables: Mapping[str, StoredTable], clocks: JoinClocks) -> Self:
        """Returns the state after a step: with these tables, and with these clocks."""
        return replace(self, tables={**self.tables, **tables}, clocks=clocks)

    def settled(self) -> Self:
        """Returns the state after its tables were divided, with what the header says of their rows."""
        return self

    def rows(self, name: str) -> RowsByKey:
        """Returns a table whose rows are looked up by key and time."""
        return self._table(name, RowsByKey)

    def latest(self, name: str) -> LatestByKey:
        """Returns a table of which only the latest rows of each key are looked up."""
        return self._table(name, LatestByKey)

    def queue(self, name: str) -> TimeQueue:
        """Returns a table whose rows wait for a watermark."""
        return self._table(name, TimeQueue)

    def _table(self, name: str, kind: type[T]) -> T:
        table = self.tables[name]
        assert isinstance(table, kind)
        return table


def read_clocks(header: Mapping[str, Any]) -> JoinClocks:
    """Returns the clocks of a header; `{}` is that of no commit."""
    if not _checked(header):
        return JoinClocks()
    reports, ended = header["inputs"][REPORTS], header["ended"]
    sides = {
        side: SideClock(
            reports[side][0],
            reports[side][1],
            side in ended,
            header.get(FLOORS[side]),
            header.get(CEILINGS[side]),
        )
        for side in SIDES
    }
    return JoinClocks(header["processing_time"], header["inputs"][SINCE], sides, header.get(FLOOR))


def _checked(header: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the header, after checking that it has the fields of a join, if it has any."""
    if checked(header, CHECKS):
        own = {name: header[name] for name in CHECKS if name in header}
        check_fields("a header", own, CHECKS, required=_REQUIRED)
    return header


def _by_side(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == set(SIDES)


CHECKS: Final[Checks] = {
    "inputs": lambda value: inputs(value) and _by_side(value[REPORTS]),
    "ended": lambda value: isinstance(value, list) and all(side in SIDES for side in value),
    "marks_by_side": lambda value: _by_side(value) and all(map(marks, value.values())),
    NEXT_NUMBER: whole(0),
    **dict.fromkeys((FLOOR, *FLOORS.values(), *CEILINGS.values()), whole()),
}
# All shards see the same ends of input: the longest list of ended sides is the latest one.
HEADER_RULES: Final = HeaderRules(
    {"ended": partial(max, key=len), "marks_by_side": by_side(most_marks)},
    floors=frozenset({"floor", *FLOORS.values()}),
    counters=(NEXT_NUMBER,),
)
_REQUIRED: Final = ("inputs", "ended", "marks_by_side", NEXT_NUMBER)


class SidesPlan(Plan, Protocol):
    """The plan of an operator with two sides."""

    @property
    def entries(self) -> Mapping[str, SideEntry]:
        """The specifications of the ports."""


class TwoSidedOperator(UncombinedOperator, ABC):
    """An operator with the ports "left" and "right"."""

    spec: TwoSided
    plan: SidesPlan
    state: JoinState
    changed: bool
    partitions = None

    def __init__(self, spec: TwoSided, plan: SidesPlan, state: JoinState) -> None:
        self.spec, self.plan, self.state, self.changed = spec, plan, state, False
        self._nothing = {
            side: replace(Output.nothing(plan.pane_schema, port.late_schema, port.invalid_schema), port=side)
            for side, port in plan.ports.items()
        }

    def replace_state(self, state: OperatorState) -> None:
        """Replaces the state by another one of this operator."""
        assert isinstance(state, JoinState)
        self.state = state

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive a watermark."""
        return any(port.row_driven_inputs is not None for port in self.plan.ports.values())

    def header(self) -> dict[str, Any]:
        """Returns what the state has besides tables, as JSON values."""
        return self.state.header()

    def with_header(self, header: Mapping[str, Any]) -> JoinState:
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
        validated = {side: self.plan.ports[side].validate(of_side, now) for side, of_side in rows.items()}
        valid = {side: of_side.valid for side, of_side in validated.items()}
        arrived = {side: of_side for side, of_side in valid.items() if of_side.height}
        latest = {side: {"all": cast(int, arrived[side][TIME].max())} for side in arrived}
        by_side: dict[str, list[Output]] = {side: [] for side in rows}
        for output in self.add_together(valid, latest):
            by_side[output.port].append(output)
        outputs = []
        for side, of_side in by_side.items():
            output, invalid = Output.merged(of_side), validated[side].invalid
            counts = output.counts + Counts(rows_in=invalid.height, invalid=invalid.height)
            columns = list(self.plan.ports[side].invalid_schema)
            outputs.append(replace(output, invalid=invalid[columns], counts=counts))
        return outputs

    @abstractmethod
    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterable[Output]:
        """Adds valid rows of both sides as one batch, and moves the watermarks that rows drive (36.7)."""

    def note_rows(self, processing_time: int) -> None:
        """Does nothing: idle sides are those that have reported no watermark (semantics 36.5)."""

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves the clocks. `source` is the side that reports the watermark; None: both do."""
        return self._moved(self.state.clocks.moved(self.spec, processing_time, watermark, source))

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a side, or of both."""
        return self._moved(self.state.clocks.ended(port))

    def evaluate_all(self) -> Output:
        """Emits what a change of the specification makes due: rows expire by a lower lateness (47.15)."""
        clocks = self.state.clocks
        if all(side.ceiling is None for side in clocks.sides.values()):
            return self._nothing[LEFT]
        return self._moved(clocks.without_ceilings())

    @abstractmethod
    def _moved(self, clocks: JoinClocks) -> Output:
        """Moves the clocks, and emits what is due."""

    def _with_panes(self, outputs: Iterable[Output], panes: Iterator[pl.DataFrame]) -> Iterator[Output]:
        """Yields outputs of the sides, the first with the first piece of panes. The other pieces follow."""
        first, port = next(panes, self._nothing[LEFT].panes), None
        for output in outputs:
            yield replace(output, panes=first)
            first, port = first.clear(), port or output.port
        for more in chain([first], panes):
            if more.height:
                yield replace(self._nothing[port or LEFT], panes=more)


def inspected_windows(spec: TwoSided, clocks: JoinClocks, windows: Inspection) -> Inspection:
    """Returns stored windows of the rows of both sides, with the keys of the left side."""
    rows = windows.rows.rename(row_keys(spec.keys)) if windows.rows.width else windows.rows
    return replace(windows, clocks=clocks, rows=rows, keys=key_columns(spec.keys))


def highest_times(latest: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Returns the highest event time of each side that has rows, given those of its inputs."""
    return {side: max(times.values()) for side, times in latest.items() if times}
