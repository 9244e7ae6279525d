"""The interpreter of an operator with two sides: rows in, clocks and evaluations (semantics 36 to 36.7)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from panewise.oracle.columns import checked_types, sort_key
from panewise.oracle.join.applied import CollectedOutput
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.windows_of_sides import WindowsOfSides
from panewise.oracle.outputs import Output, rows_after_finish
from panewise.oracle.received_offsets import ReceivedOffsets
from panewise.oracle.rows import Row, arrival_order, invalid_delta_reason, invalid_reason, read_row
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.side_entry import SideEntry, TwoSided

SideTypes: TypeAlias = Mapping[str, Mapping[str, str]]  # the types of the columns of each side, by name


class TwoSidedInterpreter:
    """Interprets an operator with two sides. A subclass sets `_method`, which takes the applied rows.

    Args:
        spec: the specification.
        types: the types of the columns of each side.
    """

    _method: Any

    def __init__(self, spec: TwoSided, types: SideTypes | None = None) -> None:
        self._two_sided = spec
        self._types = {side: checked_types((types or {}).get(side)) for side in spec.sides}
        self._clocks = SideClocks(spec)
        self._arrived: list[tuple[str, Row]] = []  # all valid rows
        self._positions = {side: ReceivedOffsets() for side in spec.sides}

    def add(self, rows: Iterable[dict[str, Any]], port: str) -> Output:
        """Adds a batch of rows of one side."""
        return self.add_batch({port: rows})

    def add_batch(self, rows: Mapping[str, Iterable[dict[str, Any]]]) -> Output:
        """Adds a batch of rows of both sides, given by side (semantics 36.6, 36.7).

        Raises:
            InputError: for rows of a side whose input has ended.
        """
        ended = [side for side in rows if self._clocks.has_ended(side)]
        if ended:
            raise rows_after_finish(f" of the {ended[0]} side")
        output = CollectedOutput()
        valid = {side: self._valid(side, list(of_side), output) for side, of_side in rows.items()}
        for side, row in rows_of_both_sides(self._two_sided, self._types, valid):
            self._arrive(side, row, output)
            if self._two_sided.evaluate == "record":
                self._evaluate_rows(output)
        if self._two_sided.evaluate == "batch":
            self._evaluate_rows(output)
        return output.as_output()

    def change(self, spec: TwoSided) -> Output:
        """Continues with another specification of the inputs (semantics 47)."""
        self._two_sided = spec
        self._clocks.change(spec)
        return CollectedOutput(self._evaluate_change()).as_output()

    def _evaluate_change(self) -> list[dict[str, Any]]:
        """Returns what a change of the specification emits at once. Here nothing is due."""
        return []

    def watermark(self, to: int, source: str | None = None) -> Output:
        """Moves the watermark of a side, or of both."""
        self._clocks.report(to, source)
        return CollectedOutput(self._method.evaluate()).as_output()

    def clock(self, to: int) -> Output:
        """Moves the processing time."""
        self._clocks.read(to)
        return CollectedOutput(self._method.evaluate()).as_output()

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a side, or of both."""
        self._clocks.finish(port)
        return CollectedOutput(self._method.evaluate()).as_output()

    def windows(self) -> list[dict[str, Any]]:
        """Returns the live windows; without windows the stored rows (semantics 41, 41.1, 41.4).

        Keys have the names of the left side.
        """
        return [*self._method.windows()]

    def progress(self) -> dict[str, Any]:
        """Returns the processing time, the watermark of each side, and what is stored.

        This is what :meth:`windows` returns, with rows by side; a stored row is alone, at its side.
        """
        watermarks = {side: self._clocks.watermark(side) for side in self._two_sided.sides}
        return {
            "processing_time": self._clocks.processing_time,
            "watermark": {
                side: None if watermark == -math.inf else watermark for side, watermark in watermarks.items()
            },
            "windows": self._method.windows_with_rows(),
        }

    # Rows in

    def _valid(self, side: str, rows: list[dict[str, Any]], output: CollectedOutput) -> list[Row]:
        """Counts the rows of a side; returns the valid ones in their arrival order (semantics 3, 15)."""
        entry, types, now = self._two_sided.ports[side], self._types[side], self._clocks.processing_time
        time = now if entry.time_columns else 0  # rows without event times are equal in t (36.13)
        valid = []
        for row in arrival_order(entry, types, rows):
            reason = invalid_row_reason(entry, types, row, now)
            output.count(side, "rows_in")
            if reason is None:
                valid.append(read_row(entry, types, row, time))
            else:
                output.count(side, "invalid")
                output.invalid.append({"row": dict(row), "reason": reason, "input": side})
        return valid

    def _arrive(self, side: str, row: Row, output: CollectedOutput) -> None:
        """Applies a valid row, unless it is a replay or late (semantics 4, 36.4)."""
        self._clocks.record_time(side, row.time)
        if self._positions[side].is_replay(self._two_sided.sides[side].position, row.values):
            output.count(side, "replays")
        elif isinstance(self._method, WindowsOfSides):
            self._method.add(side, row)  # its windows decide whether it is late
        elif self._method.is_late(side, row):
            output.count(side, "late")
            late_by = self._clocks.late_by(side, row.time)
            reason = {"reason": "behind", "windows": list[Any](), "late_by": late_by, "partial": False}
            output.late.append({"row": dict(row.added), **reason, "input": side})
        else:
            output.count(side, "applied")
            self._method.apply(side, row)
        self._arrived.append((side, row))

    # Rows out

    def _evaluate_rows(self, output: CollectedOutput) -> None:
        """Evaluates rows that have arrived, and then the watermarks that they drive (semantics 36.7)."""
        if isinstance(self._method, WindowsOfSides):
            self._method.take_rows(output)
        output.panes += self._method.evaluate()
        self._clocks.report_seen()
        output.panes += self._method.evaluate()


def invalid_row_reason(
    entry: SideEntry, types: Mapping[str, str], row: dict[str, Any], processing_time: int
) -> str | None:
    """Returns the reason why a row of a side is invalid, None if it is valid (semantics 15, 37.5)."""
    reason = invalid_reason(entry, dict(types), row, processing_time)
    return reason or invalid_delta_reason(entry.compared, read_row(entry, dict(types), row, processing_time))


def rows_of_both_sides(
    spec: TwoSided, types: SideTypes, rows: Mapping[str, Sequence[Row]]
) -> list[tuple[str, Row]]:
    """Returns the rows of both sides in the arrival order of the batch, each with its side.

    `rows` has the rows of each side in their arrival order.
    """
    by_columns = _have_like_order(spec, types)

    def place(side: str, row: Row) -> list[Any]:
        return [sort_key(row.values[name]) for name in spec.sides[side].order] if by_columns else [row.time]

    left, right = list(rows.get(LEFT, ())), list(rows.get(RIGHT, ()))
    if not by_columns and spec.left.event_time is None:  # semantics 36.13
        return [*((RIGHT, row) for row in right), *((LEFT, row) for row in left)]
    ordered: list[tuple[str, Row]] = []
    while left and right:
        if place(LEFT, left[0]) <= place(RIGHT, right[0]):
            ordered.append((LEFT, left.pop(0)))
        else:
            ordered.append((RIGHT, right.pop(0)))
    return [*ordered, *((LEFT, row) for row in left), *((RIGHT, row) for row in right)]


def _have_like_order(spec: TwoSided, types: SideTypes) -> bool:
    """Returns whether both sides name order columns, as many of them and of the same types."""
    kinds = {
        name: [types.get(name, {}).get(column) for column in side.order] for name, side in spec.sides.items()
    }
    return bool(kinds[LEFT]) and kinds[LEFT] == kinds[RIGHT]
