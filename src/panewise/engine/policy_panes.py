"""Events as panes: with their tuples, with aggregates over these, or as what listeners give (semantics 10.16 to 10.20)."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from panewise.engine.frames import Places, picked
from panewise.engine.panes import shown_key
from panewise.engine.partitions import Log
from panewise.engine.policy_plan import PolicyPlan
from panewise.engine.policy_pool import Tuples, stretches
from panewise.engine.spans import over
from panewise.errors import InputError
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
    keys = tuples.keys[numbers].select(shown_key(name, plan.schema[name]).alias(name) for name in plan.spec.partition_by)
    made = [pl.Series("event", events, dtype=pl.String), pl.repeat(now, len(events), dtype=pl.Int64, eager=True).alias("processing_time")]
    whole = pl.DataFrame([*keys.get_columns(), *made]).hstack(contents)
    return whole.select(pl.col(name).cast(dtype) for name, dtype in plan.pane_schema.items())


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
    spec, states = plan.spec, tuples.listeners()
    assert spec.listener is not None
    living: dict[int, Any] = {}
    numbers, events, rows = list[int](), list[str](), list[dict[str, Any]]()
    values = tuples.tuples.struct.unnest().select(*plan.shown).to_dicts() if log.events else []
    named = tuples.keys.select(shown_key(name, plan.schema[name]).alias(name) for name in spec.partition_by)
    keys = named.to_dicts() if spec.partition_by else [{}] * tuples.keys.height
    for event, number, low, high in zip(log.events, log.partitions, log.lows, log.highs, strict=True):
        if event in spec.told:
            if number not in living:
                living[number] = _made(plan, states.get(number))
            given = living[number].handle(WindowEvent(event, keys[number], tuple(dict(one) for one in values[low:high]), now))
            found = [_checked(plan, row) for row in given or ()]
            states[number] = _as_text(plan, living[number])
            numbers += [number] * len(found)
            events += [event] * len(found)
            rows += found
        if event in _LAST:
            living.pop(number, None)
            states.pop(number, None)
    contents = pl.DataFrame(rows, schema=plan.contents, orient="row")
    return Told(_panes(plan, tuples, events, numbers, contents, now), states)


def _made(plan: PolicyPlan, state: str | None) -> Any:
    """The object, as it was."""
    assert plan.spec.listener is not None
    made = plan.spec.listener.make()
    if state is not None:
        vars(made).clear()
        vars(made).update(json.loads(state))
    return made


def _checked(plan: PolicyPlan, row: Any) -> dict[str, Any]:
    assert plan.spec.listener is not None
    name, outputs = plan.spec.listener.name, dict(plan.spec.listener.outputs)
    if not isinstance(row, dict) or not set(row) <= set(outputs) or not all(_fits(row[column], outputs[column]) for column in row):
        rule = f"what {name} gives are dicts of its outputs {outputs}"
        raise InputError(f"{name} gave {row!r}", rule, "give such dicts, or change outputs")
    return row


def _fits(value: Any, kind: str) -> bool:
    if value is None:
        return True
    if kind in ("string", "boolean"):
        return isinstance(value, str if kind == "string" else bool)
    if isinstance(value, bool):
        return False
    whole = isinstance(value, int) and -(2**63) <= value < 2**63
    return whole or (kind == "double" and isinstance(value, (int, float)))


def _as_text(plan: PolicyPlan, made: Any) -> str:
    assert plan.spec.listener is not None
    state = vars(made)
    try:
        text = json.dumps(state)
        if json.loads(text) == state:
            return text
    except (TypeError, ValueError):
        pass
    rule = "the attributes of a listener are its state, and are JSON values"
    given = f"the state {state!r} of {plan.spec.listener.name}"
    raise InputError(given, rule, "use numbers, strings, lists and dicts with string keys")
