"""What the methods of joins have in common that store rows until these can have no partner."""

import math
from abc import ABC, abstractmethod
from typing import Any

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.oracle.join.applied import Applied
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.rows import Row, place_of_stored, stored_window
from panewise.spec.operators.join.columns import RIGHT
from panewise.spec.operators.join.operator import JoinOperator


class StoringJoin(ABC):
    """The method of a join: it takes the applied rows, and says what each evaluation emits.

    Args:
        spec: the specification of the join.
        clocks: the clocks of the join.
        emitted: makes the rows to emit.
    """

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        self._spec, self._clocks, self._emitted = spec, clocks, emitted

    def change(self, spec: JoinOperator) -> None:
        """Continues with another specification, whose match is the same."""
        self._spec = spec

    @abstractmethod
    def apply(self, side: str, row: Row) -> None:
        """Takes a row."""

    @abstractmethod
    def evaluate(self) -> list[dict[str, Any]]:
        """Returns what one evaluation emits, in the order of semantics 40.3."""

    @abstractmethod
    def stored(self) -> list[Applied]:
        """Returns the rows that are part of the state (semantics 41 to 41.5)."""

    @abstractmethod
    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` of a row that is emitted later may lie behind `lowest`; None: any."""

    def is_late(self, side: str, row: Row) -> bool:
        """Returns whether a row is behind the horizon of its side (semantics 36.4)."""
        return row.time < self._clocks.horizon(side)

    def lowest(self) -> float:
        """Returns the least event time of rows that are still to be joined: that of both horizons."""
        return min(self._clocks.horizon(side) for side in self._spec.sides)

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows; None if there is none (semantics 40.4)."""
        lowest = self.lowest()
        if lowest == math.inf:
            return MAX_INSTANT
        behind = self.furthest_behind()
        return None if lowest == -math.inf or behind is None else saturating_add(int(lowest), -behind)

    def windows(self) -> list[dict[str, Any]]:
        """Returns the stored rows.

        The order is that of (end, start, keys), then left before right. A row is the window [t, t + 1
        microsecond), without bounds if it has no event time, and names its side as `input`.
        """
        return [window for window, _ in self._stored()]

    def windows_with_rows(self) -> list[dict[str, Any]]:
        """Returns the windows of :meth:`windows`, each with its row at its side."""
        stored = self._stored()
        return [{**window, "rows": {applied.side: [applied.row.values]}} for window, applied in stored]

    def _stored(self) -> list[tuple[dict[str, Any], Applied]]:
        """Returns the stored rows, each with its window."""
        stored = sorted(self.stored(), key=lambda applied: applied.order)
        windows = [
            (self._window(applied), applied)
            for applied in sorted(stored, key=lambda applied: applied.side == RIGHT)
        ]
        return sorted(windows, key=lambda pair: place_of_stored(pair[0], self._spec.keys))

    def _window(self, applied: Applied) -> dict[str, Any]:
        """Returns the window of a stored row; without event times it has no bounds (36.13)."""
        keys, time = dict(zip(self._spec.keys, applied.row.key, strict=True)), applied.row.time
        timed = self._spec.left.event_time is not None
        side = {"__input" if "input" in keys else "input": applied.side}
        return stored_window(keys, time, time + 1, timed=timed) | side
