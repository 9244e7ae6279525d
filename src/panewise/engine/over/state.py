"""The state of OVER operators."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from panewise.engine.ingest.input_state import InputState
from panewise.engine.over.plan import OverPlan
from panewise.engine.store.run import MemoryLibrary
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.store.time_queue import TimeQueue

WAITING = "waiting"  # the name of the table of rows that have not passed


@dataclass(frozen=True, kw_only=True)
class OverState(InputState):
    """Everything that an OVER operator stores between steps; :class:`OverPlan` describes the tables.

    `passed` and `blocks` are None if no column has a range that is computed from partials.
    """

    waiting: TimeQueue
    recent: StoredTable
    running: StoredTable
    passed: TimeQueue | None = None
    blocks: StoredTable | None = None

    @classmethod
    def empty(cls, plan: OverPlan) -> "OverState":
        """Returns the state before the first step."""
        return cls(
            waiting=TimeQueue.nothing(plan.waiting, MemoryLibrary()),
            recent=StoredTable.nothing(plan.recent, MemoryLibrary()),
            running=StoredTable.nothing(plan.running, MemoryLibrary()),
            passed=TimeQueue.nothing(plan.passed, MemoryLibrary()) if plan.ranges else None,
            blocks=StoredTable.nothing(plan.blocks, MemoryLibrary()) if plan.ranges else None,
        )

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The tables that the operator has."""
        own: dict[str, StoredTable | None] = {
            WAITING: self.waiting,
            "recent": self.recent,
            "running": self.running,
            "passed": self.passed,
            "blocks": self.blocks,
        }
        return {name: table for name, table in own.items() if table is not None}

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with other tables."""
        changes: dict[str, Any] = dict(tables)
        return replace(self, **changes)
