"""The panes of windows: what they contain, their numbers, and retractions (semantics 11.1, 20, 21)."""

from typing import Any

from panewise.oracle.aggregate.aggregates import aggregate
from panewise.oracle.columns import same_value
from panewise.oracle.progress.clocks import Clocks
from panewise.oracle.windowing.assign import output_bounds, stamp
from panewise.oracle.windows.changes import EarlierRows
from panewise.oracle.windows.evictors import remaining
from panewise.oracle.windows.live_window import LiveWindow, pane_order
from panewise.oracle.windows.trigger import Decision
from panewise.spec import Aggregate, WindowOperator


class EmittedPanes:
    """Makes the panes of the windows of an operator.

    Attributes:
        spec: the specification, which a change replaces.
        earlier: the rows that added aggregates do not know.
    """

    def __init__(self, spec: WindowOperator, types: dict[str, str], clocks: Clocks) -> None:
        self.spec, self._types, self._clocks = spec, types, clocks
        self.earlier = EarlierRows()

    def fired(self, window: LiveWindow, decision: Decision) -> list[dict[str, Any]]:
        """Fires a window; returns the panes that it emits (semantics 20, 21).

        The pending rows count as fired even if no pane is emitted (semantics 21.1).
        """
        values, new = self.contents(window), window.new
        window.new, window.pending, window.since = [], 0, self._clocks.common.processing_time
        if self.spec.accumulation == "discarding":
            window.stored = []
        if (
            unchanged(self.spec, window.live, values)
            and not decision.requested
            and not (self.spec.delta and new)
        ):
            return []
        of_window = identity(self.spec, window)
        pane = {
            **of_window,
            **stamp_of(self.spec, of_window["window_end"]),
            **values,
            **self._delta(new),
            **self._numbering(window, decision),
        }
        retraction = self.retractions([window])
        window.live = pane
        return [*retraction, pane]

    def contents(self, window: LiveWindow) -> dict[str, Any]:
        """Computes the aggregates, and evicts rows before or after that (semantics 11.1)."""
        evictor, time = self.spec.evictor, self.spec.event_time or ""
        if evictor is not None and not evictor.after:
            window.stored = remaining(evictor, window.stored, time)
        values = {what.name: self._value(what, window.stored) for what in self.spec.measures}
        if evictor is not None and evictor.after:
            window.stored = remaining(evictor, window.stored, time)
        return values

    def _value(self, what: Aggregate, rows: list[dict[str, Any]]) -> Any:
        """Computes an aggregate. One that was added does not know earlier rows (semantics 47.3)."""
        known = self.known_rows(what, rows)
        return None if known is None else aggregate(what, known, self._type_of(what.column))

    def known_rows(self, what: Aggregate, rows: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """Returns the rows that an aggregate knows; None if it is null because it lacks some."""
        earlier = [] if what.added is None else self.earlier.among(what, rows)
        if earlier and what.added == "null":
            return None
        return [row for row in rows if not any(row is other for other in earlier)]

    def _delta(self, new: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns the column `delta`: the rows that are new since the last firing (semantics 21.7)."""
        if self.spec.delta is False:
            return {}
        return {
            "delta": [
                row if self.spec.delta is True else {name: row[name] for name in self.spec.delta}
                for row in new
            ]
        }

    def _type_of(self, column: str | None) -> str | None:
        return None if column is None else self._types.get(column)

    def _numbering(self, window: LiveWindow, decision: Decision) -> dict[str, Any]:
        """Returns the timing, indexes and flags of a pane, and counts the pane (semantics 20.1, 20.2)."""
        if not self._clocks.of_key(window.key).reached(window.end):
            timing = "EARLY"
        else:
            timing = "ON_TIME" if decision.on_time else "LATE"
        index, nonspeculative = window.panes, -1 if timing == "EARLY" else window.nonspeculative_panes
        window.panes += 1
        window.nonspeculative_panes += timing != "EARLY"
        return {
            "timing": timing,
            "index": index,
            "nonspeculative_index": nonspeculative,
            "is_first": index == 0,
            "is_last": decision.expires or decision.finishes,
            "op": "+",
            "processing_time": self._clocks.common.processing_time,
        }

    def retractions(self, windows: list[LiveWindow]) -> list[dict[str, Any]]:
        """Returns the retractions of the windows' live panes, in retracting mode (semantics 9.2, 20.3)."""
        if self.spec.accumulation != "retracting":
            return []
        now = {"op": "-", "processing_time": self._clocks.common.processing_time}
        return [
            {**window.live, **now} for window in sorted(windows, key=pane_order) if window.live is not None
        ]


def identity(spec: WindowOperator, window: LiveWindow) -> dict[str, Any]:
    """Returns the keys and the bounds of a window, as its panes have them."""
    keys = dict(zip(spec.keys, window.key, strict=True))
    start, end = output_bounds(spec.window, window.bounds)
    return {**keys, "window_start": start, "window_end": end}


def unchanged(spec: WindowOperator, live: dict[str, Any] | None, values: dict[str, Any]) -> bool:
    """Returns whether a new pane would only repeat the live one, so that none is emitted (semantics 21)."""
    if live is None or (spec.accumulation != "retracting" and not spec.only_updated):
        return False
    return all(same_value(value, live[name]) for name, value in values.items())


def stamp_of(spec: WindowOperator, end: int | None) -> dict[str, Any]:
    """Returns the `timestamp` of a pane if it depends on the window, not on rows (semantics 22, 22.1).

    `end` is the end that outputs show.
    """
    stamps = {"end": end, "window_time": stamp(spec.window, end)}
    return {"timestamp": stamps[spec.timestamp]} if spec.timestamp in stamps else {}
