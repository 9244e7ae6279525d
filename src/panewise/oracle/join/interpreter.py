"""The interpreter of joins (semantics 27, 28, 36 to 41).

It stores every applied row for good, whatever the match is. So the partners of a row are found by looking
through all rows of the other side.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.errors import InputError
from panewise.oracle.columns import check_type, sort_key
from panewise.oracle.join.applied import Collected
from panewise.oracle.join.as_of import AsOfJoin, LastRowsInTime
from panewise.oracle.join.by_arrival import ArrivalJoin, LatestJoin, invalid_delta_reason
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.interval import IntervalJoin
from panewise.oracle.join.order import merged
from panewise.oracle.join.same_window import WindowJoin
from panewise.oracle.outputs import Output
from panewise.oracle.positions import Positions
from panewise.oracle.rows import Row, arrival_order, invalid_reason, read
from panewise.spec.operators.join.columns import RIGHT
from panewise.spec.operators.join.entry import SideEntry
from panewise.spec.operators.join.match import AsOf, Interval, LastRows, Latest
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow

_METHODS: dict[type, Any] = {
    Interval: IntervalJoin,
    AsOf: AsOfJoin,
    SameWindow: WindowJoin,
    LastRows: ArrivalJoin,
    Latest: LatestJoin,
}


class JoinInterpreter:
    """Interprets one join; each method takes one event and returns the output after it.

    The emitted rows take the place of panes. Late and invalid rows name their `side`, and counts are by side.

    Args:
        spec: the specification of the join.
        types: the types of the columns of each side. They say which columns a side has.

    >>> from panewise.spec.operators.join.match import AsOf, Interval
    >>> from panewise.spec.operators.join.side import Side
    >>> join = JoinOperator(left=Side(event_time="t"), right=Side(event_time="u"), match=Interval(-2, 5))
    >>> oracle = JoinInterpreter(join, {"left": {"t": "bigint"}, "right": {"u": "bigint"}})
    >>> _ = oracle.add([{"t": 10}], "left")
    >>> oracle.add([{"u": 7}, {"u": 8}], "right")["panes"]
    [{'t': 10, 'u': 8, 'op': '+', 'missing': None, 'join_time': 10}]

    Source: semantics 27, 28, 36 to 41.
    """

    def __init__(self, spec: JoinOperator, types: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._spec = spec
        self._types = {side: dict((types or {}).get(side, {})) for side in spec.sides}
        for named in self._types.values():
            for column, kind in named.items():
                check_type(column, kind)
        self._clocks = SideClocks(spec)
        self._positions = {side: Positions() for side in spec.sides}
        self._method = _method(spec)(spec, self._clocks, EmittedRows(spec, self._types))

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
            given, rule = (
                f"rows of the {ended[0]} side after finish",
                "nothing is added after the end of input",
            )
            raise InputError(given, rule, "add the rows before finish")
        output = Collected()
        valid = {side: self._valid(side, list(given), output) for side, given in rows.items()}
        for side, row in merged(self._spec, self._types, valid):
            self._arrive(side, row, output)
            if self._spec.evaluate == "record":
                self._evaluate_rows(output)
        if self._spec.evaluate == "batch":
            self._evaluate_rows(output)
        return output.as_output()

    def watermark(self, to: int, source: str | None = None) -> Output:
        """Moves the watermark of a side, or of both."""
        self._clocks.report(to, source)
        return Collected(self._method.evaluate()).as_output()

    def clock(self, to: int) -> Output:
        """Moves the processing time."""
        self._clocks.read(to)
        return Collected(self._method.evaluate()).as_output()

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a side, or of both."""
        self._clocks.finish(port)
        return Collected(self._method.evaluate()).as_output()

    def windows(self) -> list[dict[str, Any]]:
        """Returns the live windows of a window join; of other joins the stored rows (41, 41.1, 41.4).

        The order is that of (end, start, keys), then left before right. A row is the window [t, t + 1
        microsecond). Keys have the names of the left side.
        """
        if isinstance(self._method, WindowJoin):
            return self._method.windows()
        stored = sorted(self._method.stored(), key=lambda one: one.order)
        windows = [
            {
                **dict(zip(self._spec.keys, one.row.key, strict=True)),
                "window_start": one.row.time,
                "window_end": min(one.row.time + 1, MAX_INSTANT),
                "pending": 1,
                "closed": False,
            }
            for one in sorted(stored, key=lambda one: one.side == RIGHT)
        ]
        names = ("window_end", "window_start", *self._spec.keys)
        return sorted(windows, key=lambda window: [sort_key(window[name]) for name in names])

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows; None if there is none (semantics 40.4)."""
        if isinstance(self._method, WindowJoin):
            return self._method.output_watermark()
        lowest = min(self._clocks.horizon(side) for side in self._spec.sides)
        if lowest == math.inf:
            return MAX_INSTANT
        behind = self._method.furthest_behind()
        return None if lowest == -math.inf or behind is None else saturating_add(int(lowest), -behind)

    # Rows in

    def _valid(self, side: str, given: list[dict[str, Any]], output: Collected) -> list[Row]:
        """Counts the rows of a side; returns the valid ones in their arrival order (semantics 3, 15)."""
        entry, types, now = self._spec.ports[side], self._types[side], self._clocks.processing_time
        found = []
        for row in arrival_order(entry, types, given):
            reason = invalid_row_reason(entry, types, row, now)
            output.count(side, "rows_in")
            if reason is None:
                found.append(read(entry, types, row, now))
            else:
                output.count(side, "invalid")
                output.invalid.append({"row": dict(row), "reason": reason, "side": side})
        return found

    def _arrive(self, side: str, row: Row, output: Collected) -> None:
        """Applies a valid row, unless it is a replay or late (semantics 4, 36.4)."""
        self._clocks.record_time(side, row.time)
        if self._positions[side].is_replay(self._spec.sides[side].position, row.values):
            output.count(side, "replays")
        elif isinstance(self._method, WindowJoin):
            self._method.wait(side, row)  # its windows decide whether it is late
        elif row.time < self._clocks.horizon(side):
            output.count(side, "late")
            late_by = self._clocks.late_by(side, row.time)
            reason = {"reason": "behind", "windows": list[Any](), "late_by": late_by, "partial": False}
            output.late.append({"row": dict(row.given), **reason, "side": side})
        else:
            output.count(side, "applied")
            self._method.apply(side, row)

    # Rows out

    def _evaluate_rows(self, output: Collected) -> None:
        """Evaluates rows that have arrived, and then the watermarks that they drive (semantics 36.7)."""
        if isinstance(self._method, WindowJoin):
            self._method.take_rows(output)
        output.panes += self._method.evaluate()
        self._clocks.report_seen()
        output.panes += self._method.evaluate()


def invalid_row_reason(
    entry: SideEntry, types: Mapping[str, str], row: dict[str, Any], processing_time: int
) -> str | None:
    """Returns the reason why a row of a side is invalid, None if it is valid (semantics 15, 37.5)."""
    reason = invalid_reason(entry, dict(types), row, processing_time)
    return reason or invalid_delta_reason(entry, read(entry, dict(types), row, processing_time))


def _method(spec: JoinOperator) -> Any:
    """Returns what joins the rows."""
    if isinstance(spec.match, LastRows) and spec.match.order == "event_time":
        return LastRowsInTime
    return _METHODS[type(spec.match)]
