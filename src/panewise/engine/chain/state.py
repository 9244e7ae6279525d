"""The state of chains."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from panewise.engine.chain.stage import Tables
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windows.state import WindowState


@dataclass(frozen=True, kw_only=True)
class ChainState(WindowState):
    """The state of the window operator, and two tables of each stage: contributions and windows."""

    stages: tuple[Tables, ...] = ()

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The live windows, the tables of the stages, and the slices of sliding windows."""
        return {"windows": self.windows, **self.stage_tables, **self.slice_tables}

    @property
    def stage_tables(self) -> dict[str, StoredTable]:
        """The tables of the stages."""
        named: dict[str, StoredTable] = {}
        for number, (contributions, windows) in enumerate(self.stages, start=1):
            named |= {
                f"contributions of stage {number}": contributions,
                f"windows of stage {number}": windows,
            }
        return named

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with other tables."""
        mine = [tables[name] for name in self.stage_tables]
        stages = tuple(zip(mine[::2], mine[1::2], strict=True))
        return replace(super().with_tables(tables), stages=stages)
