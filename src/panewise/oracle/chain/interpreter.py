"""Chains, one evaluation at a time (semantics 30).

Each stage stores the panes that it received as rows, and recomputes its aggregates from all of them. So a
retraction only removes a row (semantics 24.15).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from panewise.oracle.aggregate.aggregates import aggregate
from panewise.oracle.columns import digits_of, sort_key
from panewise.oracle.outputs import Output, concatenate
from panewise.oracle.progress.clocks import Clock
from panewise.oracle.rows import as_key
from panewise.oracle.windows.interpreter import Interpreter
from panewise.oracle.windows.panes import stamp_of, unchanged
from panewise.oracle.windows.trigger import expired
from panewise.spec import Aggregate, Chain, Stage, WindowOperator, closed_at_end

Pane = dict[str, Any]
Identity = tuple[Any, ...]


class ChainInterpreter:
    """Interprets a window operator and its stages; has the methods of :class:`Interpreter`.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> first = WindowOperator(keys=["k"], window=Tumbling(10), aggregates=[F.count().alias("rows")])
    >>> oracle = ChainInterpreter(first.then(aggregates=[F.max("rows").alias("most")]))
    >>> _ = oracle.add([{"event_time": t, "k": k} for t, k in [(1, "a"), (2, "b"), (3, "a")]])
    >>> [(pane["most"], pane["timing"]) for pane in oracle.watermark(10)["panes"]]
    [(2, 'ON_TIME')]
    """

    def __init__(self, chain: Chain, types: dict[str, str] | None = None) -> None:
        self._first, self._spec, self._types = Interpreter(chain.first, types), chain.first, dict(types or {})
        self._stages = []
        kinds, before = kinds_of(chain.first.keys, chain.first.measures, self._types), chain.first.keys
        for stage in chain.stages:
            measures = chain.measures(stage)
            self._stages.append(_StageState(chain.first, stage, measures, before, kinds))
            kinds, before = kinds_of(stage.keys, measures, kinds), stage.keys

    def add(self, rows: Iterable[dict[str, Any]]) -> Output:
        """Adds a batch; the panes of each evaluation pass through all stages (semantics 30.3)."""
        return concatenate(self._through(output) for output in self._first.evaluations(rows))

    def watermark(self, to: int, source: str | None = None) -> Output:
        """Moves the watermark; with several inputs, that of the input `source`."""
        return self._through(self._first.watermark(to, source))

    def clock(self, to: int) -> Output:
        """Moves the processing time."""
        return self._through(self._first.clock(to))

    def advance(self, processing_time: int | None, watermark: int | None) -> Output:
        """Moves both clocks, with one evaluation; a clock that is None stays where it is."""
        return self._through(self._first.advance(processing_time, watermark))

    def finish(self) -> Output:
        """Ends the input (semantics 12.2)."""
        return self._through(self._first.finish())

    def change(self, chain: Chain) -> Output:
        """Continues with another specification of the operator (semantics 47)."""
        output, self._spec = self._first.change(chain.first), chain.first
        for stage in self._stages:
            stage.spec = chain.first
        return self._through(output)

    def windows(self) -> list[dict[str, Any]]:
        """Returns the windows that the operator stores, as :meth:`Interpreter.windows` does."""
        return self._first.windows()

    def progress(self) -> dict[str, Any]:
        """Returns the clocks and windows of the operator, as :meth:`Interpreter.progress` does."""
        return self._first.progress()

    @property
    def stored_count(self) -> int:
        """The number of panes and windows that all stages store."""
        return sum(len(stage.rows) + len(stage.groups) for stage in self._stages)

    def _through(self, output: Output) -> Output:
        """Passes the panes of one evaluation through all stages."""
        panes = output["panes"]
        for stage in self._stages:
            panes = stage.evaluate(panes, self._first.now)
        return {**output, "panes": panes}


@dataclass
class _StageWindow:
    """A window of a stage: the number of panes that it has emitted, and its live pane (semantics 21.2)."""

    panes: int = 0
    nonspeculative: int = 0
    live: Pane | None = None


@dataclass
class _StageState:
    """A stage of a chain.

    Attributes:
        spec: the specification of the chain's operator.
        stage: the keys and aggregates of this stage.
        measures: what is computed for each pane: the aggregates, and the timestamp if it counts as one.
        before: the keys of the stage before.
        kinds: the types of the columns that the aggregates read.
        rows: the stored panes, by their window and their keys in the stage before.
        groups: the windows of this stage.
    """

    spec: WindowOperator
    stage: Stage
    measures: tuple[Aggregate, ...]
    before: tuple[str, ...]
    kinds: dict[str, str]
    rows: dict[Identity, Pane] = field(default_factory=dict)
    groups: dict[Identity, _StageWindow] = field(default_factory=dict)

    def evaluate(self, panes: list[Pane], clock: Clock) -> list[Pane]:
        """Adds the panes of one evaluation; returns the panes that the stage emits (semantics 30.2, 30.3).

        Each window that received a pane emits at most one `+` pane.
        """
        arrived: dict[Identity, list[Pane]] = {}
        for pane in panes:
            arrived.setdefault(_identity(self.stage.keys, pane), []).append(pane)
            self.rows.pop(_identity(self.before, pane), None)
            if pane["op"] == "+":
                self.rows[_identity(self.before, pane)] = pane
        emitted = [
            pane for group in sorted(arrived, key=_order) for pane in self._fire(group, arrived[group], clock)
        ]
        if self.spec.accumulation == "discarding":
            self.rows.clear()
        self._forget(clock)
        return emitted

    def _fire(self, identity: Identity, arrived: list[Pane], clock: Clock) -> list[Pane]:
        window = self.groups.setdefault(identity, _StageWindow())
        stored = (self.rows[key] for key in sorted(self.rows, key=_order))
        rows = [pane for pane in stored if _identity(self.stage.keys, pane) == identity]
        retraction = []
        if window.live is not None and self.spec.accumulation == "retracting":
            retraction = [{**window.live, "op": "-", "processing_time": clock.processing_time}]
        if not rows:
            window.live = None
            return retraction
        values = {
            what.name: aggregate(what, rows, self.kinds.get(what.column or "")) for what in self.measures
        }
        pane = {
            **self._window_columns(identity),
            **values,
            **self._numbering(window, identity[1], arrived, clock),
        }
        if unchanged(self.spec, window.live, values) and not self._requested(pane):
            return []
        window.panes += 1
        window.nonspeculative += pane["timing"] != "EARLY"
        window.live = pane
        return [*retraction, pane]

    def _window_columns(self, identity: Identity) -> Pane:
        start, end, *key = identity
        keys = dict(zip(self.stage.keys, key, strict=True))
        return {**keys, "window_start": start, "window_end": end, **stamp_of(self.spec, end)}

    def _numbering(self, window: _StageWindow, end: int | None, arrived: list[Pane], clock: Clock) -> Pane:
        """Returns the timing, indexes and flags of a pane (semantics 30.3)."""
        on_time = any(pane["op"] == "+" and pane["timing"] == "ON_TIME" for pane in arrived)
        past, on_time = self._half_open_end(end), on_time and window.nonspeculative == 0
        timing = "EARLY" if not clock.reached(past) else "ON_TIME" if on_time else "LATE"
        return {
            "timing": timing,
            "index": window.panes,
            "nonspeculative_index": -1 if timing == "EARLY" else window.nonspeculative,
            "is_first": window.panes == 0,
            "is_last": expired(self.spec, clock, past),
            "op": "+",
            "processing_time": clock.processing_time,
        }

    def _requested(self, pane: Pane) -> bool:
        on_time = self.spec.on_time == "always" and pane["timing"] == "ON_TIME"
        return on_time or (self.spec.closing == "always" and bool(pane["is_last"]))

    def _forget(self, clock: Clock) -> None:
        """Purges the rows and windows that have expired (semantics 30.9)."""
        for of_windows in (self.rows, self.groups):
            for key in list(of_windows):
                if expired(self.spec, clock, self._half_open_end(key[1])):
                    del of_windows[key]

    def _half_open_end(self, end: int | None) -> int | None:
        """Returns the end of the half-open window whose end outputs show as `end` (semantics 7.2)."""
        return end + 1 if end is not None and closed_at_end(self.spec.window) else end


def _identity(keys: tuple[str, ...], pane: Pane) -> Identity:
    """Returns the identity of a window of a stage: (start, end, *keys) (semantics 30.1)."""
    return (pane["window_start"], pane["window_end"], *(as_key(pane[name]) for name in keys))


def _order(identity: Identity) -> tuple[Any, ...]:
    """Returns a sort key: end, start, keys, with nulls first (semantics 23)."""
    start, end, *key = identity
    return (sort_key(end), sort_key(start), [sort_key(value) for value in key])


def kinds_of(keys: tuple[str, ...], measures: tuple[Aggregate, ...], kinds: dict[str, str]) -> dict[str, str]:
    """Returns the types of a stage's columns, from the types of the columns that it reads.

    They are needed only for the result types of decimals (semantics 24.16). So columns from which no decimal
    can result are left out: lists, and user-defined aggregates that are not decimals.
    """
    of_keys = {name: kinds[name] for name in keys if name in kinds}
    return of_keys | {what.name: kind for what in measures if (kind := _kind_of(what, kinds)) is not None}


_COUNTS = ("count", "count_if", "count_distinct", "approx_count_distinct", "regr_count")
_OF_THE_COLUMN = (
    *("min", "max", "first", "last", "mode", "max_by", "min_by", "bool_and", "bool_or"),
    *("bit_and", "bit_or", "bit_xor"),
)
_DOUBLES = (
    *("avg", "stddev", "variance", "stddev_pop", "var_pop", "median", "percentile"),
    *("skewness", "kurtosis", "corr", "covar_pop", "covar_samp"),
    *("regr_avgx", "regr_avgy", "regr_intercept", "regr_r2"),
    *("regr_slope", "regr_sxx", "regr_sxy", "regr_syy"),
    "product",
)


def _kind_of(what: Aggregate, kinds: dict[str, str]) -> str | None:
    kind = kinds.get(what.column or "")
    if what.user is not None:
        return what.user.result if what.user.result.startswith("decimal") else None
    if what.fn in _COUNTS:
        return "bigint"
    if what.fn in _OF_THE_COLUMN:
        return kind
    fn = what.fn.removesuffix("_distinct")
    if fn in ("sum", "avg") and kind is not None and kind.startswith("decimal"):
        precision, scale = digits_of(kind)
        if fn == "sum":
            return f"decimal({min(38, precision + 10)},{scale})"
        return f"decimal({min(38, precision + 4)},{min(38, scale + 4)})"
    if fn == "sum":
        return "double" if kind == "float" else "bigint" if kind in ("int", "smallint", "tinyint") else kind
    return "double" if fn in _DOUBLES else None
