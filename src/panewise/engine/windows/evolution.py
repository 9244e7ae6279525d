"""The state of a window operator, taken over by one with another specification (semantics 47.3 to 47.8).

Stored rows are converted one by one: partials by what they contain, not by their names or places, and live
panes by the names of their aggregates. What another specification has not stored starts as the partial of no
rows. Invariant: keys and bounds stay, so rows keep their places in the runs. A run costs one pass.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import polars as pl

from panewise.engine.aggregate.added_later import completeness_of, copies_of, is_completeness, reading_copies
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.catalogue import partials_of
from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.columns import LIVE, ROWS, TOMBSTONE, live_column
from panewise.engine.family_parts import Conversion, TakeOver
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.firing import with_new_trigger
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.window_table import LIVE_PANE
from panewise.engine.windows.operator import WindowEngine
from panewise.engine.windows.sliding.slices import BLOCKS, SLICES
from panewise.engine.windows.state import WINDOWS
from panewise.spec import Aggregate, Never, WindowOperator
from panewise.spec.codec.same_aggregates import same_aggregates
from panewise.spec.operators.windows import data_loss_reason
from panewise.spec.rules.sliding import fires_only_when_complete


def take_over(operator: WindowEngine, old: WindowOperator, header: Mapping[str, Any]) -> TakeOver:
    """Returns how the operator takes over a state that `old` has made."""
    state, new = operator.with_header(header), operator.plan.spec
    clocks = state.clocks
    horizon, changed = clocks.horizon(old), dict(header)
    if old.allowed_lateness != new.allowed_lateness and horizon is not None and not clocks.finished:
        changed["floor"] = horizon
    if header and data_loss_reason(old) is not None:
        changed["closes"] = True
    tables: dict[str, Conversion] = {WINDOWS: partial(converted_windows, operator.plan, old, clocks)}
    if operator.plan.sliding and header:
        makes = not operator.plan.made_when_complete and fires_only_when_complete(old.trigger)
        changed |= {"makes": makes, "rebuilds": _rebuilds(operator.plan, old)}
        slices = partial(_slices, operator.plan, old)
        tables |= {SLICES: slices, BLOCKS: _dead if makes else slices}
        changed["in_blocks"] = header.get("in_blocks", False) and not makes
    return TakeOver(changed, dict.fromkeys(operator.state.tables, horizon), tables)


def _rebuilds(plan: WindowPlan, old: WindowOperator) -> bool:
    """Returns whether the partials of sliding windows are not those that `old` has stored."""
    if plan.aggregation is not plan.slice_aggregation and old.measures != plan.spec.measures:
        return True  # there are results among them, under the names of their aggregates
    from_slices = old.accumulation != "discarding" or isinstance(old.trigger, Never)
    return plan.rebuilt_from_slices != from_slices


def _dead(blocks: pl.DataFrame) -> pl.DataFrame:
    """Returns the blocks as tombstones: windows that are made with their first row may need other ones."""
    return blocks.with_columns(pl.lit(True).alias(TOMBSTONE))


def _slices(plan: WindowPlan, old: WindowOperator, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(_partials(plan.slice_aggregation, plan, old, rows.columns))


def converted_windows(
    plan: WindowPlan, old: WindowOperator, clocks: Clocks, rows: pl.DataFrame
) -> pl.DataFrame:
    """Returns rows of the window table that `old` has stored, as rows of that of the plan."""
    live = _live_pane(plan, old, rows.columns) if plan.compares else []
    stored = [] if plan.sliding and _rebuilds(plan, old) else rows.columns
    rows = rows.with_columns(*_partials(plan.aggregation, plan, old, stored), *live)
    return rows if old.trigger == plan.spec.trigger else with_new_trigger(plan, clocks, rows)


def _live_pane(plan: WindowPlan, old: WindowOperator, stored: Iterable[str]) -> list[pl.Expr]:
    """Returns the columns of the live pane. If it was not stored, no pane is live (semantics 47.6)."""
    columns, new = set(stored), plan.spec.measures
    names = {name: name for name in LIVE_PANE}
    for aggregate, place in zip(new, same_aggregates(old.measures, new), strict=True):
        if place is not None:
            names[aggregate.name] = old.measures[place].name
    if plan.spec.delta is not False:
        names["delta"] = "delta"
    known = LIVE in columns
    types = {
        name: plan.table_schema[live_column(name)] for name in (*plan.aggregation.result_types, *LIVE_PANE)
    }
    values = {
        name: pl.col(live_column(names[name]))
        if known and live_column(names.get(name, "")) in columns
        else pl.lit(None, dtype=dtype)
        for name, dtype in types.items()
    }
    live = pl.col(LIVE) if known else pl.lit(False)
    return [live.alias(LIVE), *(value.alias(live_column(name)) for name, value in values.items())]


def _partials(
    aggregation: Aggregation, plan: WindowPlan, old: WindowOperator, stored: Iterable[str]
) -> list[pl.Expr]:
    """Returns the partial columns of an aggregation, from the columns that are stored.

    What no aggregate needs, such as the row buffer, keeps its name.
    """
    sources, columns = _sources(plan, old), set(stored)
    taken = {part.name: sources.get(part.name, part.name) for part in aggregation.partials}
    return [
        (
            pl.col(taken[part.name])
            if taken[part.name] in columns
            else pl.lit(_empty(part), dtype=part.dtype)
        ).alias(part.name)
        for part in aggregation.partials
    ]


def _sources(plan: WindowPlan, old: WindowOperator) -> dict[str, str]:
    """Returns by the name of each partial column of an aggregate the stored one; "" if there is none."""
    new, schema = plan.spec.measures, plan.schema
    places = same_aggregates(old.measures, new)
    sources = {part.name: "" for index, what in enumerate(new) for part in _parts(what, index, schema)}
    for index, (aggregate, place) in enumerate(zip(new, places, strict=True)):
        if place is not None:
            pairs = zip(_parts(aggregate, index, schema), _parts(aggregate, place, schema), strict=True)
            sources |= {part.name: before.name for part, before in pairs}
    return sources | {ROWS: ROWS}


def _parts(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> list[PartialColumn]:
    copies = {
        name: pl.Boolean() if of is None else schema[of] for name, of in copies_of(aggregate, index).items()
    }
    own = partials_of(reading_copies(aggregate, index), index, schema | copies)
    return [*own, *completeness_of(aggregate, index)]


def _empty(part: PartialColumn) -> Any:
    """Returns the partial of rows that an aggregate has not seen."""
    return False if is_completeness(part) else part.empty
