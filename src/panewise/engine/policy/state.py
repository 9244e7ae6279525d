"""The state of policy windows."""

from dataclasses import dataclass
from typing import ClassVar

from panewise.engine.ingest.input_state import InputState
from panewise.engine.tables.stored_table import StoredTable
from panewise.state.manifest import whole

PARTITIONS = "partitions"  # the name of the table


@dataclass(frozen=True, kw_only=True)
class PolicyState(InputState):
    """Everything that policy windows store between steps.

    Attributes:
        partitions: the partitions.
        tally: the number of insertions so far.
    """

    TABLES: ClassVar = (PARTITIONS,)
    FIELDS: ClassVar = {"tally": whole(0)}

    partitions: StoredTable
    tally: int = 0
