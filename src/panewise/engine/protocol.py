"""What the engine knows of every operator, and what each family supplies.

The runtimes, the checkpoint and the inspection of states use operators through these protocols only. So a new
family needs no change in them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Output
from panewise.engine.ingest.validate import Port
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.division import Division
from panewise.engine.store.stored_table import StoredTable
from panewise.families import INPUT, part
from panewise.spec import Specification, parts

T = TypeVar("T")
Schema: TypeAlias = Mapping[str, pl.DataType]
Schemas: TypeAlias = Mapping[str, Schema]  # the columns of each port, by the name of the port


class Plan(Protocol):
    """A compiled specification: everything about an operator that does not change while it runs."""

    @property
    def ports(self) -> Mapping[str, Port]:
        """The input ports by name."""
        ...

    @property
    def pane_schema(self) -> dict[str, pl.DataType]:
        """The columns of the emitted rows or panes."""
        ...


class Readings(Protocol):
    """The clocks of an operator, as the runtimes read them."""

    @property
    def processing_time(self) -> int:
        """The processing time, 0 before the first reading."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the input has ended."""
        ...

    @property
    def instant_watermark(self) -> int | None:
        """The watermark if it is an instant, None if there is none or it is a number of rows."""
        ...


class OperatorState(Protocol):
    """Everything that an operator stores between steps: named tables, and a header for the rest."""

    @property
    def clocks(self) -> Readings:
        """The clocks."""
        ...

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables by name. Their order is that of their numbers on disk, so it never changes."""
        ...

    @property
    def copies(self) -> frozenset[str]:
        """The names of the tables whose rows are made from those of another table, with its columns."""
        ...

    def has_ended(self, port: str) -> bool:
        """Returns whether the input of a port has ended."""
        ...

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of its own."""
        ...


class Stateful(Protocol):
    """What has a state that a checkpoint stores: an operator, or a member of a nested one."""

    @property
    def state(self) -> OperatorState:
        """The state. It is replaced, never changed."""
        ...

    @state.setter
    def state(self, state: Any) -> None: ...

    @property
    def changed(self) -> bool:
        """Whether the tables have changed since the operator was made."""
        ...

    def header(self) -> dict[str, Any]:
        """Returns everything of the state that is not in a table, as JSON values."""
        ...

    def with_header(self, header: Mapping[str, Any]) -> OperatorState:
        """Returns the state with the values of a header.

        Raises:
            StateError: if a value cannot be one of this operator's.
        """
        ...

    def horizons(self, clocks: Any) -> Mapping[str, int | None]:
        """Returns the horizon of each table at these clocks: rows that end at it or before have expired."""
        ...

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which something is due; None: nothing is."""
        ...


class PartitionControl(Protocol):
    """What only operators with partitions can do (semantics 10.22, 10.23)."""

    def evict(self, partition: Mapping[str, Any]) -> Output:
        """Evicts the partition with these values of its columns, if it exists."""
        ...

    def reset(self, before: Any) -> Output:
        """Returns to an earlier state, except for processing time. Emits what is due at that."""
        ...

    def reset_to_initial(self) -> Output:
        """Returns to the state before the first row, except for processing time."""
        ...


class Operator(Stateful, Protocol):
    """An operator on Polars frames. It knows no runtime and reads no clock.

    Every method that takes an event emits what is due, and returns it as :class:`Output`. The `port` of an
    output names the input of its late rows, invalid rows and counts.
    """

    @property
    def spec(self) -> Specification:
        """The specification."""
        ...

    @property
    def plan(self) -> Plan:
        """The plan."""
        ...

    @property
    def partitions(self) -> "PartitionControl | None":
        """What can be done with partitions; None if the operator has none."""
        ...

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive the watermark, so that a runtime cannot give it again after a restart."""
        ...

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows; None if there is none yet.

        No row that is emitted later has an earlier event time, except panes of windows that are already
        complete: late panes, and panes of triggers that fire after the end of a window.
        """
        ...

    def live(self) -> pl.DataFrame:
        """Returns what is live: keys, window_start, window_end, pending, closed."""
        ...

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves both clocks together. `source` is the input that reports the watermark; None: all do."""
        ...

    def note_rows(self, processing_time: int) -> None:
        """Notes that the clock is read for a batch with valid rows, so that no stream is idle (12.12)."""
        ...

    def add(self, rows: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds a batch of rows of a port."""
        ...

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds a batch with rows of one port or several. Returns an output for each port in it."""
        ...

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds partials that :meth:`Port.combine` returned."""
        ...

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterable[Output]:
        """Adds valid rows of several ports as one batch, then moves the watermarks that rows drive.

        `latest` has, by port, the highest event time of the valid rows of each input. The state is at once
        that after the batch. The outputs may be made when they are requested, so that they need not be in
        memory together. They are requested before the state is stored.
        """
        ...

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a port, or of all ports."""
        ...

    def evaluate_all(self) -> Output:
        """Evaluates everything that is stored once, after a change of the specification (semantics 47.4)."""
        ...

    def marks(self, port: str = INPUT) -> Marks:
        """Returns the replay marks of a port."""
        ...

    def raise_marks(self, marks: Marks, port: str = INPUT) -> None:
        """Replaces the replay marks of a port by those of the rows that all shards have received."""
        ...


@dataclass(frozen=True)
class EvaluatedPanes:
    """What one evaluation of a step emits, and the clocks at which it does.

    A step has several evaluations if rows are evaluated one by one, or if its rows move a watermark.
    """

    clocks: Clocks
    panes: pl.DataFrame


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
        self,
        table: str,
        columns: list[str],
        identity: list[str],
        cell: list[str],
        horizon: int | None,
        apart: list[str],
    ) -> pl.DataFrame:
        """Returns columns of the live rows of the table with this name; no columns if it has no runs.

        `identity` is that of :class:`panewise.engine.store.run.Shape`, and `cell` its `by`. Rows that differ
        in the columns `apart`, which are among `columns`, have nothing to do with each other. So the reader
        may return a part of the rows: all that are equal in these columns, or none.
        """
        ...


class CurrentResults(Protocol):
    """The current results of the windows of an operator: those of all rows applied so far (semantics 31.13).

    Windows are given and returned with their keys, window_start and window_end.
    """

    def changed_by(self, work: Callable[[], T]) -> tuple[T, Iterable[Change]]:
        """Does a step of the operator; returns what the step returns, and the changes in their order."""
        ...

    def live(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns the results of all live windows, and the closed windows, whose results are not known."""
        ...

    def expired(self, windows: pl.DataFrame) -> pl.Series:
        """Returns which windows have expired. A window_end may be null if the start determines it."""
        ...


Conversion: TypeAlias = Callable[[pl.DataFrame], pl.DataFrame]  # of stored rows


@dataclass(frozen=True)
class TakeOver:
    """How a stored state of another specification becomes one of an operator (semantics 47).

    Attributes:
        header: the header for the operator.
        horizons: the horizon of each table under the other specification; nothing has expired since.
        tables: the tables whose rows change, each with what makes rows of the operator of stored rows. It
            keeps their number and order, and the columns that identify and sort them.
    """

    header: Mapping[str, Any]
    horizons: Mapping[str, int | None]
    tables: Mapping[str, Conversion] = field(default_factory=dict)


def division_by_keys(operator: Any) -> dict[str, Division]:
    """Returns how the tables of an operator with one input are divided: all by the keys that rows have."""
    keys = parts(operator.spec).shard_keys(operator.spec, INPUT) or tuple(operator.plan.ports[INPUT].keys)
    return dict.fromkeys(operator.state.tables, Division(keys))


def _unchanged(state: Any) -> Any:
    return state


def _without_records(plan: Any) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class EngineParts:
    """The functions by which the engine builds the operators of a family.

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
            added one by one (:class:`panewise.engine.windows.records.RecordWindows`); None if it cannot.
        division: returns how each table of an operator is divided among shards, by its name (semantics 48.6).
        settled: returns a state whose tables have been divided, with what its header says of their rows.
    """

    compile: Callable[[Any, Schemas], Plan]
    operator: Callable[[Any, Schemas], Operator]
    tables: Callable[[Any], tuple[str, ...]]
    inspect: Callable[[Any, Mapping[str, Any], TableReader], Inspection]
    current_results: Callable[[Any], CurrentResults] | None = None
    take_over: Callable[[Any, Any, Mapping[str, Any]], TakeOver] | None = None
    record_windows: Callable[[Any], Any] = _without_records
    division: Callable[[Any], Mapping[str, Division]] = division_by_keys
    settled: Callable[[Any], Any] = _unchanged


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
