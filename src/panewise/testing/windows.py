"""Hypothesis strategies of window operators, over the whole space of specifications.

Sizes and times are a few microseconds (except in calendars), so that equal times and touching windows are
common. Floats are multiples of 0.25, so that sums are exact.
"""

import warnings
from dataclasses import replace
from itertools import product
from typing import Any, Final

from hypothesis import strategies as st

from panewise import functions as F
from panewise.errors import SpecWarning
from panewise.spec import (
    DEFAULT_TRIGGER,
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
    CountEvictor,
    Cumulating,
    Custom,
    DeltaEvictor,
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
    Sliding,
    StreamTime,
    TimeEvictor,
    Tumbling,
    WindowOperator,
    counted,
    rows,
)
from panewise.spec.triggers.composite import finish, fires_once, waits_for_end, walk
from panewise.spec.triggers.presets import (
    apex,
    flink_continuous_event_time,
    flink_continuous_processing_time,
    flink_count,
    samza,
)
from panewise.spec.windows.sliding import ANCHORS
from panewise.testing.edges import CHANGES, focus
from panewise.testing.samples import (
    ALL_TEXT,
    GAP_WINDOWS,
    JOINED,
    LATEST,
    MEASURES,
    NULLS,
    SHIFTS,
    STEPS,
    TRUES,
)

__all__ = [
    "ALL_KINDS",
    "COUNTED_KINDS",
    "KINDS",
    "aggregates",
    "composites",
    "evictors",
    "leaves",
    "specs",
    "triggers",
    "windows",
]

KINDS: Final = ("tumbling", "hopping", "cumulating", "calendar", "session", "sliding", "custom", "global")
COUNTED_KINDS: Final = ("rows", "hopping_rows", "session_of_rows", "sliding_rows")
ALL_KINDS: Final = (*KINDS, *COUNTED_KINDS)
_lengths = st.integers(1, 8)
_own = [
    replace(window, merge=merge)
    for window in (STEPS, STEPS, GAP_WINDOWS)
    for merge in (False, True, "touching")
]
_customs = st.sampled_from([*_own, *[SHIFTS] * 4, replace(SHIFTS, merge=True)])
_zones = st.sampled_from(list(CHANGES))
_weeks = st.builds(
    Calendar, st.just("week"), st.integers(1, 3), _zones, st.sampled_from(["monday", "saturday", "sunday"])
)
_calendars = st.builds(
    Calendar, st.sampled_from(["day", "day", "month", "quarter", "year"]), st.integers(1, 3), _zones
)


_session_gaps = st.sampled_from([*range(1, 7), "gap", "gap", "gap", "gap"])
_counts = st.integers(1, 6).map(rows)
_hopping_rows = st.tuples(_counts, _counts, st.integers(-7, 7), st.booleans()).map(
    lambda it: Hopping(it[0], it[1], it[2], gaps=it[1] > it[0], only_when_full=it[3])
)


def windows(kind: str | None = None) -> st.SearchStrategy[Any]:
    """Returns a strategy of windows of one kind, or of all kinds."""
    origins = st.integers(-9, 9)
    hopping = st.tuples(_lengths, _lengths, origins).map(
        lambda it: Hopping(it[0], it[1], it[2], gaps=it[1] > it[0])
    )
    made: dict[str, st.SearchStrategy[Any]] = {
        "tumbling": st.builds(Tumbling, _lengths, origins),
        "hopping": hopping,
        "cumulating": st.tuples(st.integers(1, 4), st.integers(1, 4), origins).map(
            lambda it: Cumulating(it[0] * it[1], it[0], it[2])
        ),
        "calendar": st.one_of(_calendars, _weeks),
        "session": st.builds(Session, _session_gaps, st.sampled_from(["separate", "merge"]))
        | st.builds(Session, _session_gaps, closed=st.just("both")),
        "sliding": st.builds(Sliding, st.sampled_from([*range(9), 3, 3]), st.sampled_from(ANCHORS)),
        "custom": _customs,
        "global": st.just(Global()),
        "rows": st.builds(Tumbling, _counts, st.sampled_from([0, 0, 1, -5])),
        "hopping_rows": _hopping_rows,
        "session_of_rows": st.builds(Session, _counts),
        "sliding_rows": st.builds(Sliding, _counts),
    }
    return st.one_of(*made.values()) if kind is None else made[kind]


def periods() -> st.SearchStrategy[Every]:
    """Returns a strategy of `Every`, aligned and not aligned."""
    aligned = st.integers(1, 5).flatmap(
        lambda d: st.builds(Every, st.just(d), aligned=st.just(True), offset=st.integers(0, d - 1))
    )
    return st.one_of(st.builds(Every, st.integers(1, 5)), aligned)


def leaves() -> st.SearchStrategy[Any]:
    """Returns a strategy of all simple triggers."""
    return st.one_of(
        st.just(Always()),
        st.builds(AfterCount, st.integers(1, 4)),
        periods(),
        st.builds(AfterProcessingTime, st.integers(0, 5), st.sampled_from([None, None, 1, 4])),
        st.builds(AfterEventTime, st.integers(1, 6)),
        st.just(OnPunctuation("flag")),
        st.builds(OnDelta, st.sampled_from(["v", "n"]), st.integers(0, 3)),
        st.just(Never()),
    )


@st.composite
def composites(draw: st.DrawFn, /, depth: int = 3) -> Any:
    """Draws trigger trees up to a depth; AfterWatermark may be anywhere except inside another one."""
    return _tree(draw, depth, ends=True)


def _tree(draw: st.DrawFn, depth: int, *, ends: bool) -> Any:
    """Draws a tree up to a depth. It may contain AfterWatermark only if `ends` is True."""
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
        return OrFinally(
            _tree(draw, depth - 1, ends=ends),
            until if fires_once(until) else AfterCount(draw(st.integers(1, 9))),
        )
    made = {"any": AfterAny, "all": AfterAll, "each": AfterEach}[kind]
    return made(*(_tree(draw, depth - 1, ends=ends) for _ in range(draw(st.integers(1, 3)))))


# Trigger presets (semantics 17), with times as short as those of the events.
_NAMED: Final = (
    *(samza(early, late) for early in (None, 2, "each") for late in (1, 4)),
    *(apex(early_every=2, early_count=count, late_every=3, late_count=count) for count in (None, 2)),
    *(
        apex(early_every=every, early_count=count, at_watermark=False)
        for every, count in ((3, None), (None, 2), (3, 2))
    ),
    *(
        apex(late_every=3),
        flink_continuous_event_time(3),
        flink_continuous_processing_time(3),
        flink_count(2),
    ),
)


def triggers() -> st.SearchStrategy[Any]:
    """Returns a strategy of all triggers: the common ones, the trigger presets, and trees."""
    simple = st.one_of(
        st.just(Always()), st.builds(AfterCount, st.integers(1, 4)), periods(), st.just(Never())
    )
    parts = st.one_of(st.none(), simple)
    after_watermark = st.builds(AfterWatermark, early=parts, late=parts)
    return st.one_of(
        after_watermark, after_watermark, simple, leaves(), composites(), st.sampled_from(_NAMED)
    )


def aggregates() -> st.SearchStrategy[list[Aggregate]]:
    """Returns a strategy of one to four aggregates, of all functions and all types that these take."""
    made = st.one_of(st.sampled_from(_plain()), st.sampled_from(_ranked()))
    numbered = st.lists(made, min_size=1, max_size=4)
    return numbered.map(lambda chosen: [aggregate.alias(f"a{n}") for n, aggregate in enumerate(chosen)])


def _plain() -> list[Aggregate]:
    """Returns the aggregates that do not order their values, over all columns that they take."""
    numbers = ["v", "n"]
    made: list[Aggregate] = [
        F.count(),
        JOINED("s"),
        NULLS("v"),
        *(F.percentile(name, p) for name in numbers for p in (0, 0.25, 0.9, 1)),
    ]
    for name in MEASURES:
        made += [
            F.count(name),
            F.first(name),
            F.last(name),
            F.first(name, True),
            F.last(name, ignorenulls=True),
        ]
        made += [
            F.min(name),
            F.max(name),
            F.collect_list(name),
            F.collect_set(name),
            F.approx_count_distinct(name),
        ]
        made += [F.count_distinct(name), F.mode(name)]
    made += [fn(name) for fn in (F.sum, F.avg) for name in (*numbers, "price", "amount")]
    made += [fn(name) for fn in (F.stddev, F.variance, F.stddev_pop, F.var_pop, F.median) for name in numbers]
    return [
        *made,
        F.count_if("flag"),
        F.bool_and("flag"),
        F.bool_or("flag"),
        TRUES("flag"),
        ALL_TEXT("s"),
        LATEST("n"),
    ]


def _ranked() -> list[Aggregate]:
    """Returns the aggregates that order their values, by the values themselves or by another column."""
    made: list[Aggregate] = []
    for name, other in product(MEASURES, MEASURES):
        made += [F.max_by(name, other), F.min_by(name, other)]
        flags = enumerate(product([False, True], [False, True]), start=1)
        made += [
            F.top_n_by(name, other, n, ascending=ascending, distinct=distinct)
            for n, (ascending, distinct) in flags
        ]
    for name, ascending in product(MEASURES, [False, True]):
        made += [F.sort_list(name, ascending), *(F.top_n(name, n, ascending) for n in (1, 2, 4))]
    return made


def evictors(*, after: bool) -> st.SearchStrategy[Any]:
    """Returns a strategy of all evictors; with `after`, also of those that evict after the aggregation."""
    turns = st.booleans() if after else st.just(False)
    return st.one_of(
        st.builds(CountEvictor, st.integers(1, 4), turns),
        st.builds(TimeEvictor, st.integers(1, 6), turns),
        st.builds(DeltaEvictor, st.sampled_from(["v", "n"]), st.integers(1, 4), turns),
    )


_deltas = st.sampled_from([False] * 6 + [True, ("v",), ("s", "event_time"), ("price", "v", "key")])


@st.composite
def specs(draw: st.DrawFn, /, kind: str | None = None, **fixed: Any) -> WindowOperator:
    """Draws window operators; each field takes every kind of its values.

    Args:
        kind: the kind of the window, one of `ALL_KINDS`. Default: all.
        fixed: fields that are not drawn, with their values. Windows of rows and sliding windows get another
            value where they refuse the given one: another trigger, no evictor, no watermark and so on.
    """
    window, trigger = fixed.get("window") or draw(windows(kind)), fixed.get("trigger") or draw(triggers())
    lateness = [0, UNLIMITED] if isinstance(window, Global) else [0, 1, 5, 12, UNLIMITED]
    ahead = max(0, focus(window))  # how far event times are ahead of processing time, which starts at 0
    fields: dict[str, Any] = {
        "aggregates": draw(aggregates()),
        "keys": draw(
            st.sampled_from([["key"], [], ["level"], ["shop"], ["level", "key"], ["shop", "level"]])
        ),
        "event_time": draw(st.sampled_from(["event_time", "t"])),
        "accumulation": draw(st.sampled_from(["discarding", "accumulating", "retracting"])),
        "allowed_lateness": draw(st.sampled_from(lateness)),
        "null_keys": draw(st.booleans()),
        "max_future_skew": draw(st.sampled_from([None, None, None, None, ahead + 3, ahead + 20])),
        "on_time": draw(st.sampled_from(["if_pending", "always"]))
        if waits_for_end(trigger)
        else "if_pending",
        "closing": draw(st.sampled_from(["if_pending", "if_pending", "always"])),
        "evaluate": draw(st.sampled_from(["batch", "batch", "record"])),
        "watermark": draw(
            st.sampled_from([*[None] * 9, FixedLag(0), FixedLag(3), FixedLag(ahead + 10), *_WATERMARKS])
        ),
        **draw(_arrival),
    }
    if draw(st.sampled_from([False, False, True])):
        fields["evictor"] = draw(
            evictors(after=fixed.get("accumulation", fields["accumulation"]) != "discarding")
        )
    fields["delta"] = draw(_deltas)
    fields["timestamp"] = draw(st.sampled_from([None, None, "end", "window_time", "earliest", "latest"]))
    fields |= {"window": window, "trigger": trigger, **fixed}
    if counted(window):
        fields |= draw(_by_rows(fields))
    elif draw(st.sampled_from([False] * 7 + [True])):
        fields |= _by_processing_time(fields) | fixed
    if isinstance(window, Sliding):
        fields |= _slid(fields)
    fields.setdefault(
        "only_updated",
        fields["accumulation"] == "accumulating" and not fields["delta"] and draw(st.booleans()),
    )
    if "drop_by" not in fields:
        never = fields["allowed_lateness"] == UNLIMITED or counted(window)
        fields["drop_by"] = "window" if never else draw(st.sampled_from(["window", "window", "row"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return WindowOperator(**fields)


def _by_processing_time(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields to change for time="processing", which refuses some (semantics 6.8)."""
    stamped = fields["timestamp"] if fields["timestamp"] in ("end", "window_time") else None
    lateness = fields["allowed_lateness"] if isinstance(fields["window"], Custom) else 0
    evictor = fields.get("evictor")
    without = {"event_time": "event_time", "watermark": None, "max_future_skew": None, "drop_by": "window"}
    without["evictor"] = None if isinstance(evictor, TimeEvictor) else evictor
    return {"time": "processing", "timestamp": stamped, "allowed_lateness": lateness, **without}


def _slid(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields to change for sliding windows, which refuse some (semantics 7.8, 8.8)."""
    trigger = fields["trigger"]
    if any(isinstance(node, OnPunctuation | OnDelta | AfterEventTime) for node in walk(trigger)):
        trigger = AfterWatermark(Repeatedly(AfterAll(AfterCount(2), AfterProcessingTime(2))), Always())
    if finish(trigger) == "any_time" or (finish(trigger) == "at_end" and fields["allowed_lateness"] != 0):
        trigger = Repeatedly(trigger)
    on_time = fields["on_time"] if waits_for_end(trigger) else "if_pending"
    changes = {"trigger": trigger, "on_time": on_time, "evictor": None, "delta": False}
    if counted(fields["window"]):  # each window emits one pane (semantics 8.8)
        single = {
            "trigger": DEFAULT_TRIGGER,
            "accumulation": "discarding",
            "on_time": "if_pending",
            "closing": "if_pending",
        }
        changes |= {**single, "only_updated": False}
    return changes


@st.composite
def _by_rows(draw: st.DrawFn, fields: dict[str, Any]) -> dict[str, Any]:
    """Draws the fields to change for windows of rows.

    These refuse some fields always, and others if no event time is named (semantics 8.5, 8.6).
    """
    made: dict[str, Any] = {
        "watermark": None,
        "allowed_lateness": 0,
        "event_time": draw(st.sampled_from([None, None, "event_time", "t"])),
    }
    if made["event_time"] is None:
        timed = isinstance(fields.get("evictor"), TimeEvictor)
        made |= {
            "timestamp": None,
            "max_future_skew": None,
            "evictor": None if timed else fields.get("evictor"),
        }
    elif fields["timestamp"] in ("end", "window_time"):
        made["timestamp"] = "latest"
    if not _without_end(fields["trigger"]):
        made["trigger"] = draw(triggers().filter(_without_end))
        made["on_time"] = "if_pending"
    return made


def _without_end(trigger: Any) -> bool:
    return not any(isinstance(node, AfterEventTime) for node in walk(trigger))


_OF_INPUTS: Final = (
    Inputs(["a", "b"]),
    Inputs(["a", "b"], idle_after=4),
    Inputs(["a"], column="input", delay=2),
    Inputs(["a", "b"], column="input"),
    Inputs(["a", "b"], idle_after=4, column="input", delay={"a": 2, "b": 0}),
)
_WATERMARKS: Final = (
    *_OF_INPUTS,
    StreamTime(),
    StreamTime(2),
    StreamTime(7),
    StreamTime(per="all"),
    StreamTime(3, per="all"),
)
_arrival: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"order": ["order"]},
        {"order": ["order", "v"]},
        {"position": Position()},
        {"position": Position(source="source")},
        {"position": Position(ordered=False, remember=1)},
        {"position": Position(source="source", ordered=False, remember=2)},
    ]
)
