"""The interpreter of joins (semantics 27, 28, 36 to 41).

It stores every applied row and never removes one, whatever the match is. So the partners of a row are found
by looking through all rows of the other side.
"""

import math
from collections.abc import Mapping
from typing import Any

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.oracle.columns import sort_key
from panewise.oracle.join.applied import Applied
from panewise.oracle.join.as_of import AsOfJoin, LastRowsInTime
from panewise.oracle.join.by_arrival import ArrivalJoin, LatestJoin
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.interval import IntervalJoin
from panewise.oracle.join.same_window import WindowJoin
from panewise.oracle.join.streams import StreamsJoin
from panewise.oracle.join.two_sides import TwoSidedInterpreter
from panewise.oracle.rows import Row
from panewise.spec.operators.join.columns import RIGHT
from panewise.spec.operators.join.match import AsOf, Interval, LastRows, Latest
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.streams import WindowedStreams

_METHODS: dict[type, Any] = {
    Interval: IntervalJoin,
    AsOf: AsOfJoin,
    SameWindow: WindowJoin,
    LastRows: ArrivalJoin,
    Latest: LatestJoin,
    WindowedStreams: StreamsJoin,
}


class JoinInterpreter(TwoSidedInterpreter):
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
        super().__init__(spec, types)
        self._spec = spec
        self._method = _method(spec)(spec, self._clocks, EmittedRows(spec, self._types))

    def windows(self) -> list[dict[str, Any]]:
        """Returns the live windows of a window join; of other joins the stored rows (41, 41.1, 41.4).

        The order is that of (end, start, keys), then left before right. A row is the window [t, t + 1
        microsecond), without bounds if it has no event time, and names its side as `input`. Keys have the
        names of the left side.
        """
        if isinstance(self._method, WindowJoin):
            return self._method.windows()
        return [window for window, _ in self._stored()]

    def windows_with_rows(self) -> list[dict[str, Any]]:
        """Returns what :meth:`windows` returns, with rows by side; a stored row is alone, at its side."""
        if isinstance(self._method, WindowJoin):
            return self._method.windows_with_rows()
        return [{**window, "rows": {one.side: [one.row.values]}} for window, one in self._stored()]

    def _is_late(self, side: str, row: Row) -> bool:
        """Returns whether a row is late: with `late="join"` only if it can have no partner (37.25)."""
        is_behind = super()._is_late(side, row)
        joins = isinstance(self._method, IntervalJoin) and self._method.joins_late_rows
        return is_behind and not (joins and self._method.may_have_partner(side, row))

    def _stored(self) -> list[tuple[dict[str, Any], Applied]]:
        """Returns the stored rows, each with its window."""
        stored = sorted(self._method.stored(), key=lambda one: one.order)
        windows = [
            (
                {
                    **dict(zip(self._spec.keys, one.row.key, strict=True)),
                    **self._bounds(one.row.time),
                    "pending": 1,
                    "closed": False,
                    "__input" if "input" in self._spec.keys else "input": one.side,
                },
                one,
            )
            for one in sorted(stored, key=lambda one: one.side == RIGHT)
        ]
        names = ("window_end", "window_start", *self._spec.keys)
        return sorted(windows, key=lambda pair: [sort_key(pair[0][name]) for name in names])

    def _bounds(self, time: int) -> dict[str, int | None]:
        """Returns the bounds of the window of a stored row; without event times there are none (36.13)."""
        if self._spec.left.event_time is None:
            return {"window_start": None, "window_end": None}
        return {"window_start": time, "window_end": min(time + 1, MAX_INSTANT)}

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows; None if there is none (semantics 40.4)."""
        if isinstance(self._method, WindowJoin):
            return self._method.output_watermark()
        lowest = min(self._clocks.horizon(side) for side in self._spec.sides)
        if isinstance(self._method, StreamsJoin):
            lowest = min([lowest, *self._method.waiting_times()])
        if lowest == math.inf:
            return MAX_INSTANT
        behind = self._method.furthest_behind()
        return None if lowest == -math.inf or behind is None else saturating_add(int(lowest), -behind)


def _method(spec: JoinOperator) -> Any:
    """Returns what joins the rows."""
    if isinstance(spec.match, LastRows) and spec.match.order == "event_time":
        return LastRowsInTime
    return _METHODS[type(spec.match)]
