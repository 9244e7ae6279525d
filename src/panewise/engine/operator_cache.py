"""The operator cache: operators that have taken no step, by specification and input columns.

A runtime needs such an operator in every micro-batch. With the cache a process compiles each specification
once. Operators with functions of the user are not cached (:func:`panewise.engine.plan_cache.calls_users`).
"""

import copy
from collections.abc import Mapping
from functools import lru_cache

import polars as pl

from panewise.engine.plan_cache import calls_users
from panewise.engine.registry import AnyOperator, operator_for
from panewise.spec import Specification


def operator_of(spec: Specification, schema: Mapping[str, pl.DataType]) -> AnyOperator:
    """Returns an operator that has taken no step."""
    return operator_for(spec, schema) if calls_users(spec) else copy.copy(_made(spec, tuple(schema.items())))


@lru_cache(maxsize=32)
def _made(spec: Specification, columns: tuple[tuple[str, pl.DataType], ...]) -> AnyOperator:
    return operator_for(spec, dict(columns))
