"""The interpreter of cogroups: each aggregate of a pane is computed from the rows of its side (43)."""

from typing import Any

from panewise.oracle.aggregate.aggregates import aggregate
from panewise.oracle.join.applied import Applied
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.two_sides import SideTypes, TwoSidedInterpreter
from panewise.oracle.join.windows_of_sides import WindowsOfSides
from panewise.oracle.outputs import Output
from panewise.oracle.progress.clocks import Clocks
from panewise.oracle.windows.interpreter import Interpreter
from panewise.oracle.windows.live_window import LiveWindow
from panewise.oracle.windows.panes import EmittedPanes
from panewise.spec.aggregates.functions import max as max_
from panewise.spec.aggregates.functions import min as min_
from panewise.spec.aggregates.user_merge import MergeAggregate
from panewise.spec.aggregates.user_values import checked_result, state_text
from panewise.spec.operators.cogroup.operator import CogroupOperator
from panewise.spec.operators.cogroup.windowing import window_operator
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.windowing import ROW_NUMBER, ROW_TIME


class CogroupInterpreter(TwoSidedInterpreter):
    """Interprets one cogroup; each method takes one event and returns the output after it.

    Late and invalid rows name their `side`, and counts are by side.

    >>> from panewise import Side, Tumbling, functions as F
    >>> spec = CogroupOperator(left=Side(event_time="t"), right=Side(event_time="u"), window=Tumbling(10),
    ...     left_aggregates=[F.count().alias("n")], right_aggregates=[F.collect_list("v").alias("values")])
    >>> oracle = CogroupInterpreter(spec)
    >>> _ = oracle.add_batch({"left": [{"t": 3}], "right": [{"u": 2, "v": 7}, {"u": 5, "v": 8}]})
    >>> [(pane["n"], pane["values"]) for pane in oracle.watermark(10)["panes"]]
    [(1, [7, 8])]

    Source: semantics 43.
    """

    def __init__(self, spec: CogroupOperator, types: SideTypes | None = None) -> None:
        super().__init__(spec, types)
        self._method: _Cogrouped = _Cogrouped(spec, self._clocks, self._types)

    def change(self, spec: Any) -> Output:
        """Continues with another specification, and evaluates all windows once (semantics 47.13)."""
        return {**super().change(spec), "panes": self._method.changed(spec)}


class _Cogrouped(WindowsOfSides):
    """Emits the panes of the windows."""

    def __init__(self, spec: CogroupOperator, clocks: SideClocks, types: SideTypes) -> None:
        self._windows = _Windows(spec, types, self)
        super().__init__(spec.keys, clocks, self._windows)

    def row(self, number: int) -> Applied:
        """Returns the row with this number."""
        return self._rows[number]

    def changed(self, spec: CogroupOperator) -> list[dict[str, Any]]:
        """Continues with another specification; returns the panes of the change."""
        return [self.with_own_keys(pane) for pane in self._windows.change_cogroup(spec)["panes"]]

    def evaluate(self) -> list[dict[str, Any]]:
        """Moves the clocks of the windows, and returns their panes."""
        return [self.with_own_keys(pane) for pane in self._moved()]


class _Windows(Interpreter):
    """The windows of the rows of both sides. A row has only its number, event time and keys."""

    def __init__(self, spec: CogroupOperator, types: SideTypes, rows: _Cogrouped) -> None:
        super().__init__(window_operator(spec))
        self._panes: _PanesOfSides = _PanesOfSides(spec, types, rows, self._clocks)

    def change_cogroup(self, spec: CogroupOperator) -> Output:
        """Continues with another specification."""
        self._panes.cogroup = spec
        return self.change(window_operator(spec))


class _PanesOfSides(EmittedPanes):
    """Panes whose aggregates are computed from the rows of their sides."""

    def __init__(self, spec: CogroupOperator, types: SideTypes, rows: _Cogrouped, clocks: Clocks) -> None:
        super().__init__(window_operator(spec), {}, clocks)
        self.cogroup, self._types_of, self._rows = spec, types, rows

    def contents(self, window: LiveWindow) -> dict[str, Any]:
        """Computes each aggregate from the rows of its side."""
        measures = {what.name: what for what in self.spec.measures}
        values: dict[str, Any] = {}
        for side, types in self._types_of.items():
            for what in self.cogroup.aggregates_of(side):
                known = self.known_rows(measures[what.name], window.stored)
                applied = [self._rows.row(row[ROW_NUMBER]) for row in known or ()]
                mine = [of.row.values for of in applied if of.side == side]
                kind = types.get(what.column or "")
                values[what.name] = None if known is None else aggregate(what, mine, kind)
        for both in self.cogroup.both_aggregates:
            known = self.known_rows(measures[both.name], window.stored)
            applied = [self._rows.row(row[ROW_NUMBER]) for row in known or ()]
            values[both.name] = None if known is None else _of_both(both, applied)
        stamp = {"earliest": min_, "latest": max_}.get(self.cogroup.timestamp or "")
        if stamp is not None:
            values["timestamp"] = aggregate(stamp(ROW_TIME), window.stored, None)
        return values


def _of_both(what: MergeAggregate, rows: list[Applied]) -> Any:
    """Returns an aggregate of the rows of both sides, which are in arrival order."""
    user = what.user
    state = user.init()
    for applied in rows:
        accumulate = user.accumulate_left if applied.side == LEFT else user.accumulate_right
        state = accumulate(state, applied.row.values[what.of(applied.side)])
    state_text(user.name, state)
    return checked_result(user, user.finish(state))
