"""Hypothesis strategies of triggers: simple ones, trigger presets and trees."""

from typing import Any, Final

from hypothesis import strategies as st

from panewise.spec import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    AfterWatermark,
    Always,
    Every,
    Never,
    OnDelta,
    OnPunctuation,
    OrFinally,
    Repeatedly,
)
from panewise.spec.triggers.composite import fires_once
from panewise.spec.triggers.presets import (
    apex,
    flink_continuous_event_time,
    flink_continuous_processing_time,
    flink_count,
    samza,
    until_time_limit,
)


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
        st.builds(AfterSilence, st.integers(1, 5)),
        st.builds(AfterEventTime, st.integers(1, 6)),
        st.builds(AfterEventTimeDelay, st.integers(0, 6)),
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
    kind_of_tree = {"any": AfterAny, "all": AfterAll, "each": AfterEach}[kind]
    return kind_of_tree(*(_tree(draw, depth - 1, ends=ends) for _ in range(draw(st.integers(1, 3)))))


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
        until_time_limit(3),
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
