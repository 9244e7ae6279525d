"""Operators that follow one another, as one operator: each takes what the one before it emits.

A step of the first operator consists of evaluations, each with its clocks and what it emits. They pass
through the operators that follow. Invariant: an evaluation passes through all of them before the next does.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import polars as pl

from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Output
from panewise.engine.kernels.instants import lowest
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.nested.state import MemberTables, NestedClocks, NestedState, header_in
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import (
    EvaluatedPanes,
    Operator,
    OperatorState,
    PartitionControl,
    Plan,
    Stateful,
)
from panewise.families import INPUT
from panewise.spec import Specification

F = TypeVar("F", bound=Operator)
S = TypeVar("S", bound=Stateful)


class NestedEngine(ABC, Generic[F, S]):
    """An operator and those that follow it.

    Attributes:
        HEADER: the field of the header that has the header of the operator which follows the first one. None
            if those that follow add nothing to the header, and read that of the first one.
        spec: the specification.
        plan: the plan.
        first: the operator that takes the input. Late rows, invalid rows and counts are its own.
        following: the operators that follow it, in order. Panes are those of the last one.
        member_tables: for each table its member, and its name there.
        no_panes: an empty frame with the columns of panes.
    """

    HEADER: ClassVar[str | None] = None
    partitions: ClassVar[PartitionControl | None] = None

    def __init__(
        self, spec: Specification, plan: Plan, first: F, following: Iterable[S], member_tables: MemberTables
    ) -> None:
        self.spec, self.plan, self.first, self.following = spec, plan, first, tuple(following)
        self.member_tables, self.no_panes = member_tables, pl.DataFrame(schema=plan.pane_schema)

    def __copy__(self) -> "NestedEngine[F, S]":
        """Returns an operator with members of its own. The states of these are never changed in place."""
        other = object.__new__(type(self))
        following = tuple(map(copy, self.following))
        other.__dict__.update(self.__dict__, first=copy(self.first), following=following)
        return other

    @property
    def _members(self) -> tuple[Stateful, ...]:
        return self.first, *self.following

    @property
    def state(self) -> NestedState:
        """The states of all members."""
        return NestedState(tuple(member.state for member in self._members), self.member_tables)

    def replace_state(self, state: OperatorState) -> None:
        """Replaces the states of all members."""
        assert isinstance(state, NestedState)
        for member, of_member in zip(self._members, state.members, strict=True):
            member.replace_state(of_member)

    @property
    def changed(self) -> bool:
        """Whether the tables have changed since the operator was made."""
        return any(member.changed for member in self._members)

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive a watermark of the first operator."""
        return self.first.clocks_are_own

    def header(self) -> dict[str, Any]:
        """Returns the header of the first operator, with that of the operator which follows it in a field."""
        inner = {} if self.HEADER is None else {self.HEADER: self.following[0].header()}
        return self.first.header() | inner

    def with_header(self, header: Mapping[str, Any]) -> NestedState:
        """Returns the states with the values of a header."""
        inner = header if self.HEADER is None else header_in(self.HEADER, header)
        states = (member.with_header(inner) for member in self.following)
        return NestedState((self.first.with_header(header), *states), self.member_tables)

    def horizons(self, clocks: NestedClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table at these clocks."""
        horizons = [member.horizons(own) for member, own in zip(self._members, clocks.members, strict=True)]
        return {name: horizons[number][own] for name, (number, own) in self.member_tables.items()}

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which something is due; None: nothing is.

        The watermark of a member is never above that of the member before it.
        """
        return lowest(member.next_due() for member in self._members)

    @property
    @abstractmethod
    def windows(self) -> Operator:
        """The window operator. Panes have its watermark."""

    def output_watermark(self) -> int | None:
        """Returns the watermark of the panes."""
        return self.windows.output_watermark()

    def live(self) -> pl.DataFrame:
        """Returns the live windows."""
        return self.windows.live()

    def marks(self, port: str = INPUT) -> Marks:
        """Returns the replay marks of a port."""
        return self.first.marks(port)

    def raise_marks(self, marks: Marks, port: str = INPUT) -> None:
        """Replaces the replay marks of a port by those of the rows that all shards have received."""
        self.first.raise_marks(marks, port)

    def note_rows(self, processing_time: int) -> None:
        """Notes that the clock is read for a batch with valid rows."""
        self.first.note_rows(processing_time)

    def add(self, rows: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds a batch of rows of a port."""
        return self._single_output(lambda: self.first.add(rows, port))

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds a batch with rows of one port or several. Returns an output for each port in it."""
        return self._step(lambda: self.first.add_batch(rows))

    @property
    def combined_input(self) -> Self | None:
        """The operations on partials: the operator itself has them, if the first operator has."""
        return None if self.first.combined_input is None else self

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds partials that the port has returned."""
        of_first = self.first.combined_input
        assert of_first is not None, "only ports of an operator with a combined_input combine rows"
        return self._single_output(lambda: of_first.add_combined(partials, port))

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> list[Output]:
        """Adds valid rows of all ports as one batch, and moves the watermarks that rows drive."""
        return self._step(lambda: self.first.add_together(valid, latest))

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves the clocks. `source` is the input that reports the watermark; None: all do."""
        return self._single_output(lambda: self.first.advance(processing_time, watermark, source))

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a port, or of all ports."""
        return self._single_output(lambda: self.first.finish(port))

    def evaluate_all(self) -> Output:
        """Evaluates what the first operator stores once, after a change of its specification."""
        return self._single_output(self.first.evaluate_all)

    def _single_output(self, step: Callable[[], Output]) -> Output:
        (output,) = self._step(lambda: [step()])
        return output

    def _step(self, step: Callable[[], Iterable[Output]]) -> list[Output]:
        """Does a step of the first operator, and passes its evaluations on.

        Returns the outputs of the first operator. The first one has all panes.
        """
        outputs, evaluations = self._evaluated(step)
        panes = vstack_frames([self.no_panes, *map(self._through, evaluations)])
        if not outputs and panes.height:
            outputs = [self._nothing(next(iter(self.plan.ports)))]
        return [
            replace(output, panes=self.no_panes if place else panes) for place, output in enumerate(outputs)
        ]

    def _nothing(self, name: str) -> Output:
        port = self.plan.ports[name]
        nothing = Output.nothing({}, port.late_schema, port.invalid_schema)
        return replace(nothing, panes=self.no_panes, port=name)

    @abstractmethod
    def _evaluated(
        self, step: Callable[[], Iterable[Output]]
    ) -> tuple[Sequence[Output], Iterable[EvaluatedPanes]]:
        """Does a step of the first operator. Returns its outputs and evaluations."""

    def _through(self, evaluation: EvaluatedPanes) -> pl.DataFrame:
        for follower in self.following:
            evaluation = replace(evaluation, panes=self._follow(follower, evaluation))
        return evaluation.panes

    @abstractmethod
    def _follow(self, follower: S, evaluation: EvaluatedPanes) -> pl.DataFrame:
        """Passes an evaluation to an operator that follows. Returns its panes."""


def advanced(operator: Operator, clocks: Clocks) -> list[pl.DataFrame]:
    """Moves the clocks of a window operator to these, if they are later. Returns what it emits."""
    before, watermark = operator.state.clocks, clocks.watermark
    rises = watermark is not None and (
        before.instant_watermark is None or watermark > before.instant_watermark
    )
    if clocks.finished and not before.finished:
        return [operator.finish().panes]
    if not clocks.finished and (rises or clocks.processing_time > before.processing_time):
        return [operator.advance(clocks.processing_time, watermark).panes]
    return []
