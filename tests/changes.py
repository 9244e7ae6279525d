"""Hypothesis strategies of changes of a specification between events (semantics 47)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from panewise.chrono import Duration
from panewise.errors import SpecError, StateError
from panewise.spec import (
    Chain,
    CogroupOperator,
    FixedLag,
    Inputs,
    JoinOperator,
    MaxWindows,
    Specification,
    StreamTime,
    WindowOperator,
)
from panewise.spec.codec import to_dict
from panewise.spec.codec.same_aggregates import ADDED_AGGREGATES
from panewise.spec.evolution import continuation
from panewise.spec.families.window_changes import CHANGEABLE, OF_CHAINS
from panewise.spec.fields import silently
from panewise.spec.operators.cogroup.operator import FIELDS_OF_WINDOWS
from panewise.testing.cogroups import cogroup_specs
from panewise.testing.join_events import join_types
from panewise.testing.joins import selections
from panewise.testing.matches.parts import match_tests
from panewise.testing.window_specs import specs

Events = list[dict[str, Any]]
_AGGREGATES: Final = ("left_aggregates", "right_aggregates", "both_aggregates")
_OF_COGROUPS: Final = (*FIELDS_OF_WINDOWS[1:], "aggregates", "aggregates")
_OF_WINDOWS_OVER_JOINS: Final = (
    "trigger",
    "accumulation",
    "allowed_lateness",
    "on_time",
    "closing",
    "only_updated",
    "own aggregates",
)
_FIELDS: Final = (*CHANGEABLE, "aggregates", "aggregates", "allowed_lateness", "trigger", "accumulation")


def accepted(old: Specification, new: Specification) -> bool:
    """Returns whether a specification may continue the state of another one."""
    try:
        continuation(to_dict(old), new)
    except StateError:
        return False
    return True


@st.composite
def changed_windows(draw: st.DrawFn, spec: WindowOperator, fields: Sequence[str] = _FIELDS) -> WindowOperator:
    """Draws a window operator that may continue the state of another one, mostly with other fields."""
    with silently():
        other, current = draw(specs(window=spec.window)), spec
    for name in draw(st.lists(st.sampled_from(fields), min_size=1, max_size=4)):
        try:
            with silently():
                field = "aggregates" if name == "own aggregates" else name
                candidate = replace(current, **{field: _value(draw, name, current, other)})
        except SpecError:
            continue
        if accepted(spec, candidate):
            current = candidate
    return current


def _value(draw: st.DrawFn, name: str, spec: WindowOperator, other: WindowOperator) -> Any:
    if name == "watermark":
        return _with_delay(spec.watermark, Duration(draw(st.integers(0, 9))))
    if name == "own aggregates":  # some of its own aggregates
        return _fewer(draw, spec.aggregates) or spec.aggregates
    if name == "max_windows":
        return draw(st.sampled_from([None, MaxWindows(1), MaxWindows(3)]))
    if name != "aggregates":
        return getattr(other, name)
    known = draw(st.permutations([*spec.aggregates, *other.aggregates]))[: draw(st.integers(1, 5))]
    names = draw(st.permutations(["a0", "a1", "b", "c", "a2", "d"]))
    return [aggregate.alias(alias) for aggregate, alias in zip(known, names, strict=False)]


def _with_delay(watermark: Any, delay: Duration) -> Any:
    match watermark:
        case FixedLag():
            return FixedLag(delay)
        case StreamTime():
            return StreamTime(delay, watermark.per)
        case Inputs(column=str()):
            return Inputs(watermark.names, watermark.idle_after, watermark.column, delay)
    return watermark


@st.composite
def changed_chains(draw: st.DrawFn, chain: Chain) -> Chain:
    """Draws a chain whose operator has other fields."""
    first = draw(changed_windows(chain.first, OF_CHAINS))
    changed: Chain = _accepted(chain, lambda: replace(chain, first=first))
    return changed


@st.composite
def changed_inputs(draw: st.DrawFn, spec: Any, *, checked: bool = True) -> Any:
    """Draws an operator with one input, or a side, that has another delay and other limits."""
    fields = {
        "watermark": _with_delay(spec.watermark, Duration(draw(st.integers(0, 9)))),
        "max_future_skew": draw(st.sampled_from([None, Duration(30)])),
    }
    if checked:
        return _accepted(spec, lambda: replace(spec, **fields))
    with suppress(SpecError):  # a side alone is no specification
        return replace(spec, **fields)
    return spec


@st.composite
def changed_sides(draw: st.DrawFn, spec: Any) -> Any:
    """Draws a join or cogroup of which one side has another delay, another lateness and other limits."""
    name = draw(st.sampled_from(list(spec.sides)))
    side = draw(changed_inputs(spec.sides[name], checked=False))
    lateness = draw(st.sampled_from([side.allowed_lateness, Duration(0), Duration(3), Duration(8)]))
    fields = {"idle_after": draw(st.sampled_from([spec.idle_after, Duration(4), Duration(9)]))}
    current = _accepted(spec, lambda: replace(spec, **{name: side}, **fields))
    changed = _accepted(
        spec,
        lambda: replace(current, **{name: replace(current.sides[name], allowed_lateness=lateness)}),
    )
    return current if changed is spec else changed


@st.composite
def changed_joins(draw: st.DrawFn, spec: JoinOperator) -> JoinOperator:
    """Draws a join with other columns, or of which one side has other delays, lateness and limits."""
    current = draw(changed_sides(spec))
    others = selections(spec.left, spec.right, spec.how)
    every = st.none() if spec.right.prefix else others  # with a prefix all columns have different names
    select = draw(every | others) if draw(st.booleans()) else spec.select
    changed: JoinOperator = _accepted(spec, lambda: replace(current, select=select))
    current = current if changed is spec else changed
    match = draw(match_tests(spec.match).changed(spec.match))
    changed = _accepted(spec, lambda: replace(current, match=match))
    return current if changed is spec else changed


@st.composite
def changed_cogroups(draw: st.DrawFn, spec: CogroupOperator) -> CogroupOperator:
    """Draws a cogroup with other windows, aggregates or inputs. Fields of windows may be those of another."""
    other = draw(cogroup_specs())
    current: CogroupOperator = draw(changed_sides(spec))
    for name in draw(st.lists(st.sampled_from(_OF_COGROUPS), max_size=4)):
        source = draw(st.sampled_from([spec, spec, other]))
        names = _AGGREGATES if name == "aggregates" else (name,)
        fields = {of: getattr(other, of) for of in names}
        if name == "aggregates":
            fields = {of: _fewer(draw, getattr(source, of)) for of in names}
        try:
            with silently():
                candidate = replace(current, **fields)
        except SpecError:
            continue
        types, ports = join_types(spec), candidate.ports
        known = all({*entry.columns_read} <= {*types[side]} for side, entry in ports.items())
        if known and accepted(spec, candidate):
            current = candidate
    return current


def _fewer(draw: st.DrawFn, aggregates: Sequence[Any]) -> list[Any]:
    """Draws some of the aggregates, in any order."""
    order = draw(st.permutations(list(aggregates)))
    return order[: draw(st.integers(0, len(order)))]


@st.composite
def changed_windowed_joins(draw: st.DrawFn, spec: Any) -> Any:
    """Draws windows over a join that have other fields, or of which one side has other delays and limits."""
    join, windows = draw(changed_sides(spec.join)), spec.windows
    if windows is spec.operator:
        candidate = draw(changed_windows(windows, _OF_WINDOWS_OVER_JOINS))
        if set(candidate.columns_read) <= set(windows.columns_read):
            windows = candidate
    elif not draw(st.booleans()):
        windows = draw(changed_chains(windows))
        windows = (
            windows if set(windows.first.columns_read) <= set(spec.operator.columns_read) else spec.windows
        )
    return _accepted(spec, lambda: replace(spec, join=join, windows=windows))


def _accepted(spec: Any, change: Callable[[], Any]) -> Any:
    """Returns a changed specification, or the old one if the change is not possible."""
    try:
        with silently():
            changed = change()
    except SpecError:
        return spec
    return changed if accepted(spec, changed) else spec


@st.composite
def changes(
    draw: st.DrawFn,
    spec: Any,
    changed: Callable[[Any], st.SearchStrategy[Any]] = changed_windows,
    most: int = 3,
) -> list[dict[str, Any]]:
    """Draws one or more "change" events, each of which continues the specification of the one before.

    `changed` returns a strategy of specifications that may continue the state of another one.
    """
    events, current = Events(), spec
    for _ in range(draw(st.integers(1, most))):
        current = draw(changed(current))
        added = draw(st.sampled_from(ADDED_AGGREGATES))
        events.append({"op": "change", "spec": current, "added_aggregates": added})
    return events


@st.composite
def placed(draw: st.DrawFn, script: Events, changed: Events) -> Events:
    """Draws where changes take place among other events."""
    ends = [place for place, event in enumerate(script) if event["op"] == "finish"]
    last = ends[0] if ends else len(script)
    places = sorted(draw(st.integers(0, last)) for _ in changed)
    for place, event in reversed(list(zip(places, changed, strict=True))):
        script = [*script[:place], event, *script[place:]]
    return script
