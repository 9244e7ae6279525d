"""Makes panes of events, from their tuples, aggregates or listeners (semantics 10.16 to 10.20).

The tuples of each event are a range of places in the pool. So the tuples or aggregates of all events of a
step are computed at once: lists by gathering, aggregates as range aggregates. With a listener each event has
called it already, and its pane has what the listener returned.

Invariant: panes are in the order of the events. Cost: lists are linear in the tuples that they have; for n
tuples in the pool and e events of up to m tuples, aggregates cost (n + e) log m.
"""

import numpy as np
import polars as pl

from panewise.engine.aggregate.range_aggregate import over_any
from panewise.engine.kernels.small_frames import output_key
from panewise.engine.policy.listeners import ListenerLog
from panewise.engine.policy.partitions import Log
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.pool import Tuples, stretches

_PLACE = "__place"


def log_of(plan: PolicyPlan, tuples: Tuples, now: int) -> Log:
    """Returns an empty log for a step with these tuples. It calls listeners if the specification has any."""
    wanted = frozenset(plan.spec.emitted_events)
    if plan.spec.listener is None:
        return Log(wanted)
    keys = tuples.keys
    return ListenerLog(
        wanted,
        spec=plan.spec,
        names=_named(plan, keys).to_dicts() if plan.spec.partition_by else [{}] * keys.height,
        tuples=lambda: _output_tuples(plan, tuples).to_list(),
        nested=any(dtype.is_nested() for dtype in plan.output_columns.values()),
        now=now,
        states=tuples.listeners(),
    )


def panes_of(plan: PolicyPlan, log: Log, tuples: Tuples, now: int) -> pl.DataFrame:
    """Returns the panes of the events of a step, in the order of the events."""
    if not log.events:
        return pl.DataFrame(schema=plan.pane_schema)
    keys = _named(plan, tuples.keys[log.partitions])
    columns = [
        pl.Series("event", log.events, dtype=pl.String),
        pl.repeat(now, len(log.events), dtype=pl.Int64, eager=True).alias("processing_time"),
    ]
    whole = pl.DataFrame([*keys.get_columns(), *columns]).hstack(_contents(plan, log, tuples))
    return whole.select(pl.col(name).cast(dtype) for name, dtype in plan.pane_schema.items())


def _contents(plan: PolicyPlan, log: Log, tuples: Tuples) -> pl.DataFrame:
    """Returns what listeners have returned for the events, or the aggregates or tuples of the events."""
    if isinstance(log, ListenerLog):
        return pl.DataFrame(log.returned, schema=plan.contents, orient="row")
    lows, highs = np.array(log.lows, dtype=np.intp), np.array(log.highs, dtype=np.intp)
    if plan.aggregation is None:
        return pl.DataFrame([stretches(_output_tuples(plan, tuples), lows, highs).alias("tuples")])
    rows = tuples.tuples.struct.unnest().with_row_index(_PLACE)
    pieces = plan.aggregation.lift(rows, [_PLACE]).drop(_PLACE)
    return over_any(plan.aggregation, pieces, lows, highs).select(plan.aggregation.results)


def _output_tuples(plan: PolicyPlan, tuples: Tuples) -> pl.Series:
    # No expression makes structs without fields.
    if not plan.output_columns:
        return pl.Series([{}] * len(tuples.tuples), dtype=pl.Struct({}))
    return tuples.tuples.struct.unnest().select(pl.struct(*plan.output_columns)).to_series()


def _named(plan: PolicyPlan, keys: pl.DataFrame) -> pl.DataFrame:
    return keys.select(output_key(name, plan.schema[name]).alias(name) for name in plan.spec.partition_by)
