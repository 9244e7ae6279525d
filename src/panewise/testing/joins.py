"""Hypothesis strategies of joins (semantics 27, 28, 36 to 41)."""

import warnings
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any, Final

from hypothesis import strategies as st

from panewise.chrono import Duration
from panewise.errors import SpecWarning
from panewise.spec import (
    DEFAULT_TRIGGER,
    UNLIMITED,
    FixedLag,
    Global,
    Position,
    Session,
    StreamTime,
)
from panewise.spec.conditions import left, right
from panewise.spec.operators.join.columns import LEFT, RIGHT, SIDES, Selected
from panewise.spec.operators.join.event_times import by_arrival
from panewise.spec.operators.join.match import CLOSED, STRATEGIES, AsOf, Interval, LastRows, Latest, Match
from panewise.spec.operators.join.operator import HOWS_OF, ONE_SIDED, JoinOperator
from panewise.spec.operators.join.same_window import SameWindow, has_ends
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.streamwindow import count, delta, time
from panewise.testing.join_events import VALUES
from panewise.testing.samples import SHIFTS, SHIFTS_ONCE, STEPS
from panewise.testing.triggers import triggers
from panewise.testing.windowed_streams import fitting
from panewise.testing.windows import windows

__all__ = [
    "as_ofs",
    "intervals",
    "join_specs",
    "last_rows",
    "latests",
    "same_windows",
    "two_sides",
    "unbounded_intervals",
    "watermarks_of_sides",
    "window_join_specs",
]

_KEYS: Final[tuple[tuple[list[str], list[str]], ...]] = (
    (["key"], ["key"]),
    (["key"], ["key"]),
    (["key"], ["id"]),
    (["level"], ["level"]),
    (["level"], ["height"]),
    (["shop"], ["shop"]),
    (["shop", "level"], ["shop", "level"]),
    (["key", "level"], ["id", "level"]),
    (["shop", "key"], ["place", "id"]),
    ([], []),
)
# Conditions that are null, false and true for pairs of the samples, of one side and of both.
CONDITIONS: Final = (
    left("v") <= right("v"),
    (left("n") + 1 != right("note")) | right("s").is_null(),
    ~(left("v").is_null()) & (left("n") * 2 - right("note") > 0),
    right("s").is_in(["a", "b"]),
    left("v").between(right("v"), 2.0),
)
_OF_TIME: Final = frozenset(
    {"left", "right", "timestamp", "watermark", "idle_after"}
)  # fields of event times
_OWN_STRATEGIES: Final = (SameWindow, WindowedStreams)  # matches that are drawn only if they are fixed
# Custom windows that merge. A window of the last need not contain the time of its row.
_MERGING: Final = (
    replace(STEPS, merge=True),
    replace(STEPS, merge="touching"),
    replace(SHIFTS_ONCE, merge=True),
)
_DELTAS: Final = {
    LEFT: (delta("v", 1), delta("n", 1), delta("v", 0.5), delta("price", 2), delta("n", Decimal("2.5"))),
    RIGHT: (delta("v", 0), delta("v", 3), delta("n", 2), delta("n", "3 microseconds"), delta("price", 0.5)),
}


def intervals() -> st.SearchStrategy[Interval]:
    """Returns a strategy of intervals: bounds of both signs, equal ones, each form of `closed` and `late`."""
    lengths = st.sampled_from([0, 0, 1, 2, 3, 7])
    late = st.sampled_from(["output", "output", "join"])
    made = st.tuples(st.integers(-6, 6), lengths, st.sampled_from(CLOSED), late)
    return made.map(lambda it: _interval(*it))


def unbounded_intervals() -> st.SearchStrategy[Interval]:
    """Returns a strategy of intervals without one bound or both: with each retention, and each `closed`."""
    of_one = [(None, 3), (None, -2), (None, 0), (-4, None), (0, None), (3, None)]
    bounds = st.sampled_from([*of_one, (None, None)])
    of_both = [(2, None), (6, None), (None, 1), (None, 2), (4, 1), (3, 2)]
    limits = st.sampled_from([*of_both, (UNLIMITED, None)])
    made = st.tuples(bounds, limits, st.sampled_from(["both", "neither"]))
    return made.map(lambda it: _unbounded(*it))


def _unbounded(bounds: Any, limits: Any, closed: Any) -> Interval:
    """Returns an interval; one without bounds includes both ends, as it must say."""
    of_none: Any = "both" if bounds == (None, None) else closed
    return Interval(bounds[0], bounds[1], of_none, retain_for=limits[0], retain_rows=limits[1])


def _interval(lower: int, length: int, closed: Any, late: Any) -> Interval:
    """Returns an interval; one that would include nothing includes both bounds."""
    empty = length < {"both": 0, "left": 1, "right": 1, "neither": 2}[closed]
    return Interval(lower, lower + length, "both" if empty else closed, late=late)


def as_ofs() -> st.SearchStrategy[AsOf]:
    """Returns a strategy of as-of matches: each strategy with and without a tolerance."""
    exact = st.sampled_from([True, True, False])
    made = st.tuples(st.sampled_from(STRATEGIES), st.sampled_from([None, 0, 1, 2, 3, 7]), exact)
    return made.map(lambda it: _as_of(*it))


def same_windows() -> st.SearchStrategy[SameWindow]:
    """Returns a strategy of window matches: each kind of window that is allowed, and all triggers."""
    made = st.one_of(*(windows(kind) for kind in ("tumbling", "hopping", "cumulating", "calendar", "global")))
    merging_ones = st.builds(Session, st.integers(1, 6), st.sampled_from(["separate", "merge"]))
    closed = st.builds(Session, st.integers(1, 6), closed=st.just("both"))
    customs = st.sampled_from([STEPS, SHIFTS, *_MERGING])
    accumulations = st.sampled_from(["discarding", "discarding", "accumulating", "retracting"])
    gaps = st.builds(Session, st.just("gap"), st.sampled_from(["separate", "merge"]))
    window = st.one_of(made, merging_ones, merging_ones, closed, customs, gaps)
    return st.tuples(window, triggers() | st.just(DEFAULT_TRIGGER), accumulations, st.integers(0, 4)).map(
        lambda it: _same_window(*it)
    )


def _same_window(window: Any, trigger: Any, accumulation: Any, lateness: int) -> SameWindow:
    """Returns a match; `lateness` is the number of one of several."""
    of_window: list[Any] = [0, 0, 0, 0, UNLIMITED] if isinstance(window, Global) else [0, 0, 1, 5, UNLIMITED]
    drop: Any = "row" if lateness == 3 else "window"
    given = {"accumulation": accumulation, "allowed_lateness": of_window[lateness], "drop_by": drop}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return SameWindow(window, trigger=trigger, **given)


def _as_of(strategy: Any, tolerance: int | None, exact: bool) -> AsOf:
    """Returns an as-of match; one with a tolerance of 0 allows exact matches."""
    return AsOf(strategy, tolerance, allow_exact_matches=exact or tolerance == 0)


def last_rows(*, of_left: bool = False) -> st.SearchStrategy[LastRows]:
    """Returns a strategy of the last rows: each order, and by arrival each pair of windows.

    With `of_left` there is a window of left rows.
    """
    counts = st.sampled_from([1, 1, 2, 3])
    of_kind: dict[str, Any] = {
        side: {
            "none": st.none(),
            "count": counts.map(count),
            "time": st.sampled_from([1, 3]).map(time),
            "delta": st.sampled_from(_DELTAS[side]),
        }
        for side in SIDES
    }
    kinds = [*product(of_kind[LEFT], of_kind[RIGHT])][len(of_kind[RIGHT]) if of_left else 1 :]
    by_arrival = st.sampled_from(kinds).flatmap(
        lambda pair: st.builds(LastRows, of_kind[RIGHT][pair[1]], of_kind[LEFT][pair[0]])
    )
    in_time = counts.map(lambda n: LastRows(n, order="event_time"))
    orders = [by_arrival, by_arrival, by_arrival, by_arrival if of_left else in_time]
    return st.sampled_from(orders).flatmap(lambda made: made)


def latests() -> st.SearchStrategy[Latest]:
    """Returns a strategy of the latest rows: with and without a time to live, and rows that delete."""
    columns = st.sampled_from([None, "v", ("v", None), (None, "v"), ("n", "s")])
    return st.builds(Latest, st.sampled_from([None, 1, 3, 3]), columns)


@st.composite
def join_specs(draw: st.DrawFn, /, **fixed: Any) -> JoinOperator:
    """Draws joins; each field that is not `fixed` takes every kind of its values that the others allow.

    For window joins see :func:`window_join_specs`, for windowed stream joins
    :func:`panewise.testing.windowed_streams.windowed_streams`.
    """
    kind, how, unmatched, timestamp = draw(st.sampled_from(_cells(fixed)))
    match = fixed["match"] if "match" in fixed else draw(_of_kind(kind, fixed, unmatched))
    fields: dict[str, Any] = {
        "how": how,
        "match": match,
        "unmatched": unmatched,
        "timestamp": timestamp,
        "evaluate": draw(st.sampled_from(["batch", "batch", "record"])),
        **draw(watermarks_of_sides()),
    }
    if isinstance(match, SameWindow) and how not in ONE_SIDED and has_ends(match) and draw(st.booleans()):
        fields["timestamp"] = "window"
    one, other = draw(two_sides(fields.pop("marks")))
    if isinstance(match, SameWindow):
        one, other = (replace(side, allowed_lateness=Duration(0)) for side in (one, other))
    if isinstance(match, WindowedStreams):
        match, one, other = fitting(match, one, other)
    if by_arrival(match) and not _OF_TIME & fixed.keys() and draw(st.sampled_from([False, False, True])):
        one, other = (_without_event_time(side) for side in (one, other))
        fields |= {"timestamp": None, "watermark": None, "idle_after": None}
    if draw(st.booleans()):
        fields["select"] = draw(_selections(one, other, how))
    elif how not in ONE_SIDED:
        one, other = draw(st.sampled_from([(one, replace(other, prefix="r_"))] * 2 + [_prefixed(one, other)]))
    elif draw(st.booleans()):
        one = replace(one, prefix="l_")
    if _takes_condition(match):
        fields["condition"] = draw(st.none() | st.sampled_from(CONDITIONS))
    return JoinOperator(**{"left": one, "right": other, **fields, **fixed, "match": match})


def window_join_specs(**fixed: Any) -> st.SearchStrategy[JoinOperator]:
    """Returns a strategy of window joins; fields are drawn as by :func:`join_specs`."""
    return same_windows().flatmap(lambda match: join_specs(match=match, **fixed))


def _cells(fixed: dict[str, Any]) -> list[tuple[type[Match], str, str | None, str | None]]:
    """Returns the kinds of a match, `how`, `unmatched` and `timestamp` that exist (semantics 27.2, 37.3)."""
    found: list[tuple[type[Match], str, str | None, str | None]] = []
    for kind, how in ((kind, how) for kind, hows in HOWS_OF.items() for how in hows):
        early = ("final",) if kind is AsOf else ("final", "early")
        for unmatched in early if how not in ("inner", "semi") else (None,):
            timestamps = (None,) * 3 if how in ONE_SIDED else ("left", "right", "later", "earlier")
            found += [(kind, how, unmatched, timestamp) for timestamp in timestamps]
    given = fixed.get("match")
    of_fields = ("how", "unmatched", "timestamp")
    return [
        cell
        for cell in found
        if (isinstance(given, cell[0]) if given is not None else cell[0] not in _OWN_STRATEGIES)
        and (cell[2] != "early" or not isinstance(given, LastRows) or given.left is not None)
        and all(fixed.get(name, value) == value for name, value in zip(of_fields, cell[1:], strict=True))
    ]


def _of_kind(kind: type[Match], fixed: dict[str, Any], unmatched: str | None) -> st.SearchStrategy[Match]:
    """Returns a strategy of the matches of a kind that are allowed with these fields."""
    kinds: dict[type[Match], st.SearchStrategy[Match]]
    kinds = {
        Interval: intervals(),
        AsOf: as_ofs(),
        Latest: latests(),
        LastRows: last_rows(of_left=unmatched == "early"),
    }
    made = kinds[kind]
    return made if fixed.get("condition") is None else made.filter(_takes_condition)


def _takes_condition(match: Match) -> bool:
    return not isinstance(match, AsOf) or match.tolerance is not None


def _without_event_time(side: Side) -> Side:
    return replace(side, event_time=None, max_future_skew=None, watermark=None, allowed_lateness=Duration(0))


def _prefixed(left: Side, right: Side) -> tuple[Side, Side]:
    return replace(left, prefix="l_"), replace(right, prefix="r_")


@st.composite
def watermarks_of_sides(draw: st.DrawFn, /) -> dict[str, Any]:
    """Draws where the watermarks come from: of both sides together, or of each side, as `marks`."""
    kind = draw(st.sampled_from(["outside", "outside", "rows", "rows", "both", "lag", "mixed"]))
    delayed = st.sampled_from([0, 0, 2, 5]).map(lambda delay: StreamTime(delay, per="all"))
    lags = st.sampled_from([0, 3, 10]).map(FixedLag)
    if kind == "both":
        return {"watermark": draw(delayed), "marks": (None, None)}
    of_kind: dict[str, Any] = {"outside": st.none(), "rows": delayed}
    one = of_kind.get(kind, st.one_of(lags, st.none(), *([delayed] if kind == "mixed" else [])))
    marks = (draw(one), draw(one))
    lagging = any(isinstance(mark, FixedLag) for mark in marks)
    return {"marks": marks, "idle_after": None if lagging else draw(st.sampled_from([None, None, 4]))}


@st.composite
def two_sides(draw: st.DrawFn, /, marks: tuple[Any, Any]) -> tuple[Side, Side]:
    """Draws the two sides, with these watermarks."""
    keys = draw(st.sampled_from(_KEYS))
    order = draw(st.sampled_from(["none", "none", "both", "one", "longer", "positions"]))
    made = []
    for number in range(2):
        declares = order in ("both", "longer") or (order == "one" and number == 0)
        columns = ["order", "v"] if order == "longer" and number == 1 else ["order"]
        positions = [None, Position(), Position(source="source"), Position(ordered=False, remember=2)]
        side = Side(
            keys=keys[number],
            event_time=draw(st.sampled_from(["event_time", "t"])),
            order=columns if declares else [],
            position=draw(st.sampled_from(positions)) if order == "positions" else None,
            null_keys=draw(st.sampled_from([True, True, False])) if keys[0] else True,
            max_future_skew=draw(st.sampled_from([None, None, None, None, 3, 20])),
            watermark=marks[number],
            allowed_lateness=draw(st.sampled_from([0, 0, 1, 5])),
        )
        made.append(side)
    return made[0], made[1]


@st.composite
def _selections(draw: st.DrawFn, /, left: Side, right: Side, how: str) -> list[Selected]:
    """Draws the columns to emit: keys as "either" and of both sides, event times and values."""
    columns = [Selected("left", name) for name in (*left.keys, *left.time_columns, *VALUES[LEFT])]
    if how not in ONE_SIDED:
        columns += [Selected("right", name) for name in (*right.keys, *right.time_columns, *VALUES[RIGHT])]
    either: list[Selected] = [Selected("either", name) for name in left.keys]
    chosen = draw(st.lists(st.sampled_from([*columns, *either, *either]), min_size=1, max_size=5))
    return [replace(one, name=f"c{number}") for number, one in enumerate(chosen)]
