"""The state of window operators."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import polars as pl

from panewise.engine.ingest.input_state import FLAG, InputState
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windows.sliding.slices import Slices
from panewise.spec import Entry
from panewise.state.manifest import Checks

WINDOWS, SLICES, BLOCKS = "windows", "slices", "blocks"


@dataclass(frozen=True, kw_only=True)
class WindowOperatorState(InputState):
    """Everything that a window operator stores between steps.

    Attributes:
        windows: the live windows.
        slices: the slices of sliding windows, None for other windows.
        received: the number of rows received so far, if their place among all rows matters later.
    """

    checks: ClassVar[Checks] = {"in_blocks": FLAG}
    COUNTS: ClassVar = ("received",)
    copies: ClassVar[frozenset[str]] = frozenset({BLOCKS})

    windows: StoredTable
    slices: Slices | None = None
    received: int = 0

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The windows and, of sliding windows, the slices and their blocks."""
        of_slices = {} if self.slices is None else {SLICES: self.slices.by_time, BLOCKS: self.slices.blocks}
        return {WINDOWS: self.windows, **of_slices}

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with other tables."""
        slices = self.slices and self.slices.having([tables[SLICES], tables[BLOCKS]])
        return replace(self, windows=tables[WINDOWS], slices=slices)

    def header(self, entry: Entry) -> dict[str, Any]:
        """Returns clocks, marks and, of sliding windows, whether their slices are in blocks."""
        in_blocks = {"in_blocks": True} if self.slices is not None and self.slices.in_blocks else {}
        return super().header(entry) | in_blocks

    def with_header(self, entry: Entry, schema: Mapping[str, pl.DataType], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header."""
        state = super().with_header(entry, schema, header)
        slices = state.slices and replace(state.slices, in_blocks=header.get("in_blocks", False))
        return replace(state, slices=slices)
