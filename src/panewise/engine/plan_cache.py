"""A cache of plans, by specification and input columns.

A runtime needs a plan in every micro-batch. With the cache a process compiles each specification once. Where
rows are only validated and packed, a plan is enough, and no operator is loaded.
"""

from collections.abc import Mapping
from functools import lru_cache

import polars as pl

from panewise.engine.over.plan import OverPlan
from panewise.engine.windowing.plan import Plan
from panewise.spec import (
    Aggregate,
    Chain,
    Custom,
    Entry,
    FrameOperator,
    Specification,
    Stage,
    StreamWindow,
    WindowOperator,
    first_of,
)

_Columns = tuple[tuple[str, pl.DataType], ...]


def plan_of(spec: Entry, schema: Mapping[str, pl.DataType]) -> Plan | OverPlan:
    """Returns the plan by which the rows of an input are validated and pre-aggregated."""
    return _new(spec, tuple(schema.items())) if calls_users(spec) else _made(spec, tuple(schema.items()))


def calls_users(spec: Specification) -> bool:
    """Returns whether a specification has functions of the user.

    Such a specification must not be cached. It equals any other whose functions have the same names, even if
    the functions differ.
    """
    listened = isinstance(spec, StreamWindow) and spec.listener is not None
    return (
        listened
        or isinstance(first_of(spec).window, Custom)
        or any(aggregate.user is not None for aggregate in _aggregates(spec))
    )


def _aggregates(spec: Specification) -> list[Aggregate]:
    if isinstance(spec, FrameOperator):
        return [column.what for column in spec.columns if isinstance(column.what, Aggregate)]
    stages: list[WindowOperator | StreamWindow | Stage] = (
        [spec.first, *spec.stages] if isinstance(spec, Chain) else [spec]
    )
    return [aggregate for stage in stages for aggregate in stage.aggregates]


def _new(spec: Entry, columns: _Columns) -> Plan | OverPlan:
    if isinstance(spec, FrameOperator):
        return OverPlan(spec, dict(columns))
    return Plan(spec, dict(columns))


_made = lru_cache(maxsize=32)(_new)
