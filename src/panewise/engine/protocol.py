"""What plans, operators and states of every family have in common.

The runtimes and the checkpoint use operators through these protocols only. What
builds the operators of a family is in :mod:`panewise.engine.family_parts`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Output
from panewise.engine.ingest.validate import Port
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.stored_table import StoredTable
from panewise.families import INPUT
from panewise.spec import Specification

Schema: TypeAlias = Mapping[str, pl.DataType]
Schemas: TypeAlias = Mapping[str, Schema]  # the columns of each port, by the name of the port


class Plan(Protocol):
    """A compiled specification: everything about an operator that does not change while it runs."""

    @property
    def ports(self) -> Mapping[str, Port]:
        """The input ports by name."""

    @property
    def pane_schema(self) -> dict[str, pl.DataType]:
        """The columns of the emitted rows or panes."""


class Readings(Protocol):
    """The clocks of an operator, as the runtimes read them."""

    @property
    def processing_time(self) -> int:
        """The processing time, 0 before the first reading."""

    @property
    def finished(self) -> bool:
        """Whether the input has ended."""

    @property
    def instant_watermark(self) -> int | None:
        """The watermark if it is an instant, None if there is none or it is a number of rows."""


class OperatorState(Protocol):
    """Everything that an operator stores between steps: named tables, and a header for the rest."""

    @property
    def clocks(self) -> Readings:
        """The clocks."""

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables by name. Their order is that of their numbers on disk, so it never changes."""

    @property
    def copies(self) -> frozenset[str]:
        """The names of the tables whose rows are made from those of another table, with its columns."""

    def has_ended(self, port: str) -> bool:
        """Returns whether the input of a port has ended."""

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with these tables in place of its own."""


class Stateful(Protocol):
    """What has a state that a checkpoint stores: an operator, or a member of a nested one."""

    @property
    def state(self) -> OperatorState:
        """The state. It is replaced, never changed."""

    def replace_state(self, state: OperatorState) -> None:
        """Replaces the state by another one of this operator, such as a stored one or that before a step."""

    @property
    def changed(self) -> bool:
        """Whether the tables have changed since the operator was made."""

    def header(self) -> dict[str, Any]:
        """Returns everything of the state that is not in a table, as JSON values."""

    def with_header(self, header: Mapping[str, Any]) -> OperatorState:
        """Returns the state with the values of a header.

        Raises:
            StateError: if a value cannot be one of this operator's.
        """

    def horizons(self, clocks: Any) -> Mapping[str, int | None]:
        """Returns the horizon of each table at these clocks: rows that end at it or before have expired.

        The clocks are those of a state of this operator. Their class depends on the family.
        """

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which something is due; None: nothing is."""


class PartitionControl(Protocol):
    """What only operators with partitions can do (semantics 10.22, 10.23)."""

    def evict(self, partition: Mapping[str, Any]) -> Output:
        """Evicts the partition with these values of its columns, if it exists."""

    def reset(self, before: OperatorState) -> Output:
        """Returns to an earlier state, except for processing time. Emits what is due at that."""

    def reset_to_initial(self) -> Output:
        """Returns to the state before the first row, except for processing time."""


class Operator(Stateful, Protocol):
    """An operator on Polars frames. It knows no runtime and reads no clock.

    Every method that takes an event emits what is due, and returns it as :class:`Output`. The `port` of an
    output names the input of its late rows, invalid rows and counts.
    """

    @property
    def spec(self) -> Specification:
        """The specification."""

    @property
    def plan(self) -> Plan:
        """The plan."""

    @property
    def partitions(self) -> "PartitionControl | None":
        """What can be done with partitions; None if the operator has none."""

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive the watermark, so that a runtime cannot give it again after a restart."""

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows; None if there is none yet.

        No row that is emitted later has an earlier event time, except panes of windows that are already
        complete: late panes, and panes of triggers that fire after the end of a window.
        """

    def live(self) -> pl.DataFrame:
        """Returns what is live: keys, window_start, window_end, pending, closed."""

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves both clocks together. `source` is the input that reports the watermark; None: all do."""

    def note_rows(self, processing_time: int) -> None:
        """Notes that the clock is read for a batch with valid rows, so that no stream is idle (12.12)."""

    def add(self, rows: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds a batch of rows of a port."""

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds a batch with rows of one port or several. Returns an output for each port in it."""

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds partials that :meth:`Port.combine` returned."""

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterable[Output]:
        """Adds valid rows of several ports as one batch, then moves the watermarks that rows drive.

        `latest` has, by port, the highest event time of the valid rows of each input. The state is at once
        that after the batch. The outputs may be made when they are requested, so that they need not be in
        memory together. They are requested before the state is stored.
        """

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a port, or of all ports."""

    def evaluate_all(self) -> Output:
        """Evaluates everything that is stored once, after a change of the specification (semantics 47.4)."""

    def marks(self, port: str = INPUT) -> Marks:
        """Returns the replay marks of a port."""

    def raise_marks(self, marks: Marks, port: str = INPUT) -> None:
        """Replaces the replay marks of a port by those of the rows that all shards have received."""


@dataclass(frozen=True)
class EvaluatedPanes:
    """What one evaluation of a step emits, and the clocks at which it does.

    A step has several evaluations if rows are evaluated one by one, or if its rows move a watermark.
    """

    clocks: Clocks
    panes: pl.DataFrame
