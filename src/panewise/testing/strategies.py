"""Hypothesis strategies: specifications over their whole space, and events that reach the edges by construction.

Sizes and times are a few microseconds (calendars have their own), so that ties are common. Floats are multiples of 0.25, so that
sums are exact.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import product
from typing import Any, Final

import polars as pl
from hypothesis import strategies as st

from panewise import functions as F
from panewise.errors import SpecWarning
from panewise.spec import (
    UNLIMITED,
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterEventTime,
    AfterProcessingTime,
    AfterWatermark,
    Aggregate,
    Always,
    Calendar,
    Cumulating,
    Custom,
    Every,
    FixedLag,
    Global,
    Hopping,
    Inputs,
    Never,
    OnDelta,
    OnPunctuation,
    OrFinally,
    Position,
    Repeatedly,
    Session,
    StreamTime,
    Tumbling,
    UserAggregate,
    WindowOperator,
)
from panewise.spec.composites import fires_once
from panewise.testing.edges import CHANGES, EXTREMES, GAPS, clocks, expiries, focus, times, watermarks

KINDS: Final = ("tumbling", "hopping", "cumulating", "calendar", "session", "custom", "global")
_TIMES_AND_PLACES = {
    "event_time": "bigint",
    "t": "bigint",
    "order": "bigint",
    "partition": "bigint",
    "offset": "bigint",
    "source": "string",
}
_KEYS = {"key": "string", "level": "double", "shop": "bigint"}
_WINDOWS = {"gap": "bigint"}
_MEASURES = {"v": "double", "n": "bigint", "s": "string", "flag": "boolean", "price": "decimal(10,2)"}
COLUMN_TYPES: Final = _TIMES_AND_PLACES | _KEYS | _WINDOWS | _MEASURES
_VALUES: Final[dict[str, list[Any]]] = {
    "bigint": [0, 1, 2, -1, 7],
    "double": [0.0, 1.0, -0.25, 2.5, 100.75, -0.0, 3],
    "string": ["a", "b", "", "aé"],
    "boolean": [False, True],
    "decimal": [Decimal("0.00"), Decimal("1.25"), Decimal("-3.5"), Decimal("99999999.99")],
}
_KEY_VALUES: Final[dict[str, list[Any]]] = {"key": ["a", "a", "b"], "level": [0.0, -0.0, 3], "shop": [1, 1, 2]}  # few, so that windows meet
_MISFITS: Final[dict[str, list[Any]]] = {
    "bigint": ["x", True, 1.5, 2**63, -(2**70)],
    "double": ["x", True, Decimal("1.5")],
    "string": [5, False],
    "boolean": [1, "true"],
    "decimal": [5, Decimal("0.001"), Decimal("NaN"), Decimal(10**9)],
}
JOINED = UserAggregate(
    "joined",
    init=lambda: "",
    accumulate=lambda state, value: state + ("-" if value is None else value),
    merge=lambda one, other: one + other,
    finish=lambda state: state,
    result="string",
)
NULLS = UserAggregate(
    "nulls",
    init=lambda: [0],
    accumulate=lambda state, value: [state[0] + (value is None)],
    merge=lambda one, other: [one[0] + other[0]],
    finish=lambda state: state[0],
    result="bigint",
)
ALL_TEXT = UserAggregate.reduce("all_text", lambda one, other: one + other, result="string")
TRUES = UserAggregate.fold("trues", 0, lambda n, flag: n + (flag is True), combine=lambda one, other: one + other, result="bigint")
USER_AGGREGATES: Final = {user.name: user for user in (JOINED, NULLS, ALL_TEXT, TRUES)}


def _holds(frame: pl.DataFrame) -> pl.Series:
    """A window from the row's time on, as long as its gap."""
    start = pl.col("event_time")
    return frame.select(pl.concat_list(pl.struct(start.alias("start"), (start + pl.col("gap")).alias("end")))).to_series()


def _shifts(row: dict[str, Any]) -> Any:
    """Two windows, or what is none."""
    start, n = row["event_time"] // 4 * 4, row["n"]
    return {7: [], None: None}.get(n, [(start, start + 4), (start + 1, start + 3)])


HOLDS = Custom(_holds, name="holds", columns=["gap"])
SHIFTS = Custom.each(_shifts, name="shifts", columns=["n"])
STEPS = Custom.each(lambda row: [(row["event_time"] // 3 * 3, row["event_time"] // 2 * 2 + 3)], name="steps")
USER_WINDOWS: Final = {window.name: window for window in (HOLDS, SHIFTS, STEPS)}

_lengths = st.integers(1, 8)
_own = [replace(window, merge=merge) for window in (STEPS, STEPS, HOLDS) for merge in (False, True, "touching")]
_customs = st.sampled_from([*_own, *[SHIFTS] * 4, replace(SHIFTS, merge=True)])
_zones = st.sampled_from(list(CHANGES))
_weeks = st.builds(Calendar, st.just("week"), st.integers(1, 3), _zones, st.sampled_from(["monday", "saturday", "sunday"]))
_calendars = st.builds(Calendar, st.sampled_from(["day", "day", "month", "quarter", "year"]), st.integers(1, 3), _zones)


def types_of(spec: WindowOperator) -> dict[str, str]:
    """Types of the columns that a specification reads; of those that strategies do not make, bigint.

    >>> types_of(WindowOperator(window=Global(), aggregates=[F.sum("v")]))
    {'event_time': 'bigint', 'v': 'double'}
    """
    return {name: COLUMN_TYPES.get(name, "bigint") for name in spec.columns_read}


def windows(kind: str | None = None) -> st.SearchStrategy[Any]:
    """Windows of a kind, or of all."""
    origins = st.integers(-9, 9)
    hopping = st.tuples(_lengths, _lengths, origins).map(lambda it: Hopping(it[0], it[1], it[2], gaps=it[1] > it[0]))
    made: dict[str, st.SearchStrategy[Any]] = {
        "tumbling": st.builds(Tumbling, _lengths, origins),
        "hopping": hopping,
        "cumulating": st.tuples(st.integers(1, 4), st.integers(1, 4), origins).map(lambda it: Cumulating(it[0] * it[1], it[0], it[2])),
        "calendar": st.one_of(_calendars, _weeks),
        "session": st.builds(Session, st.sampled_from([*range(1, 7), "gap", "gap", "gap", "gap"]), st.sampled_from(["separate", "merge"])),
        "custom": _customs,
        "global": st.just(Global()),
    }
    return st.one_of(*made.values()) if kind is None else made[kind]


def leaves() -> st.SearchStrategy[Any]:
    """Every simple trigger."""
    return st.one_of(
        st.just(Always()),
        st.builds(AfterCount, st.integers(1, 4)),
        st.builds(Every, st.integers(1, 5)),
        st.builds(AfterProcessingTime, st.integers(0, 5), st.sampled_from([None, None, 1, 4])),
        st.builds(AfterEventTime, st.integers(1, 6)),
        st.just(OnPunctuation("flag")),
        st.builds(OnDelta, st.sampled_from(["v", "n"]), st.integers(0, 3)),
        st.just(Never()),
    )


@st.composite
def composites(draw: st.DrawFn, /, depth: int = 3) -> Any:
    """Triggers of triggers, up to a depth, with AfterWatermark anywhere but inside itself."""
    return _tree(draw, depth, ends=True)


def _tree(draw: st.DrawFn, depth: int, *, ends: bool) -> Any:
    """A tree of that depth or less; `ends`: with AfterWatermark in it, perhaps."""
    kinds = ["leaf", "repeatedly", "any", "all", "each", "or_finally", *(["ends", "ends"] if ends else [])]
    kind = draw(st.sampled_from(kinds)) if depth > 1 else "leaf"
    if kind == "leaf":
        return draw(st.one_of(leaves(), st.just(AfterWatermark())) if ends else leaves())
    if kind == "repeatedly":
        return Repeatedly(_tree(draw, depth - 1, ends=ends))
    if kind == "ends":
        early, late = (_tree(draw, depth - 1, ends=False) if draw(st.booleans()) else None for _ in range(2))
        return AfterWatermark(early, late)
    if kind == "or_finally":
        until = _tree(draw, depth - 1, ends=ends)
        return OrFinally(_tree(draw, depth - 1, ends=ends), until if fires_once(until) else AfterCount(draw(st.integers(1, 9))))
    made = {"any": AfterAny, "all": AfterAll, "each": AfterEach}[kind]
    return made(*(_tree(draw, depth - 1, ends=ends) for _ in range(draw(st.integers(1, 3)))))


def triggers() -> st.SearchStrategy[Any]:
    """Every trigger: the few that most operators have, and trees of all."""
    simple = st.one_of(st.just(Always()), st.builds(AfterCount, st.integers(1, 4)), st.builds(Every, st.integers(1, 5)), st.just(Never()))
    parts = st.one_of(st.none(), simple)
    after_watermark = st.builds(AfterWatermark, early=parts, late=parts)
    return st.one_of(after_watermark, after_watermark, simple, leaves(), composites())


def aggregates() -> st.SearchStrategy[list[Aggregate]]:
    """One to four aggregates, of all functions and types that they take."""
    made = st.one_of(st.sampled_from(_plain()), st.sampled_from(_ranked()))
    numbered = st.lists(made, min_size=1, max_size=4)
    return numbered.map(lambda chosen: [aggregate.alias(f"a{n}") for n, aggregate in enumerate(chosen)])


def _plain() -> list[Aggregate]:
    """Aggregates of one column."""
    numbers = ["v", "n"]
    made: list[Aggregate] = [F.count(), JOINED("s"), NULLS("v"), *(F.percentile(name, p) for name in numbers for p in (0, 0.25, 0.9, 1))]
    for name in _MEASURES:
        made += [F.count(name), F.first(name), F.last(name), F.first(name, True), F.last(name, ignorenulls=True)]
        made += [F.min(name), F.max(name), F.collect_list(name), F.collect_set(name), F.approx_count_distinct(name)]
        made += [F.count_distinct(name), F.mode(name)]
    made += [fn(name) for fn in (F.sum, F.avg) for name in (*numbers, "price")]
    made += [fn(name) for fn in (F.stddev, F.variance, F.stddev_pop, F.var_pop, F.median) for name in numbers]
    return [*made, F.count_if("flag"), F.bool_and("flag"), F.bool_or("flag"), TRUES("flag"), ALL_TEXT("s")]


def _ranked() -> list[Aggregate]:
    """Aggregates of values in order, their own or another column's."""
    made: list[Aggregate] = []
    for name, other in product(_MEASURES, _MEASURES):
        made += [F.max_by(name, other), F.min_by(name, other)]
        flags = enumerate(product([False, True], [False, True]), start=1)
        made += [F.top_n_by(name, other, n, ascending=ascending, distinct=distinct) for n, (ascending, distinct) in flags]
    for name, ascending in product(_MEASURES, [False, True]):
        made += [F.sort_list(name, ascending), *(F.top_n(name, n, ascending) for n in (1, 2, 4))]
    return made


@st.composite
def specs(draw: st.DrawFn, /, kind: str | None = None, **fixed: Any) -> WindowOperator:
    """Specifications of every field's every kind of value.

    Args:
        kind: kind of the window, such as "session". Default: all.
        fixed: fields that are given.
    """
    window, trigger = fixed.get("window") or draw(windows(kind)), fixed.get("trigger") or draw(triggers())
    lateness = [0, UNLIMITED] if isinstance(window, Global) else [0, 1, 5, 12, UNLIMITED]
    ahead = max(0, focus(window))  # of clocks that start at 0
    fields: dict[str, Any] = {
        "aggregates": draw(aggregates()),
        "keys": draw(st.sampled_from([["key"], [], ["level"], ["shop"], ["level", "key"], ["shop", "level"]])),
        "event_time": draw(st.sampled_from(["event_time", "t"])),
        "accumulation": draw(st.sampled_from(["discarding", "accumulating", "retracting"])),
        "allowed_lateness": draw(st.sampled_from(lateness)),
        "null_keys": draw(st.booleans()),
        "max_future_skew": draw(st.sampled_from([None, None, None, None, ahead + 3, ahead + 20])),
        "on_time": draw(st.sampled_from(["if_pending", "always"])) if isinstance(trigger, AfterWatermark) else "if_pending",
        "closing": draw(st.sampled_from(["if_pending", "if_pending", "always"])),
        "evaluate": draw(st.sampled_from(["batch", "batch", "record"])),
        "watermark": draw(st.sampled_from([*[None] * 9, FixedLag(0), FixedLag(3), FixedLag(ahead + 10), *_WATERMARKS])),
        **draw(_arrival),
    }
    fields["timestamp"] = draw(st.sampled_from([None, None, "end", "earliest", "latest"]))
    fields |= {"window": window, "trigger": trigger, **fixed}
    if draw(st.sampled_from([False] * 7 + [True])):
        fields |= _by_processing_time(fields) | fixed
    fields.setdefault("only_updated", fields["accumulation"] == "accumulating" and draw(st.booleans()))
    if "drop_by" not in fields:
        fields["drop_by"] = "window" if fields["allowed_lateness"] == UNLIMITED else draw(st.sampled_from(["window", "window", "row"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return WindowOperator(**fields)


def _by_processing_time(fields: dict[str, Any]) -> dict[str, Any]:
    """What the fields are with time="processing", where some have no meaning."""
    stamped = fields["timestamp"] if fields["timestamp"] == "end" else None
    lateness = fields["allowed_lateness"] if isinstance(fields["window"], Custom) else 0
    without = {"event_time": "event_time", "watermark": None, "max_future_skew": None, "drop_by": "window"}
    return {"time": "processing", "timestamp": stamped, "allowed_lateness": lateness, **without}


_WATERMARKS: Final = (Inputs(["a", "b"]), Inputs(["a", "b"], idle_after=4), StreamTime(), StreamTime(2), StreamTime(7))
_arrival: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"order": ["order"]},
        {"order": ["order", "v"]},
        {"position": Position()},
        {"position": Position(source="source")},
    ]
)


@st.composite
def events(draw: st.DrawFn, /, spec: WindowOperator, max_events: int = 9, max_rows: int = 6, clock_moves: int = 2) -> list[dict[str, Any]]:
    """Events for a specification, in the form that :func:`panewise.testing.run` takes; columns are typed as :func:`types_of` says.

    For every 5 batches there are about 3 moves of the watermark, and `clock_moves` of the clock.
    """
    writer = _Writer(draw, spec, types_of(spec), max_rows)
    ops = ["add"] * 5 + ["watermark"] * 3 + ["clock"] * clock_moves + ["restart"]
    chosen = draw(st.lists(st.sampled_from(ops), min_size=1, max_size=max_events))
    script = [writer.event(op) for op in chosen]
    then = ["clock"] if isinstance(spec.watermark, StreamTime) else ["watermark", "clock"]
    after_finish = [{"op": "finish"}, *([writer.event(op) for op in then] if draw(st.booleans()) else [])]
    return script + (after_finish if draw(st.booleans()) else [])


@dataclass
class _Writer:
    """Draws events one after the other; remembers what later ones can tie with."""

    draw: st.DrawFn
    spec: WindowOperator
    types: dict[str, str]
    max_rows: int
    seen: list[int] = field(default_factory=list)
    readings: list[int] = field(default_factory=lambda: [0])
    offsets: dict[Any, int] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def event(self, op: str) -> dict[str, Any]:
        if self.spec.time == "processing":
            op = "clock" if op == "watermark" else op
            self.seen = self.readings
        if isinstance(self.spec.watermark, StreamTime) and op == "watermark":
            op = "add"
        if op == "add":
            return {"op": op, "rows": [self._row() for _ in range(self.draw(st.sampled_from([*range(self.max_rows + 1), 3])))]}
        if op == "watermark":
            places = watermarks if self._one_of([False, True]) else expiries
            source = {"input": self._one_of(self.spec.watermark.names)} if isinstance(self.spec.watermark, Inputs) else {}
            return {"op": op, "to": self._one_of(places(self.spec, self.seen[-4:])), **source}
        if op == "clock":
            to = self._one_of(clocks(self.spec, self.readings[-1], self.readings[-3:], self.seen[-4:]))
            self.readings.append(max(to, self.readings[-1]))
            return {"op": op, "to": to}
        return {"op": op}

    def _one_of(self, values: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(values))

    def _row(self) -> dict[str, Any]:
        if self.rows and self._one_of(range(12)) == 11:
            return dict(self._one_of(self.rows))  # the same row again: a duplicate, and a replay if it has a position
        row = {name: self._cell(name) for name in self.types}
        row |= {name: self._time() for name in self.spec.time_columns}
        if self.spec.position is not None:
            row |= self._position()
        row["note"] = len(self.rows)
        if self._one_of(range(5)) == 4:
            self._spoil(row)
        self.rows.append(row)
        return row

    def _cell(self, name: str) -> Any:
        if name in _WINDOWS:
            return self._one_of([*GAPS * 6, None, 0, -1, 2**63 - 1, "x"])
        nulls: list[Any] = [None] if name not in self.spec.keys or self.spec.null_keys else []
        values: Sequence[Any] = (
            _KEY_VALUES[name] if name in self.spec.keys and name in _KEY_VALUES else _VALUES[self.types[name].split("(")[0]]
        )
        return self._one_of([*values, *nulls])

    def _time(self) -> int:
        places = times(self.spec, self.seen[-4:])
        time: int = self._one_of(places if self._one_of([False, False, True]) else places[:6])  # mostly where rows meet
        self.seen.append(time)
        return time

    def _position(self) -> dict[str, Any]:
        """Mostly the next offset of a partition; now and then one that was there, or one further on."""
        assert self.spec.position is not None
        *names, offset = self.spec.position.columns
        origin = {name: self._one_of([0, 1] if name == self.spec.position.partition else ["kafka", None]) for name in names}
        following = self.offsets.get(tuple(origin.values()), 0)
        at = following + self._one_of([0, 0, 0, 0, 1, 5, -1, -2])
        self.offsets[tuple(origin.values())] = max(following, at + 1)
        return {**origin, offset: at}

    def _spoil(self, row: dict[str, Any]) -> None:
        """Makes one cell null, NaN, of a wrong type or extreme. One only: rows with two faults are told apart by unit tests."""
        places = self.spec.position.columns if self.spec.position else ()
        others = [name for name in self.types if name not in _WINDOWS]  # those are spoilt where they are made
        name = self._one_of([*others, *self.spec.keys, *places, *self.spec.time_columns * 2] or [""])
        if not name:  # nothing is read that could be spoilt
            return
        kind = self.types[name].split("(")[0]
        if name in self.spec.time_columns:
            row[name] = self._one_of([None, None, None, "x", 0.5, True, 2**63, -(2**63) - 1, *EXTREMES])
        else:
            row[name] = self._one_of([None, None, *([math.nan] * 5 if kind == "double" else []), *_MISFITS[kind]])
