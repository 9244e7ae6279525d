"""Hypothesis strategies of windows over joins (semantics 42)."""

from typing import Any, Final

from hypothesis import strategies as st

from panewise import functions as F
from panewise.spec import (
    AfterAny,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    AfterWatermark,
    AnyWindow,
    Cumulating,
    Every,
    Global,
    Hopping,
    JoinOperator,
    Repeatedly,
    Session,
    Sliding,
    Trigger,
    Tumbling,
    WindowedJoin,
)
from panewise.spec.fields import silently
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT, RIGHT
from panewise.spec.operators.windowed_join import key_columns
from panewise.spec.triggers.simple import AfterCount, Always
from panewise.testing.join_events import join_types
from panewise.testing.joins import join_specs

__all__ = ["windowed_join_specs"]

WINDOWS: Final[tuple[AnyWindow, ...]] = (
    Tumbling(5),
    Hopping(6, 2),
    Hopping(2, 5, gaps=True),
    Cumulating(6, 2),
    Session(3),
    Sliding(4),
    Global(),
)
TRIGGERS: Final[tuple[Trigger, ...]] = (
    AfterWatermark(early=Always()),
    AfterWatermark(early=Repeatedly(AfterCount(2))),
    Always(),
    Every(4),
    Repeatedly(AfterProcessingTime(3)),
    Repeatedly(AfterSilence(3)),
    Repeatedly(AfterAny(AfterEventTimeDelay(2), AfterCount(3))),  # not with sliding windows
)


@st.composite
def windowed_join_specs(draw: st.DrawFn, /, **fixed: Any) -> WindowedJoin:
    """Draws windows over joins: windows of all kinds, with and without keys, and with a stage.

    `fixed` are fields of the join.
    """
    final = join_specs(evaluate="batch", **fixed).filter(lambda spec: spec.unmatched != "early")
    join = draw(final.filter(lambda spec: spec.has_event_times and "join_time" not in _values(spec)))
    window = draw(st.sampled_from(WINDOWS))
    of_panes = ("pairs", "latest", "all")  # no key has the name of another column
    possible = [key for key in sorted(key_columns(join)) if key not in of_panes]
    keys = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    triggers = TRIGGERS[:-1] if isinstance(window, Sliding) else TRIGGERS
    fields: dict[str, Any] = {
        **draw(st.sampled_from([{}, {}, *({"trigger": trigger} for trigger in triggers)]))
    }
    fields |= draw(st.sampled_from([{}, {"accumulation": "discarding"}, {"accumulation": "retracting"}]))
    fields |= draw(st.sampled_from([{}, {"evaluate": "record"}]))
    listed = F.collect_list(draw(st.sampled_from(sorted(_values(join)) or [JOIN_TIME])))
    aggregates = [F.count().alias("pairs"), F.max(JOIN_TIME).alias("latest"), listed.alias("all")]
    with silently():
        spec = join.then(window=window, aggregates=aggregates, keys=keys, **fields)
        if window == Tumbling(5) and draw(st.booleans()):
            spec = spec.then(keys=spec.keys[:1], aggregates=[F.sum("pairs").alias("pairs")])
    return spec


def _values(join: JoinOperator) -> list[str]:
    """Returns the emitted columns that are no keys."""
    types = join_types(join)
    selected = join.selected({side: types[side] for side in (LEFT, RIGHT)})
    return [column.name for column in selected if column.name not in key_columns(join)]
