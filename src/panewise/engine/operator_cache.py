"""Operators as they are before their first step: made once in a process for each specification and its columns.

A runtime makes them anew for every micro-batch, though nothing about them changes.
"""

import copy
from collections.abc import Mapping
from functools import lru_cache

import polars as pl

from panewise.engine.chain.operator import AnyOperator, operator_for
from panewise.engine.plans import calls_users
from panewise.spec import Specification


def operator_of(spec: Specification, schema: Mapping[str, pl.DataType]) -> AnyOperator:
    """An operator that has taken no step."""
    return operator_for(spec, schema) if calls_users(spec) else copy.copy(_made(spec, tuple(schema.items())))


@lru_cache(maxsize=32)
def _made(spec: Specification, columns: tuple[tuple[str, pl.DataType], ...]) -> AnyOperator:
    return operator_for(spec, dict(columns))
