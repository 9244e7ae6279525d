"""Hypothesis strategies of joins (semantics 27, 28, 36 to 41)."""

from dataclasses import replace
from itertools import product
from typing import Any, Final

from hypothesis import strategies as st

from panewise.chrono import Duration
from panewise.matches import MATCHES
from panewise.spec import FixedLag, Position, StreamTime
from panewise.spec.conditions import left, right
from panewise.spec.operators.join.columns import LEFT, ONE_SIDED, RIGHT, Selected
from panewise.spec.operators.join.match_parts import match_parts, parts_of_kind
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side
from panewise.testing.join_events import VALUES
from panewise.testing.matches.parts import kind_for_tests, match_tests
from panewise.testing.matches.same_window import same_windows

__all__ = ["join_specs", "two_sides", "watermarks_of_sides", "window_join_specs"]

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


@st.composite
def join_specs(draw: st.DrawFn, /, **fixed: Any) -> JoinOperator:
    """Draws joins; each field that is not `fixed` takes every kind of its values that the others allow.

    For window joins see :func:`window_join_specs`, for windowed stream joins
    :func:`panewise.testing.matches.streams.windowed_streams`.
    """
    kind, how, unmatched, timestamp = draw(st.sampled_from(_cells(fixed)))
    match = fixed["match"] if "match" in fixed else draw(_of_kind(kind, fixed, unmatched))
    of_match, parts = match_tests(match), match_parts(match)
    fields: dict[str, Any] = {
        "how": how,
        "match": match,
        "unmatched": unmatched,
        "timestamp": timestamp,
        "evaluate": draw(st.sampled_from(["batch", "batch", "record"])),
        **draw(watermarks_of_sides()),
    }
    if parts.windows_end(match) and how not in ONE_SIDED and draw(st.booleans()):
        fields["timestamp"] = "window"
    left_side, right_side = draw(two_sides(fields.pop("watermarks")))
    match, left_side, right_side = of_match.fitted(match, left_side, right_side)
    timeless = parts.by_arrival(match) and not _OF_TIME & fixed.keys()
    if timeless and draw(st.sampled_from([False, False, True])):
        left_side, right_side = (_without_event_time(side) for side in (left_side, right_side))
        fields |= {"timestamp": None, "watermark": None, "idle_after": None}
    if draw(st.booleans()):
        fields["select"] = draw(selections(left_side, right_side, how))
    elif how not in ONE_SIDED:
        left_side = draw(st.sampled_from([left_side, left_side, replace(left_side, prefix="l_")]))
        right_side = replace(right_side, prefix="r_")
    elif draw(st.booleans()):
        left_side = replace(left_side, prefix="l_")
    if of_match.takes_condition(match):
        fields["condition"] = draw(st.none() | st.sampled_from(CONDITIONS))
    return JoinOperator(**{"left": left_side, "right": right_side, **fields, **fixed, "match": match})


def window_join_specs(**fixed: Any) -> st.SearchStrategy[JoinOperator]:
    """Returns a strategy of window joins; fields are drawn as by :func:`join_specs`."""
    return same_windows().flatmap(lambda match: join_specs(match=match, **fixed))


def _cells(fixed: dict[str, Any]) -> list[tuple[str, str, str | None, str | None]]:
    """Returns the kinds of a match, `how`, `unmatched` and `timestamp` that exist (semantics 27.2, 37.3)."""
    match, cells = fixed.get("match"), list[tuple[str, str, str | None, str | None]]()
    of_fields = ("how", "unmatched", "timestamp")
    for kind in MATCHES if match is None else (match.kind,):
        of_kind = kind_for_tests(kind)
        if match is None and not of_kind.drawn:
            continue
        alone = ("final", "early") if of_kind.emits_early(match) else ("final",)
        for how in parts_of_kind(kind).hows:
            times = (None,) * 3 if how in ONE_SIDED else ("left", "right", "later", "earlier")
            for cell in product(alone if how not in ("inner", "semi") else (None,), times):
                cells.append((kind, how, *cell))
    return [
        cell
        for cell in cells
        if all(fixed.get(name, value) == value for name, value in zip(of_fields, cell[1:], strict=True))
    ]


def _of_kind(kind: str, fixed: dict[str, Any], unmatched: str | None) -> st.SearchStrategy[Any]:
    """Returns a strategy of the matches of a kind that are allowed with these fields."""
    of_kind = kind_for_tests(kind)
    matches = of_kind.strategy(unmatched == "early")
    return matches if fixed.get("condition") is None else matches.filter(of_kind.takes_condition)


def _without_event_time(side: Side) -> Side:
    return replace(side, event_time=None, max_future_skew=None, watermark=None, allowed_lateness=Duration(0))


@st.composite
def watermarks_of_sides(draw: st.DrawFn, /) -> dict[str, Any]:
    """Draws where the watermarks come from: of both sides together, or of each side, as `watermarks`."""
    kind = draw(st.sampled_from(["outside", "outside", "rows", "rows", "both", "lag", "mixed"]))
    delayed = st.sampled_from([0, 0, 2, 5]).map(lambda delay: StreamTime(delay, per="all"))
    lags = st.sampled_from([0, 3, 10]).map(FixedLag)
    if kind == "both":
        return {"watermark": draw(delayed), "watermarks": (None, None)}
    of_kind: dict[str, Any] = {"outside": st.none(), "rows": delayed}
    of_side = of_kind.get(kind, st.one_of(lags, st.none(), *([delayed] if kind == "mixed" else [])))
    watermarks = (draw(of_side), draw(of_side))
    lagging = any(isinstance(watermark, FixedLag) for watermark in watermarks)
    return {
        "watermarks": watermarks,
        "idle_after": None if lagging else draw(st.sampled_from([None, None, 4])),
    }


@st.composite
def two_sides(draw: st.DrawFn, /, watermarks: tuple[Any, Any]) -> tuple[Side, Side]:
    """Draws the two sides, with these watermarks."""
    keys = draw(st.sampled_from(_KEYS))
    order = draw(st.sampled_from(["none", "none", "both", "one", "longer", "positions"]))
    sides = []
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
            watermark=watermarks[number],
            allowed_lateness=draw(st.sampled_from([0, 0, 1, 5])),
        )
        sides.append(side)
    return sides[0], sides[1]


@st.composite
def selections(draw: st.DrawFn, /, left: Side, right: Side, how: str) -> list[Selected]:
    """Draws the columns to emit: keys as "either" and of both sides, event times and values."""
    columns = [Selected("left", name) for name in (*left.keys, *left.time_columns, *VALUES[LEFT])]
    if how not in ONE_SIDED:
        columns += [Selected("right", name) for name in (*right.keys, *right.time_columns, *VALUES[RIGHT])]
    either: list[Selected] = [Selected("either", name) for name in left.keys]
    chosen = draw(st.lists(st.sampled_from([*columns, *either, *either]), min_size=1, max_size=5))
    return [replace(selected, name=f"c{number}") for number, selected in enumerate(chosen)]
