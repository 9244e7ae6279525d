"""The state of policy windows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import polars as pl

from panewise.engine.ingest.input_state import COUNT, InputState
from panewise.engine.store.stored_table import StoredTable
from panewise.spec import Entry
from panewise.state.manifest import Checks

PARTITIONS = "partitions"  # the name of the table


@dataclass(frozen=True, kw_only=True)
class PolicyState(InputState):
    """Everything that policy windows store between steps.

    Attributes:
        partitions: the partitions.
        tally: the number of insertions so far.
    """

    checks: ClassVar[Checks] = {"tally": COUNT}

    partitions: StoredTable
    tally: int = 0

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The partitions."""
        return {PARTITIONS: self.partitions}

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with other partitions."""
        return replace(self, partitions=tables[PARTITIONS])

    def header(self, entry: Entry) -> dict[str, Any]:
        """Returns clocks, marks and the tally unless it is 0."""
        return super().header(entry) | ({"tally": self.tally} if self.tally else {})

    def with_header(self, entry: Entry, schema: Mapping[str, pl.DataType], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header."""
        return replace(super().with_header(entry, schema, header), tally=header.get("tally", 0))
