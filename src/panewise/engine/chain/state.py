"""The state of chains."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Self

from panewise.engine.chain.stage import Tables
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windows.state import WINDOWS, WindowState


@dataclass(frozen=True, kw_only=True)
class ChainState(WindowState):
    """The state of the window operator, and two tables of each stage: contributions and windows."""

    stages: tuple[Tables, ...] = ()

    @property
    def tables(self) -> dict[str, StoredTable]:
        """The live windows, the tables of the stages, and the slices of sliding windows."""
        return {WINDOWS: self.windows, **self.stage_tables, **self.slice_tables}

    @property
    def stage_tables(self) -> dict[str, StoredTable]:
        """The tables of the stages."""
        tables = (table for stage in self.stages for table in stage)
        return dict(zip(stage_names(len(self.stages)), tables, strict=True))

    def with_tables(self, tables: Mapping[str, StoredTable]) -> Self:
        """Returns the state with other tables."""
        mine = [tables[name] for name in self.stage_tables]
        stages = tuple(zip(mine[::2], mine[1::2], strict=True))
        return replace(super().with_tables(tables), stages=stages)


def stage_names(stages: int) -> Iterator[str]:
    """Yields the names of the tables of stages.

    >>> list(stage_names(1))
    ['contributions of stage 1', 'windows of stage 1']
    """
    for number in range(1, stages + 1):
        yield f"contributions of stage {number}"
        yield f"windows of stage {number}"
