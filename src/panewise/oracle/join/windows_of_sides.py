"""Windows over the rows of both sides: the rows of a batch are those of one input (semantics 37.11)."""

import math
from typing import Any

from panewise.oracle.join.applied import Applied, CollectedOutput
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.rows import Row
from panewise.oracle.windows.interpreter import Interpreter
from panewise.spec.operators.join.columns import SIDES
from panewise.spec.operators.join.windowing import ROW_NUMBER, ROW_TIME, row_key


class WindowsOfSides:
    """A window operator of the rows of both sides. It decides which rows are late, and when windows fire.

    Args:
        keys: the key columns of the left side.
        clocks: the clocks of both sides.
        operator: the interpreter of the windows. A row has its place among all rows as its number.
    """

    def __init__(self, keys: tuple[str, ...], clocks: SideClocks, operator: Interpreter) -> None:
        self._keys, self._clocks, self._operator = keys, clocks, operator
        self._rows: dict[int, Applied] = {}
        self._batch: list[Applied] = []
        self._passed_on: tuple[int, float] = 0, -math.inf  # the clocks that the window operator has
        self._panes: list[dict[str, Any]] = []

    def add(self, side: str, row: Row) -> None:
        """Takes a row that is no replay. It waits for the end of its batch."""
        applied = Applied(side, row, len(self._rows))
        self._rows[applied.place] = applied
        self._batch.append(applied)

    def take_rows(self, output: CollectedOutput) -> None:
        """Adds the rows of a batch to their windows. Adds the late ones, and the counts, to the output."""
        of_windows = self._operator.add(map(_as_input, self._batch))
        late = {entry["row"][ROW_NUMBER]: entry for entry in of_windows["late"]}
        for applied in self._batch:
            rejected = late.get(applied.place)
            if rejected is None or rejected["partial"]:
                output.count(applied.side, "applied")
            else:
                output.count(applied.side, "late")
            if rejected is not None:
                output.late.append({**rejected, "row": dict(applied.row.added), "input": applied.side})
                if rejected["partial"]:
                    output.count(applied.side, "partially_late")
        self._batch = []
        self._panes += of_windows["panes"]

    def windows(self) -> list[dict[str, Any]]:
        """Returns the live windows, with the keys of the left side."""
        return [self.with_own_keys(window) for window in self._operator.windows()]

    def windows_with_rows(self) -> list[dict[str, Any]]:
        """Returns the live windows, each with its rows by side and whether it is complete."""
        return [
            {**self.with_own_keys(window), "rows": self._by_side(window["rows"])}
            for window in self._operator.progress()["windows"]
        ]

    def _by_side(self, inputs: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """Returns the rows of a window by side, each in the order of their arrival."""
        rows = [self._rows[row[ROW_NUMBER]] for row in inputs]
        return {side: [applied.row.values for applied in rows if applied.side == side] for side in SIDES}

    def with_own_keys(self, pane: dict[str, Any]) -> dict[str, Any]:
        """Returns a window or pane with the keys of the left side."""
        names = {row_key(place): name for place, name in enumerate(self._keys)}
        return {names.get(name, name): value for name, value in pane.items()}

    def _moved(self) -> list[dict[str, Any]]:
        """Moves the clocks of the windows. Returns the panes since the last call."""
        now, lower = self._clocks.processing_time, self._clocks.lower()
        if (now, lower) != self._passed_on and lower == math.inf:
            self._panes += self._operator.advance(now, None)["panes"]
            self._panes += self._operator.finish()["panes"]
        elif (now, lower) != self._passed_on:
            watermark = None if lower == -math.inf else int(lower)
            self._panes += self._operator.advance(now, watermark)["panes"]
        self._passed_on = now, lower
        panes, self._panes = self._panes, []
        return panes


def _as_input(applied: Applied) -> dict[str, Any]:
    """Returns a row of either side as the window operator takes it."""
    keys = {row_key(place): value for place, value in enumerate(applied.row.key)}
    return {**applied.row.values, **keys, ROW_TIME: applied.row.time, ROW_NUMBER: applied.place}
