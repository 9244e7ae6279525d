"""The state of OVER operators."""

from dataclasses import dataclass
from typing import ClassVar

from panewise.engine.ingest.input_state import InputState
from panewise.engine.over.plan import OverPlan
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.tables.time_queue import TimeQueue

WAITING = "waiting"  # the name of the table of rows that have not passed


@dataclass(frozen=True, kw_only=True)
class OverState(InputState):
    """Everything that an OVER operator stores between steps; :class:`OverPlan` describes the tables.

    `passed` and `blocks` are None if no column has a range that is computed from partials.
    """

    TABLES: ClassVar = (WAITING, "recent", "running", "passed", "blocks")

    waiting: TimeQueue
    recent: StoredTable
    running: StoredTable
    passed: TimeQueue | None = None
    blocks: StoredTable | None = None

    @classmethod
    def empty(cls, plan: OverPlan) -> "OverState":
        """Returns the state before the first step."""
        return cls(
            waiting=TimeQueue.nothing(plan.waiting),
            recent=StoredTable.nothing(plan.recent),
            running=StoredTable.nothing(plan.running),
            passed=TimeQueue.nothing(plan.passed) if plan.ranges else None,
            blocks=StoredTable.nothing(plan.blocks) if plan.ranges else None,
        )
