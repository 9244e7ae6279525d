"""The interpreter of OVER operators (semantics 29).

It stores every row that has passed, and finds the frame of a row by looking through all rows of its key.
"""

from dataclasses import dataclass, field
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.errors import SpecError
from panewise.oracle.aggregate.aggregates import aggregate
from panewise.oracle.columns import as_type, sort_key
from panewise.oracle.progress.clocks import Key
from panewise.oracle.row_interpreter import RowInterpreter
from panewise.oracle.rows import Row
from panewise.spec import Aggregate, Frame, OverColumn, OverOperator, RowFunction


@dataclass
class _PassedRows:
    """The rows of a key that have passed, in the order of semantics 29.1, and how many are emitted."""

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

    def __init__(self, spec: OverOperator, types: dict[str, str] | None = None) -> None:
        super().__init__(spec, types)
        self._spec = spec
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
        now = self.now
        windows = [{**window, "rows": [row.values]} for window, row in self._stored()]
        return {"processing_time": now.processing_time, "watermark": now.mark, "windows": windows}

    def _stored(self) -> list[tuple[dict[str, Any], Row]]:
        """Returns the rows that are not emitted yet, each with its window."""
        waiting = [
            *self._waiting,
            *(row for rows in self._sequences.values() for row in rows.passed[rows.emitted :]),
        ]
        windows = [
            ({**self._keys(row.key), **self._bounds(row), "pending": 1, "closed": False}, row)
            for row in waiting
        ]
        names = ("window_end", "window_start", *self._spec.keys)
        return sorted(windows, key=lambda pair: [sort_key(pair[0][name]) for name in names])

    def _keys(self, key: Key) -> dict[str, Any]:
        return dict(zip(self._spec.keys, key, strict=True))

    def _bounds(self, row: Row) -> dict[str, Any]:
        if self._spec.event_time is None:
            return {"window_start": None, "window_end": None}
        return {"window_start": row.time, "window_end": min(row.time + 1, MAX_INSTANT)}

    # Rows out

    def _emit(self) -> list[dict[str, Any]]:
        """Lets rows pass; returns the rows to emit, with their new columns (semantics 29.2, 29.8)."""
        # The sort is stable, so rows that are equal in the order stay in arrival order.
        ready = sorted((row for row in self._waiting if self._is_ready(row)), key=self._order)
        self._waiting = [row for row in self._waiting if not self._is_ready(row)]
        for row in ready:
            self._sequences.setdefault(row.key, _PassedRows()).passed.append(row)
        emitted = [(row, new) for rows in self._sequences.values() for row, new in self._of_key(rows)]
        if self._spec.rows_ahead:
            # Rows may have passed in earlier evaluations, so ties are ordered by their keys (semantics 29.8).
            emitted.sort(key=lambda pair: (self._order(pair[0]), [sort_key(value) for value in pair[0].key]))
        else:
            places = {id(row): place for place, row in enumerate(ready)}
            emitted.sort(key=lambda pair: places[id(pair[0])])
        return [{**row.values, **new} for row, new in emitted]

    def _order(self, row: Row) -> list[Any]:
        """Returns the sort key of a row: its time, then its order columns (semantics 29.1).

        Without an event time all rows are equal, and so stay in arrival order.
        """
        if self._spec.event_time is None:
            return []
        return [sort_key(row.time), *(sort_key(row.values[name]) for name in self._spec.order)]

    def _is_ready(self, row: Row) -> bool:
        if self.now.finished or self._spec.event_time is None:
            return True
        return self.now.watermark is not None and self.now.watermark > row.time + self._spec.us_ahead

    def _of_key(self, rows: _PassedRows) -> list[tuple[Row, dict[str, Any]]]:
        emitted = []
        while rows.emitted < len(rows.passed) and (
            self.now.finished or rows.emitted + self._spec.rows_ahead < len(rows.passed)
        ):
            new = {column.name: self._value(column, rows, rows.emitted) for column in self._spec.columns}
            emitted.append((rows.passed[rows.emitted], new))
            rows.emitted += 1
        return emitted

    def _value(self, column: OverColumn, rows: _PassedRows, at: int) -> Any:
        if column.frame is None:
            assert isinstance(column.what, RowFunction)
            return self._of_all(column.what, rows.passed, at)
        seen = [row.values for row in self._frame(column.frame, rows, at)]
        if isinstance(column.what, Aggregate):
            return aggregate(column.what, seen, self._types.get(column.what.column or ""))
        assert column.what.n is not None
        assert column.what.column is not None
        return seen[column.what.n - 1][column.what.column] if column.what.n <= len(seen) else None

    def _frame(self, frame: Frame, rows: _PassedRows, at: int) -> list[Row]:
        """Returns the rows of the frame of the row at position `at`, in order (semantics 29.4, 29.5)."""
        if frame.kind == "rows":
            start = 0 if frame.start is None else max(0, at + frame.start)
            return rows.passed[start : max(start, at + frame.end + 1)]
        row = rows.passed[at]
        known = sorted(
            [*rows.passed, *(other for other in self._waiting if other.key == row.key)], key=self._order
        )
        if frame == Frame("range", None, 0):
            return [other for other in known if self._order(other) <= self._order(row)]
        after = (
            known
            if frame.start is None
            else [other for other in known if other.time >= row.time + frame.start]
        )
        return [other for other in after if other.time <= row.time + frame.end]

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
        place = at - what.n if what.fn == "lag" else at + what.n
        inside = 0 <= place < len(passed)
        return (
            passed[place].values[what.column]
            if inside
            else as_type(what.default, self._types.get(what.column))
        )
