"""User-defined aggregates, called row by row. Their states are stored as JSON text (semantics 24.7)."""

import json
from collections.abc import Callable
from functools import reduce
from typing import Any

import polars as pl

from panewise.engine.kernels.column_types import polars_type
from panewise.spec.aggregates.user_functions import JsonValue, UserFunctions
from panewise.spec.aggregates.user_values import checked_result, state_text
from panewise.spec.column_values import ColumnType


def result_type(user: UserFunctions) -> pl.DataType:
    """Returns the column type of the results."""
    return polars_type(ColumnType.parse(user.result))


def empty(user: UserFunctions) -> str:
    """Returns the state of no rows; InputError if it is not a JSON value."""
    return state_text(user.name, user.init())


def lifter(user: UserFunctions, *, several: bool) -> Callable[[pl.Series], pl.Series]:
    """Returns a function from lists of values to states. With `several` columns, each value is a struct."""

    def accumulate(state: JsonValue, values: dict[str, Any]) -> JsonValue:
        return user.accumulate(state, *values.values())

    def lift(groups: pl.Series) -> pl.Series:
        step = accumulate if several else user.accumulate
        states = (reduce(step, group, user.init()) for group in groups.to_list())
        return pl.Series([state_text(user.name, state) for state in states], dtype=pl.String)

    return lift


def merger(user: UserFunctions) -> Callable[[pl.Series], pl.Series]:
    """Returns a function from lists of states to merged states. A single state stays as it is."""

    def merge(groups: pl.Series) -> pl.Series:
        texts = groups.to_list()
        merged = [
            g[0] if len(g) == 1 else state_text(user.name, reduce(user.merge, map(json.loads, g)))
            for g in texts
        ]
        return pl.Series(merged, dtype=pl.String)

    return merge


def finisher(user: UserFunctions) -> Callable[[pl.Series], pl.Series]:
    """Returns a function from states to results."""

    def finish(states: pl.Series) -> pl.Series:
        results = [checked_result(user, user.finish(json.loads(state))) for state in states.to_list()]
        return pl.Series(results, dtype=result_type(user))

    return finish
