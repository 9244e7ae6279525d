"""The state of window operators."""

from dataclasses import dataclass
from typing import ClassVar, Final

from panewise.engine.ingest.input_state import InputState
from panewise.engine.merged_header import HeaderRules
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.windows.sliding.slices import BLOCKS, SLICES, Slices
from panewise.state.manifest import flag, whole

WINDOWS = "windows"
# Blocks stay only if all shards have them.
HEADER_RULES: Final = HeaderRules({"closes": any, "received": max}, of_all=("in_blocks",))


@dataclass(frozen=True, kw_only=True)
class WindowOperatorState(InputState):
    """Everything that a window operator stores between steps.

    Attributes:
        windows: the live windows.
        slices: the slices of sliding windows, None for other windows.
        blocks: the blocks of these slices.
        in_blocks: whether all slices are also in blocks. Otherwise there are no blocks.
        received: the number of rows received so far, if their place among all rows matters later.
        rebuilds: whether a change of the specification needs the partials of stored sliding windows again.
        makes: whether it needs the sliding windows that are not made yet. Its evaluation resets both.
        closes: whether an earlier trigger may have closed windows. Their rows are late (semantics 47.4).
    """

    TABLES: ClassVar = (WINDOWS, SLICES, BLOCKS)
    FIELDS: ClassVar = {
        "received": whole(0),
        "in_blocks": flag,
        "closes": flag,
        "rebuilds": flag,
        "makes": flag,
    }
    copies: ClassVar[frozenset[str]] = frozenset({BLOCKS})

    windows: StoredTable
    slices: StoredTable | None = None
    blocks: StoredTable | None = None
    in_blocks: bool = False
    received: int = 0
    closes: bool = False
    rebuilds: bool = False
    makes: bool = False

    @property
    def sliced(self) -> Slices:
        """The slices and blocks of sliding windows."""
        assert self.slices is not None and self.blocks is not None
        return Slices(self.slices, self.blocks, self.in_blocks)
