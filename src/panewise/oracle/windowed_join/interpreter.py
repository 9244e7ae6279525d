"""The interpreter of windows over a join: the interpreters of both, one after the other (semantics 42)."""

from collections.abc import Iterable, Mapping
from typing import Any

from panewise.families import part
from panewise.oracle.join.interpreter import JoinInterpreter
from panewise.oracle.outputs import Output
from panewise.spec.operators.join.columns import JOIN_TIME
from panewise.spec.operators.windowed_join import WindowedJoin, properties_of_emitted

Pane = dict[str, Any]


class WindowedJoinInterpreter:
    """Interprets a join, and windows over the rows that it emits; each method takes one event.

    >>> from panewise import Interval, JoinOperator, Side, Tumbling
    >>> from panewise import functions as F
    >>> join = JoinOperator(left=Side(event_time="t"), right=Side(event_time="u"), match=Interval(0, 2))
    >>> spec = join.then(window=Tumbling(10), aggregates=[F.count().alias("pairs")])
    >>> oracle = WindowedJoinInterpreter(spec, {"left": {"t": "bigint"}, "right": {"u": "bigint"}})
    >>> _ = oracle.add_batch({"left": [{"t": 3}, {"t": 4}], "right": [{"u": 5}]})
    >>> [(pane["window_end"], pane["pairs"]) for pane in oracle.watermark(10)["panes"]]
    [(10, 2)]

    Source: semantics 42.
    """

    def __init__(self, spec: WindowedJoin, types: Mapping[str, Mapping[str, str]] | None = None) -> None:
        of_sides = {side: dict((types or {}).get(side, {})) for side in spec.join.sides}
        self._join = JoinInterpreter(spec.join, of_sides)
        self._windows: Any = part(spec.windows.family.oracle)(spec.windows, _types_of_rows(spec, of_sides))
        self._open = set(spec.join.sides)  # the sides whose input has not ended
        self._watermark: int | None = None
        self._finished = False

    def add(self, rows: Iterable[dict[str, Any]], port: str) -> Output:
        """Adds a batch of rows of one side."""
        return self._followed(self._join.add(rows, port))

    def add_batch(self, rows: Mapping[str, Iterable[dict[str, Any]]]) -> Output:
        """Adds a batch of rows of both sides, given by side."""
        return self._followed(self._join.add_batch(rows))

    def change(self, spec: WindowedJoin) -> Output:
        """Continues with another specification of the inputs and of the windows (semantics 47, 47.14)."""
        output = self._followed(self._join.change(spec.join))
        return {**output, "panes": [*output["panes"], *self._windows.change(spec.windows)["panes"]]}

    def watermark(self, to: int, source: str | None = None) -> Output:
        """Moves the watermark of a side, or of both."""
        return self._followed(self._join.watermark(to, source))

    def clock(self, to: int) -> Output:
        """Moves the processing time: first for the windows, then for the join."""
        return self._followed(self._join.clock(to), self._windows.clock(to)["panes"])

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a side, or of both."""
        self._open -= set(self._open) if port is None else {port}
        return self._followed(self._join.finish(port))

    def windows(self) -> list[dict[str, Any]]:
        """Returns the stored windows."""
        return [*self._windows.windows()]

    def progress(self) -> dict[str, Any]:
        """Returns the clocks of the join, and the stored windows over it."""
        return {**self._join.progress(), "windows": self._windows.progress()["windows"]}

    def _followed(self, output: Output, panes: Iterable[Pane] = ()) -> Output:
        """Passes the rows that the join emitted through the windows, then moves their watermark (42.2)."""
        emitted, rows = [*panes], output["panes"]
        if rows:
            emitted += self._windows.add(rows)["panes"]
        watermark = self._join.output_watermark()
        if not self._open and not self._finished:
            self._finished = True
            emitted += self._windows.finish()["panes"]
        elif not self._finished and watermark is not None and watermark != self._watermark:
            self._watermark = watermark
            emitted += self._windows.watermark(watermark)["panes"]
        return {**output, "panes": emitted}


def _types_of_rows(spec: WindowedJoin, types: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Returns the types of the emitted columns that are known."""
    instants = (JOIN_TIME, "window_start", "window_end")
    added = {name: "bigint" if name in instants else "string" for name in spec.join.added_columns}
    return properties_of_emitted(spec.join, types) | added
