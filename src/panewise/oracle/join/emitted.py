"""The rows that a join emits (semantics 40 to 40.2)."""

from collections.abc import Mapping
from typing import Any

from panewise.oracle.rows import Row, as_key
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, MISSING, OP, RIGHT, Selected
from panewise.spec.operators.join.operator import JoinOperator


class EmittedRows:
    """Makes emitted rows.

    Args:
        spec: the specification of the join.
        types: the types of the columns of each side.
    """

    def __init__(self, spec: JoinOperator, types: Mapping[str, Mapping[str, str]]) -> None:
        self._spec = spec
        columns = {
            side: dict.fromkeys((*types[side], *entry.columns_read)) for side, entry in spec.ports.items()
        }
        self._selected = spec.selected(columns)

    def pair(self, left: Row, right: Row) -> dict[str, Any]:
        """Returns the row of a pair, with the event time that `timestamp` chooses (semantics 40.1)."""
        times = {"left": left.time, "right": right.time}
        times |= {"later": max(left.time, right.time), "earlier": min(left.time, right.time)}
        assert self._spec.timestamp is not None
        values = self._values({LEFT: left, RIGHT: right})
        return {**values, OP: "+", MISSING: None, JOIN_TIME: times[self._spec.timestamp]}

    def alone(self, side: str, row: Row, op: str) -> dict[str, Any]:
        """Returns a row without a partner, or one of `semi`."""
        missing = {} if self._spec.how in ("semi", "anti") else {MISSING: RIGHT if side == LEFT else LEFT}
        return {**self._values({side: row}), OP: op, **missing, JOIN_TIME: row.time}

    def _values(self, rows: Mapping[str, Row]) -> dict[str, Any]:
        return {one.name: self._value(one, rows) for one in self._selected}

    def _value(self, one: Selected, rows: Mapping[str, Row]) -> Any:
        """Returns the value of a column; null if its side is missing (semantics 40.2)."""
        if one.side != EITHER:
            return rows[one.side].values[one.column] if one.side in rows else None
        number = self._spec.left.keys.index(one.column)
        name = one.column if LEFT in rows else self._spec.right.keys[number]
        return as_key((rows[LEFT] if LEFT in rows else rows[RIGHT]).values[name])
