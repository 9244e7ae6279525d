"""Operators as they are before their first step, and plans: made once in a process for each specification and its columns.

A runtime makes them anew for every micro-batch, though nothing about them changes.
"""

import copy
from collections.abc import Mapping
from functools import lru_cache

import polars as pl

from panewise.engine.chain import operator_for
from panewise.engine.operator import Operator
from panewise.engine.plan import Plan
from panewise.spec import Chain, Custom, Specification, Stage, StreamWindow, WindowOperator, first_of

_Columns = tuple[tuple[str, pl.DataType], ...]


def operator_of(spec: Specification, schema: Mapping[str, pl.DataType]) -> Operator:
    """An operator that has taken no step."""
    return copy.copy(_known(spec, schema))


def plan_of(spec: WindowOperator, schema: Mapping[str, pl.DataType]) -> Plan:
    """The plan of a specification."""
    return _known(spec, schema).plan


def _known(spec: Specification, schema: Mapping[str, pl.DataType]) -> Operator:
    # Functions of users are told by their names, whatever they do.
    stages: list[WindowOperator | StreamWindow | Stage] = [spec.first, *spec.stages] if isinstance(spec, Chain) else [spec]
    users = any(aggregate.user is not None for stage in stages for aggregate in stage.aggregates)
    listened = isinstance(spec, StreamWindow) and spec.listener is not None
    if users or listened or isinstance(first_of(spec).window, Custom):
        return operator_for(spec, schema)
    return _made(spec, tuple(schema.items()))


@lru_cache(maxsize=32)
def _made(spec: Specification, columns: _Columns) -> Operator:
    return operator_for(spec, dict(columns))
