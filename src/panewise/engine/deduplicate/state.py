"""The state of deduplications."""

from dataclasses import dataclass
from typing import Any, ClassVar

from panewise.engine.deduplicate.plan import DeduplicatePlan
from panewise.engine.ingest.input_state import InputState
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.tables.time_queue import TimeQueue
from panewise.spec import Entry
from panewise.state.manifest import whole

GROUPS, WAITING = "groups", "waiting"  # the names of the tables


@dataclass(frozen=True, kw_only=True)
class DeduplicateState(InputState):
    """Everything that a deduplication stores between steps; :class:`DeduplicatePlan` describes the tables.

    `waiting` is None if no row waits. `arrived` is how many rows were in time, if they are numbered.
    """

    TABLES: ClassVar = (GROUPS, WAITING)
    FIELDS: ClassVar = {"arrived": whole(0)}

    groups: StoredTable
    waiting: TimeQueue | None = None
    arrived: int = 0

    @classmethod
    def empty(cls, plan: DeduplicatePlan) -> "DeduplicateState":
        """Returns the state before the first step."""
        waiting = TimeQueue.nothing(plan.waiting) if plan.spec.waits else None
        return cls(groups=StoredTable.nothing(plan.groups), waiting=waiting)

    def header(self, entry: Entry) -> dict[str, Any]:
        """Returns clocks, marks and the number of rows, even if it is 0."""
        return super().header(entry) | {"arrived": self.arrived}
