"""The interpreter of OVER operators (semantics 29).

It stores every row that has passed, and finds the frame of a row by looking through all rows of its key.
"""

from dataclasses import dataclass, field
from functools import total_ordering
from typing import Any

from panewise.errors import SpecError
from panewise.oracle.aggregate.aggregates import aggregate
from panewise.oracle.columns import as_type, sort_key
from panewise.oracle.progress.clocks import Key
from panewise.oracle.row_interpreter import RowInterpreter
from panewise.oracle.rows import Row, place_of_stored, stored_window
from panewise.spec import Aggregate, Frame, OverColumn, OverOperator, RowFunction


@total_ordering
@dataclass
class _Falling:
    """A sort key in descending order: it comes before another one if it is larger."""

    key: Any

    def __lt__(self, other: "_Falling") -> bool:
        return bool(other.key < self.key)


@dataclass
class _PassedRows:
    """The rows of a key in the order in which they have passed, and how many are emitted."""

    passed: list[Row] = field(default_factory=list)
    emitted: int = 0


class OverInterpreter(RowInterpreter):
    """Interprets one OVER operator; each method takes one event and returns the output after it.

    The emitted rows take the place of panes (semantics 29).

    Args:
        spec: the specification of the operator.
        types: types of columns, as for :class:`panewise.oracle.Interpreter`.

    >>> from panewise import functions as F
    >>> oracle = OverInterpreter(OverOperator(columns=[OverColumn(F.sum("v").alias("total"),
    ...     Frame("rows", -1, 0))]))
    >>> _ = oracle.add([{"event_time": t, "v": t * t} for t in (3, 1, 2)])
    >>> [(row["v"], row["total"]) for row in oracle.watermark(3)["panes"]]
    [(1, 1), (4, 5)]

    Source: semantics 29.
    """

    _spec: OverOperator

    def __init__(self, spec: OverOperator, types: dict[str, str] | None = None) -> None:
        super().__init__(spec, types)
        self._waiting: list[Row] = []  # rows that have not passed, in arrival order
        self._sequences: dict[Key, _PassedRows] = {}

    def _check_names(self, rows: list[dict[str, Any]]) -> None:
        for column in self._spec.columns:
            if any(column.name in row for row in rows):
                rule = "new columns have different names, which no input column has"
                raise SpecError(f"{column.name!r} twice", rule, "give the new column another name")

    def _take(self, row: Row) -> None:
        self._waiting.append(row)

    def windows(self) -> list[dict[str, Any]]:
        """Returns the rows that are not emitted yet, in the order of (end, start, keys).

        Each is the window [t, t + 1 microsecond) (semantics 29.2). Without an event time it has no bounds.
        """
        return [window for window, _ in self._stored()]

    def progress(self) -> dict[str, Any]:
        """Returns the clocks, and the rows that are not emitted yet, each as a window with one row."""
        windows = [{**window, "rows": [row.values]} for window, row in self._stored()]
        return super().progress() | {"windows": windows}

    def _stored(self) -> list[tuple[dict[str, Any], Row]]:
        """Returns the rows that are not emitted yet, each with its window."""
        waiting = [
            *self._waiting,
            *(row for rows in self._sequences.values() for row in rows.passed[rows.emitted :]),
        ]
        keys, timed = self._spec.keys, self._spec.event_time is not None
        windows = [
            (
                stored_window(dict(zip(keys, row.key, strict=True)), row.time, row.time + 1, timed=timed),
                row,
            )
            for row in waiting
        ]
        return sorted(windows, key=lambda pair: place_of_stored(pair[0], keys))

    # Rows out

    def _emit(self) -> list[dict[str, Any]]:
        """Lets rows pass; returns the rows to emit, with their new columns (semantics 29.2, 29.8)."""
        # The sort is stable, so rows that are equal in the order stay in arrival order.
        ready = sorted((row for row in self._waiting if self._is_ready(row)), key=self._passing_order)
        self._waiting = [row for row in self._waiting if not self._is_ready(row)]
        for row in ready:
            self._sequences.setdefault(row.key, _PassedRows()).passed.append(row)
        emitted = [(row, new) for rows in self._sequences.values() for row, new in self._of_key(rows)]
        if self._spec.rows_ahead:
            # Rows may have passed in earlier evaluations, so ties are ordered by their keys (semantics 29.8).
            emitted.sort(
                key=lambda pair: (self._passing_order(pair[0]), [sort_key(value) for value in pair[0].key])
            )
        else:
            places = {id(row): place for place, row in enumerate(ready)}
            emitted.sort(key=lambda pair: places[id(pair[0])])
        return [{**row.values, **new} for row, new in emitted]

    def _order(self, row: Row) -> list[Any]:
        """Returns the sort key of a row: its time, then its order columns (semantics 29.1, 29.13).

        Without an event time all rows are equal, and so stay in arrival order.
        """
        if self._spec.event_time is None:
            return []
        time = sort_key(row.time)
        of_columns = [self._of_column(row, name) for name in self._spec.order]
        return [_Falling(time) if self._spec.backwards else time, *of_columns]

    def _of_column(self, row: Row, name: str) -> Any:
        value = row.values[name]
        null_place = (value is None) == (name in self._spec.nulls_last)
        key = sort_key(value)
        return (null_place, _Falling(key) if name in self._spec.descending else key)

    def _passing_order(self, row: Row) -> Any:
        """Returns the sort key by which rows pass: in ascending event time (semantics 29.13)."""
        order = self._order(row)
        return _Falling(order) if self._spec.backwards else order

    def _is_ready(self, row: Row) -> bool:
        if self.now.finished or self._spec.event_time is None:
            return True
        return self.now.watermark is not None and self.now.watermark > row.time + self._spec.us_ahead

    def _of_key(self, rows: _PassedRows) -> list[tuple[Row, dict[str, Any]]]:
        emitted = []
        while rows.emitted < len(rows.passed) and (self.now.finished or self._is_complete(rows)):
            new = {column.name: self._value(column, rows, rows.emitted) for column in self._spec.columns}
            emitted.append((rows.passed[rows.emitted], new))
            rows.emitted += 1
        return emitted

    def _is_complete(self, rows: _PassedRows) -> bool:
        """Returns whether all rows that the next one depends on have passed (semantics 29.8, 29.14)."""
        later, ahead = rows.passed[rows.emitted + 1 :], "lag" if self._spec.backwards else "lead"
        for column in self._spec.columns:
            what = column.what
            if isinstance(what, RowFunction) and what.skips and what.fn == ahead:
                assert what.n is not None
                if sum(row.values[what.columns[0]] is not None for row in later) < what.n:
                    return False
        return len(later) >= self._spec.rows_ahead

    def _value(self, column: OverColumn, rows: _PassedRows, at: int) -> Any:
        # Rows pass in ascending event time. In descending order their sequence is the other way round.
        passed = rows.passed[::-1] if self._spec.backwards else rows.passed
        at = len(passed) - 1 - at if self._spec.backwards else at
        if column.frame is None:
            assert isinstance(column.what, RowFunction)
            return self._of_all(column.what, passed, at)
        row = passed[at]
        frame = self._frame(column.frame, passed, at)
        seen = [other.values for other in frame if not self._is_excluded(column.frame, other, row)]
        if isinstance(column.what, Aggregate):
            return aggregate(column.what, seen, self._types.get(column.what.column or ""))
        assert column.what.n is not None
        assert column.what.column is not None
        values = [values[column.what.column] for values in seen]
        values = [value for value in values if value is not None or not column.what.ignorenulls]
        return values[column.what.n - 1] if column.what.n <= len(values) else None

    def _frame(self, frame: Frame, passed: list[Row], at: int) -> list[Row]:
        """Returns the rows of the frame of the row at position `at`, in order (semantics 29.4, 29.5)."""
        if frame.kind == "rows":
            start = 0 if frame.start is None else max(0, at + frame.start)
            end = len(passed) if frame.end is None else max(start, at + frame.end + 1)
            return passed[start:end]
        row = passed[at]
        waiting = [other for other in self._waiting if other.key == row.key]
        known = sorted([*passed, *(waiting[::-1] if self._spec.backwards else waiting)], key=self._order)
        return [
            other
            for other in known
            if self._is_after(other, row, frame.start) and self._is_before(other, row, frame.end)
        ]

    def _is_after(self, other: Row, row: Row, start: int | None) -> bool:
        """Returns whether a row is at or after the start of the range of another one."""
        if start is None:
            return True
        # The current row as a bound means its peers, which only differs from the rows of its time if there
        # are order columns.
        return self._order(other) >= self._order(row) if start == 0 else self._distance(other, row) >= start

    def _is_before(self, other: Row, row: Row, end: int | None) -> bool:
        """Returns whether a row is at or before the end of the range of another one."""
        if end is None:
            return True
        return self._order(other) <= self._order(row) if end == 0 else self._distance(other, row) <= end

    def _distance(self, other: Row, row: Row) -> int:
        """Returns how far a row comes after another one in the order, in microseconds."""
        return row.time - other.time if self._spec.backwards else other.time - row.time

    def _is_excluded(self, frame: Frame, other: Row, row: Row) -> bool:
        """Returns whether EXCLUDE leaves a row out of the frame of another one (semantics 29.15)."""
        if frame.exclude == "no others":
            return False
        if frame.exclude == "current row":
            return other is row
        is_peer = self._order(other) == self._order(row)
        return is_peer and (frame.exclude == "group" or other is not row)

    def _of_all(self, what: RowFunction, passed: list[Row], at: int) -> Any:
        """Returns the value of a function without a frame, for the row at position `at` (semantics 29.7)."""
        earlier = [self._order(row) for row in passed if self._order(row) < self._order(passed[at])]
        match what.fn:
            case "row_number":
                return at + 1
            case "rank":
                return len(earlier) + 1
            case "dense_rank":
                return sum(order not in earlier[:n] for n, order in enumerate(earlier)) + 1
        assert what.n is not None
        assert what.column is not None
        nearest_first = passed[:at][::-1] if what.fn == "lag" else passed[at + 1 :]
        values = [row.values[what.column] for row in [passed[at], *nearest_first]]
        if what.skips:
            values = [values[0], *(value for value in values[1:] if value is not None)]
        return values[what.n] if what.n < len(values) else as_type(what.default, self._types.get(what.column))
