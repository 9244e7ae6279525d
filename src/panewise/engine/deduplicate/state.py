"""The state of deduplications."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import polars as pl

from panewise.engine.deduplicate.plan import DeduplicatePlan
from panewise.engine.ingest.input_state import COUNT, InputState
from panewise.engine.store.run import MemoryLibrary
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.store.time_queue import TimeQueue
from panewise.spec import Entry
from panewise.state.manifest import Checks

GROUPS, WAITING = "groups", "waiting"  # the names of the tables
_ARRIVED = "arrived"


@dataclass(frozen=True, kw_only=True)
class DeduplicateState(InputState):
    """Everything that a deduplication stores between steps; :class:`DeduplicatePlan` describes the tables.

    `waiting` is None if no row waits. `arrived` is how many rows were in time, if they are numbered.
    """

    checks: ClassVar[Checks] = {_ARRIVED: COUNT}

    groups: StoredTable
    waiting: TimeQueue | None = None
    arrived: int = 0

    @classmethod
    def empty(cls, plan: DeduplicatePlan) -> "DeduplicateState":
        """Returns the state before the first step."""
        waiting = TimeQueue.nothing(plan.waiting, MemoryLibrary()) if plan.spec.waits else None
        return cls(groups=StoredTable.nothing(plan.groups, MemoryLibrary()), waiting=waiting)

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables that the operator has."""
        waiting = {} if self.waiting is None else {WAITING: self.waiting}
        return {GROUPS: self.groups, **waiting}

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with other tables."""
        changes: dict[str, Any] = dict(tables)
        return replace(self, **changes)

    def header(self, entry: Entry) -> dict[str, Any]:
        """Returns the clocks, the marks and the number of rows as JSON values."""
        return super().header(entry) | {_ARRIVED: self.arrived}

    def with_header(self, entry: Entry, schema: Mapping[str, pl.DataType], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header."""
        return replace(super().with_header(entry, schema, header), arrived=header.get(_ARRIVED, 0))
