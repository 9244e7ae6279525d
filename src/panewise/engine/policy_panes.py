"""Events as panes: with their tuples, with aggregates over these, or as what listeners give (semantics 10.16 to 10.20)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from panewise.engine.frames import Places, picked
from panewise.engine.panes import shown_key
from panewise.engine.partitions import Log
from panewise.engine.policy_listening import Listeners
from panewise.engine.policy_plan import PolicyPlan
from panewise.engine.policy_pool import Tuples, stretches
from panewise.engine.spans import over
from panewise.spec import WindowEvent

_PLACE = "__place"
_LAST = ("PARTITION_EVICTION", "FINAL")  # a partition's last event


@dataclass(frozen=True)
class Told:
    """What a step tells: its panes, and the states that listeners have after it, by the numbers of their partitions."""

    panes: pl.DataFrame
    listeners: dict[int, str]


def log_of(plan: PolicyPlan) -> Log:
    """An empty log. Where there is a listener it notes the end of every partition, told or not: the listener's state ends with it."""
    ends = () if plan.spec.listener is None else _LAST
    return Log(frozenset((*plan.spec.told, *ends)))


def told(plan: PolicyPlan, log: Log, tuples: Tuples, now: int) -> Told:
    """The panes of a step's events."""
    if plan.spec.listener is not None:
        return _listened(plan, log, tuples, now)
    if not log.events:
        return Told(pl.DataFrame(schema=plan.pane_schema), {})
    lows, highs = np.array(log.lows, dtype=np.intp), np.array(log.highs, dtype=np.intp)
    if plan.aggregation is not None:
        contents = _aggregated(plan, tuples, lows, highs)
    else:
        shown = tuples.tuples.struct.unnest().select(pl.struct(*plan.shown)).to_series()
        contents = pl.DataFrame([stretches(shown, lows, highs).alias("tuples")])
    return Told(_panes(plan, tuples, log.events, log.partitions, contents, now), {})


def _panes(plan: PolicyPlan, tuples: Tuples, events: list[str], numbers: list[int], contents: pl.DataFrame, now: int) -> pl.DataFrame:
    keys = _named(plan, tuples.keys[numbers])
    made = [pl.Series("event", events, dtype=pl.String), pl.repeat(now, len(events), dtype=pl.Int64, eager=True).alias("processing_time")]
    whole = pl.DataFrame([*keys.get_columns(), *made]).hstack(contents)
    return whole.select(pl.col(name).cast(dtype) for name, dtype in plan.pane_schema.items())


def _named(plan: PolicyPlan, keys: pl.DataFrame) -> pl.DataFrame:
    """The columns of partitions, as they are shown."""
    return keys.select(shown_key(name, plan.schema[name]).alias(name) for name in plan.spec.partition_by)


def _aggregated(plan: PolicyPlan, tuples: Tuples, lows: Places, highs: Places) -> pl.DataFrame:
    """The aggregates over each stretch of places; those of no tuples are those of no rows."""
    assert plan.aggregation is not None
    aggregation, some = plan.aggregation, highs > lows
    partials = pl.DataFrame({part.name: pl.Series([part.empty], dtype=part.dtype) for part in aggregation.parts})
    which = np.zeros(len(lows), dtype=np.intp)
    if some.any():
        rows = tuples.tuples.struct.unnest().with_row_index(_PLACE)
        pieces = aggregation.lift(rows, [_PLACE]).drop(_PLACE)
        spans = over(aggregation, pieces, pl.Series(lows[some]), pl.Series(highs[some]))
        partials = pl.concat([partials, spans])
        which[some] = np.arange(1, some.sum() + 1)
    return picked(partials.select(aggregation.results), which)


def _listened(plan: PolicyPlan, log: Log, tuples: Tuples, now: int) -> Told:
    """The listeners are told of the events, in order."""
    assert plan.spec.listener is not None
    listeners = Listeners(plan.spec.listener, tuples.listeners())
    values = tuples.tuples.struct.unnest().select(*plan.shown).to_dicts() if log.events else []
    keys = _named(plan, tuples.keys).to_dicts() if plan.spec.partition_by else [{}] * tuples.keys.height
    numbers, events, rows = list[int](), list[str](), list[dict[str, Any]]()
    for event, number, low, high in zip(log.events, log.partitions, log.lows, log.highs, strict=True):
        if event in plan.spec.told:
            given = listeners.tell(number, WindowEvent(event, keys[number], tuple(dict(one) for one in values[low:high]), now))
            numbers += [number] * len(given)
            events += [event] * len(given)
            rows += given
        if event in _LAST:
            listeners.end(number)
    contents = pl.DataFrame(rows, schema=plan.contents, orient="row")
    return Told(_panes(plan, tuples, events, numbers, contents, now), listeners.states)
