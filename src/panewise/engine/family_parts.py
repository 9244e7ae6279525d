"""What each family supplies for the engine: plans, operators, and how stored states are read and changed.

A family registers its :class:`EngineParts` in :mod:`panewise.families`. So a new family needs no change in
the runtimes, the checkpoint and the inspection of states.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import polars as pl

from panewise.engine.merged_header import HeaderRules
from panewise.engine.protocol import Operator, OperatorState, Plan, Readings, Schema, Schemas
from panewise.engine.tables.copied_tables import CopiedTables
from panewise.families import INPUT, part
from panewise.spec import Specification, WindowOperator, parts

T = TypeVar("T")


@dataclass(frozen=True)
class Change:
    """What an evaluation has changed in the results of windows.

    Attributes:
        deleted: the sessions that were merged into others: their keys, window_start and window_end.
        results: the windows that have other results: the same columns, and the aggregates.
    """

    deleted: pl.DataFrame
    results: pl.DataFrame


@dataclass(frozen=True)
class Inspection:
    """What a stored state contains, found without the schema of the input.

    Attributes:
        clocks: the clocks of the last commit.
        rows: the live windows or waiting rows: the columns `keys`, ``__end`` and, of windows, ``__start``.
        keys: the names of the columns of the key.
        ends_in_time: whether ``__end`` is an instant.
    """

    clocks: Readings
    rows: pl.DataFrame
    keys: list[str]
    ends_in_time: bool = True

    @property
    def watermark(self) -> int | None:
        """The watermark, if it is an instant."""
        return self.clocks.instant_watermark


class TableReader(Protocol):
    """Reads the stored tables of a state whose operator is not built."""

    def __call__(
        self, table: str, columns: list[str], identity: list[str], horizon: int | None, apart: list[str], /
    ) -> pl.DataFrame:
        """Returns columns of the live rows of the table with this name; no columns if it has no runs.

        `identity` is that of :class:`panewise.engine.tables.run.Shape`, [] if rows are never replaced. Rows
        that differ in the columns `apart`, which are among `columns`, have nothing to do with each other. So
        the reader may return a part of the rows: all that are equal in these columns, or none.
        """


class WindowsInPython(Protocol):
    """The windows of an operator as Python objects, to which rows are added one by one, without a step.

    A step of the operator must not come between rows that were added and a flush.
    """

    @property
    def spec(self) -> WindowOperator:
        """The specification of the operator."""

    @property
    def first_end(self) -> int:
        """An instant before which no window ends that has been opened since the last flush."""

    def add(
        self, state: OperatorState, time: int, row: Mapping[str, Any], now: int
    ) -> list[tuple[Any, ...]] | None:
        """Adds a valid row whose windows are all open, at a state and a processing time.

        Returns the panes that it emits; None if the operator must add it.
        """

    def flush(self, operator: Operator, processing_time: int | None, watermark: int | None) -> None:
        """Puts what has changed into the state of the operator, and moves its clocks."""

    def follow(self, state: OperatorState, watermark: int | None = None) -> None:
        """Continues with a state whose windows are still those of the last flush.

        With a watermark, those that end up to it may have been changed.
        """


class CurrentResults(Protocol):
    """The current results of the windows of an operator: those of all rows applied so far (semantics 31.13).

    Windows are given and returned with their keys, window_start and window_end.
    """

    def changed_by(self, work: Callable[[], T]) -> tuple[T, Iterable[Change]]:
        """Does a step of the operator; returns what the step returns, and the changes in their order."""

    def live(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns the results of all live windows, and the closed windows, whose results are not known."""

    def expired(self, windows: pl.DataFrame) -> pl.Series:
        """Returns which windows have expired. A window_end may be null if the start determines it."""


Conversion: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]  # of stored rows


@dataclass(frozen=True)
class TakeOver:
    """How a stored state becomes one of an operator with another specification or input columns (47).

    Attributes:
        header: the header for the operator.
        horizons: the horizon of each table before the change; nothing has expired since.
        tables: the tables whose rows change, each with what makes rows of the operator of stored rows. It
            keeps their number and order, and the columns that identify and sort them.
    """

    header: Mapping[str, Any]
    horizons: Mapping[str, int | None]
    tables: Mapping[str, Conversion] = field(default_factory=dict)


@dataclass(frozen=True)
class Division:
    """How the rows of one table are divided among shards, if a state is continued with another number.

    Each row moves to the shard that gets the later rows of its key.

    Attributes:
        keys: the columns that decide the shard of a row. A column that the table lacks is constant.
        numbers: columns with numbers that are unique within a shard only, each with the field of the header
            that counts them.
        owner: a table of the same state. A row follows the row of this table that has the same value in the
            column `by_owner`. Rows without such a row have no meaning.
        by_owner: the column, in both tables.
        flag: a field of the header. If it is not true in all shards the rows can be made again, and are
            dropped.
    """

    keys: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    by_owner: str = ""
    flag: str | None = None


def division_by_keys(operator: Operator) -> dict[str, Division]:
    """Returns how the tables of an operator with one input are divided: all by the keys that rows have."""
    keys = parts(operator.spec).shard_keys(operator.spec, INPUT) or tuple(operator.plan.ports[INPUT].keys)
    return dict.fromkeys(operator.state.tables, Division(keys))


def _unchanged(state: OperatorState) -> OperatorState:
    return state


def _without_records(plan: Plan) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class EngineParts:
    """The functions by which the engine builds the operators of a family.

    The table of all families knows only that their specifications, plans, operators and states fit each
    other. So these are `Any` as arguments here, and have the types of the family in its own functions.

    Attributes:
        compile: returns the plan of a specification. It builds no operator and no state. It raises SpecError
            if a column is missing or occurs twice, or has a type that the specification cannot use.
        operator: returns an operator that has taken no step. It raises what `compile` raises.
        tables: returns the names of the tables that `inspect` reads, each at the place of its number on disk.
        inspect: returns what a stored state contains, or the part of it that the reader returns, given a
            specification and the header.
        current_results: returns the current results of an operator's windows; None if it has none.
        take_over: returns how an operator takes a state over, given the specification and the header of that.
            None if every change that the family allows leaves tables and headers as they are.
        record_windows: returns the windows of an operator of this plan as Python objects, to which rows are
            added one by one; None if it cannot.
        record_rows: returns the rows of an operator of this plan as Python objects, which are emitted one by
            one; None if they cannot be.
        division: returns how each table of an operator is divided among shards, by its name (semantics 48.6).
        header_rules: returns how the headers of shards become one, given a specification.
        settled: returns a state whose tables have been divided, with what its header says of their rows.
    """

    compile: Callable[[Any, Schemas], Plan]
    operator: Callable[[Any, Schemas], Operator]
    tables: Callable[[Any], tuple[str, ...]]
    inspect: Callable[[Any, Mapping[str, Any], TableReader], Inspection]
    current_results: Callable[[Any], CurrentResults] | None = None
    take_over: Callable[[Any, Any, Mapping[str, Any]], TakeOver] | None = None
    record_windows: Callable[[Any], WindowsInPython | None] = _without_records
    record_rows: Callable[[Any], CopiedTables[Any, Any] | None] = _without_records
    division: Callable[[Any], Mapping[str, Division]] = division_by_keys
    header_rules: Callable[[Any], HeaderRules] = lambda spec: HeaderRules()
    settled: Callable[[Any], OperatorState] = _unchanged


def on_call(reference: str) -> Callable[..., Any]:
    """Returns a function that imports what a reference names when it is called, and calls it.

    Where rows are only packed, a plan is enough. So operators are imported when they are built.

    >>> on_call("math:hypot")(3, 4)
    5.0
    """
    return lambda *arguments: part(reference)(*arguments)


def with_one_input(build: Callable[[Any, Schema], T]) -> Callable[[Any, Schemas], T]:
    """Returns a function that builds plans or operators with one input, given the columns of all ports."""
    return lambda spec, schemas: build(spec, schemas[INPUT])


def engine_parts(spec: Specification) -> EngineParts:
    """Returns the engine's parts of the family of a specification."""
    parts: EngineParts = part(spec.family.engine)
    return parts
