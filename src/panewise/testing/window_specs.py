"""Hypothesis strategies of window operators, over the whole space of specifications.

Sizes and times are a few microseconds (except in calendars), so that equal times and touching windows are
common. Floats are multiples of 0.25, so that sums are exact.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from panewise.errors import SpecError
from panewise.spec import (
    DEFAULT_TRIGGER,
    UNLIMITED,
    AfterAll,
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    Calendar,
    CountEvictor,
    Cumulating,
    Custom,
    DeltaEvictor,
    FixedLag,
    Global,
    Hopping,
    Inputs,
    MaxWindows,
    OnDelta,
    OnPunctuation,
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
from panewise.spec.fields import silently
from panewise.spec.triggers.composite import finish, has_after_watermark, walk
from panewise.spec.windows.sliding import ANCHORS
from panewise.testing.aggregates import aggregates
from panewise.testing.edges import CHANGES, focus
from panewise.testing.samples import GAP_WINDOWS, SHIFTS, STEPS
from panewise.testing.triggers import triggers

__all__ = [
    "ALL_KINDS",
    "COUNTED_KINDS",
    "KINDS",
    "LIMITED_KINDS",
    "evictors",
    "limited_specs",
    "specs",
    "windows",
]

KINDS: Final = ("tumbling", "hopping", "cumulating", "calendar", "session", "sliding", "custom", "global")
COUNTED_KINDS: Final = ("rows", "hopping_rows", "session_of_rows", "sliding_rows")
ALL_KINDS: Final = (*KINDS, *COUNTED_KINDS)
LIMITED_KINDS: Final = ("tumbling", "hopping", "cumulating", "calendar", "custom")
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
    of_kind: dict[str, st.SearchStrategy[Any]] = {
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
    return st.one_of(*of_kind.values()) if kind is None else of_kind[kind]


def evictors(*, after: bool) -> st.SearchStrategy[Any]:
    """Returns a strategy of all evictors; with `after`, also of those that evict after the aggregation."""
    afterwards = st.booleans() if after else st.just(False)
    return st.one_of(
        st.builds(CountEvictor, st.integers(1, 4), afterwards),
        st.builds(TimeEvictor, st.integers(1, 6), afterwards),
        st.builds(DeltaEvictor, st.sampled_from(["v", "n"]), st.integers(1, 4), afterwards),
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
    fields = draw(_plain_fields(window, trigger))
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
    with silently():
        return WindowOperator(**fields)


@st.composite
def _plain_fields(draw: st.DrawFn, window: Any, trigger: Any) -> dict[str, Any]:
    """Draws the fields on which no other one depends."""
    lateness = [0, UNLIMITED] if isinstance(window, Global) else [0, 1, 5, 12, UNLIMITED]
    ahead = max(0, focus(window))  # how far event times are ahead of processing time, which starts at 0
    return {
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
        if has_after_watermark(trigger)
        else "if_pending",
        "closing": draw(st.sampled_from(["if_pending", "if_pending", "always"])),
        "evaluate": draw(st.sampled_from(["batch", "batch", "record"])),
        "watermark": draw(
            st.sampled_from([*[None] * 9, FixedLag(0), FixedLag(3), FixedLag(ahead + 10), *_WATERMARKS])
        ),
        **draw(_arrival),
    }


@st.composite
def limited_specs(draw: st.DrawFn, /, kind: str | None = None, **fixed: Any) -> WindowOperator:
    """Draws window operators as :func:`specs` does, with a limit of windows where one is possible.

    Without `kind` it is one of `LIMITED_KINDS`.
    """
    kind = kind or draw(st.sampled_from(LIMITED_KINDS))
    spec, limit = draw(specs(kind, **fixed)), MaxWindows(draw(st.integers(1, 4)))
    with suppress(SpecError), silently():
        return replace(spec, max_windows=limit)
    return spec


def _by_processing_time(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields to change for time="processing", which refuses some (semantics 6.8)."""
    stamped = fields["timestamp"] if fields["timestamp"] in ("end", "window_time") else None
    lateness = fields["allowed_lateness"] if isinstance(fields["window"], Custom) else 0
    evictor = fields.get("evictor")
    without = {"event_time": "event_time", "watermark": None, "max_future_skew": None, "drop_by": "window"}
    without["evictor"] = None if isinstance(evictor, TimeEvictor) else evictor
    return {"time": "processing", "timestamp": stamped, "allowed_lateness": lateness, **without}


_OF_SINGLE_ROWS: Final = (OnPunctuation, OnDelta, AfterEventTime, AfterEventTimeDelay)


def _slid(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields to change for sliding windows, which refuse some (semantics 7.8, 8.8)."""
    trigger = fields["trigger"]
    if any(isinstance(node, _OF_SINGLE_ROWS) for node in walk(trigger)):
        trigger = AfterWatermark(Repeatedly(AfterAll(AfterCount(2), AfterProcessingTime(2))), Always())
    if finish(trigger) == "any_time" or (finish(trigger) == "at_end" and fields["allowed_lateness"] != 0):
        trigger = Repeatedly(trigger)
    on_time = fields["on_time"] if has_after_watermark(trigger) else "if_pending"
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
    changes: dict[str, Any] = {
        "watermark": None,
        "allowed_lateness": 0,
        "event_time": draw(st.sampled_from([None, None, "event_time", "t"])),
    }
    if changes["event_time"] is None:
        timed = isinstance(fields.get("evictor"), TimeEvictor)
        changes |= {
            "timestamp": None,
            "max_future_skew": None,
            "evictor": None if timed else fields.get("evictor"),
        }
    elif fields["timestamp"] in ("end", "window_time"):
        changes["timestamp"] = "latest"
    if not _without_end(fields["trigger"]):
        changes["trigger"] = draw(triggers().filter(_without_end))
        changes["on_time"] = "if_pending"
    return changes


def _without_end(trigger: Any) -> bool:
    return not any(isinstance(node, AfterEventTime | AfterEventTimeDelay) for node in walk(trigger))


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
    StreamTime(3, per="all", idle_after=4),
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
