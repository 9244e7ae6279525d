"""The rows that a join emits (semantics 40 to 40.2)."""

from collections.abc import Mapping, Sequence
from typing import Any

from panewise.oracle.rows import Row, as_key
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, MISSING, RIGHT, Selected
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.panes import OP
from panewise.spec.windows.traits import closed_at_end

Pane = Mapping[str, Any]


class EmittedRows:
    """Makes emitted rows. The types of the columns of each side are given."""

    def __init__(self, spec: JoinOperator, types: Mapping[str, Mapping[str, str]]) -> None:
        self._spec = spec
        self._columns = {
            side: dict.fromkeys((*types[side], *entry.columns_read)) for side, entry in spec.ports.items()
        }
        self._selected = spec.selected(self._columns)
        # The columns that are known of a row from before a change, by the identity of the row (47.16).
        self._known: dict[int, set[str]] = {}

    def change(self, spec: JoinOperator, rows: Sequence[tuple[str, Row]]) -> None:
        """Continues with other columns. Only those earlier rows are known that were emitted before."""
        if spec.select != self._spec.select:
            for side, row in rows:
                mine = (side, EITHER) if side == LEFT else (side,)
                known = {column.column for column in self._selected if column.side in mine}
                self._known[id(row)] = known & self._known.get(id(row), known)
        self._spec, self._selected = spec, spec.selected(self._columns)

    def pair(self, left: Row, right: Row, op: str = "+", window: Pane | None = None) -> dict[str, Any]:
        """Returns the row of a pair, with the event time that `timestamp` chooses (semantics 40.1).

        `window` is the pane of its window, if there are windows.
        """
        times = {"left": left.time, "right": right.time}
        times |= {"later": max(left.time, right.time), "earlier": min(left.time, right.time)}
        values = {**self._values({LEFT: left, RIGHT: right}), OP: op, MISSING: None}
        if self._spec.left.event_time is None:  # semantics 36.13
            return values
        assert self._spec.timestamp is not None
        time = self._window_time(window) if self._spec.timestamp == "window" else times[self._spec.timestamp]
        return {**values, **self._of_window(window), JOIN_TIME: time}

    def alone(self, side: str, row: Row, op: str, window: Pane | None = None) -> dict[str, Any]:
        """Returns a row without a partner, or one of `semi`."""
        missing = {} if self._spec.how in ("semi", "anti") else {MISSING: RIGHT if side == LEFT else LEFT}
        time = self._window_time(window) if self._spec.timestamp == "window" else row.time
        of_time = {} if self._spec.left.event_time is None else {JOIN_TIME: time}
        return {**self._values({side: row}), OP: op, **missing, **self._of_window(window), **of_time}

    def _window_time(self, window: Pane | None) -> int:
        """Returns the last instant of a window (semantics 40.1)."""
        windows = self._spec.ports[LEFT].window
        assert window is not None and windows is not None
        end: int = window["window_end"]
        return end if closed_at_end(windows) else end - 1

    def _values(self, rows: Mapping[str, Row]) -> dict[str, Any]:
        return {column.name: self._value(column, rows) for column in self._selected}

    def _value(self, selected: Selected, rows: Mapping[str, Row]) -> Any:
        """Returns the value of a column; null if its side is missing (semantics 40.2)."""
        if selected.side != EITHER:
            row = rows.get(selected.side)
            keys, name = self._spec.sides[selected.side].keys, selected.column
            known = row is not None and (name in keys or name in self._known.get(id(row), (name,)))
            return row.values[name] if row is not None and known else None
        number = self._spec.left.keys.index(selected.column)
        name = selected.column if LEFT in rows else self._spec.right.keys[number]
        return as_key((rows[LEFT] if LEFT in rows else rows[RIGHT]).values[name])

    def _of_window(self, window: Pane | None) -> dict[str, Any]:
        return {} if window is None else {name: window[name] for name in self._spec.window_columns}
