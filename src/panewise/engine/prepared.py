"""Operators as they are before their first step, and plans: made once in a process for each specification and its columns.

A runtime makes them anew for every micro-batch, though nothing about them changes.
"""

import copy
from collections.abc import Mapping
from functools import lru_cache

import polars as pl

from panewise.engine.chain import AnyOperator, operator_for
from panewise.engine.over_plan import FramePlan
from panewise.engine.plan import Plan
from panewise.spec import Aggregate, Chain, Custom, Entry, FrameOperator, Specification, Stage, StreamWindow, WindowOperator, first_of

_Columns = tuple[tuple[str, pl.DataType], ...]


def operator_of(spec: Specification, schema: Mapping[str, pl.DataType]) -> AnyOperator:
    """An operator that has taken no step."""
    return copy.copy(_known(spec, schema))


def plan_of(spec: Entry, schema: Mapping[str, pl.DataType]) -> Plan | FramePlan:
    """The plan of a specification."""
    return _known(spec, schema).plan


def _known(spec: Specification, schema: Mapping[str, pl.DataType]) -> AnyOperator:
    # Functions of users are told by their names, whatever they do.
    users = any(aggregate.user is not None for aggregate in _aggregates(spec))
    listened = isinstance(spec, StreamWindow) and spec.listener is not None
    if users or listened or isinstance(first_of(spec).window, Custom):
        return operator_for(spec, schema)
    return _made(spec, tuple(schema.items()))


def _aggregates(spec: Specification) -> list[Aggregate]:
    if isinstance(spec, FrameOperator):
        return [column.what for column in spec.columns if isinstance(column.what, Aggregate)]
    stages: list[WindowOperator | StreamWindow | Stage] = [spec.first, *spec.stages] if isinstance(spec, Chain) else [spec]
    return [aggregate for stage in stages for aggregate in stage.aggregates]


@lru_cache(maxsize=32)
def _made(spec: Specification, columns: _Columns) -> AnyOperator:
    return operator_for(spec, dict(columns))
