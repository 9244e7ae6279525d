"""User-defined aggregates, called row by row; their states travel as JSON text (semantics 24.7)."""

import json
from collections.abc import Callable
from functools import reduce
from typing import Any

import polars as pl

from panewise.errors import InputError
from panewise.spec import UserAggregate

TYPES: dict[str, pl.DataType] = {
    "bigint": pl.Int64(),
    "double": pl.Float64(),
    "string": pl.String(),
    "boolean": pl.Boolean(),
}


def result_type(user: UserAggregate) -> pl.DataType:
    """The column type of the results."""
    return TYPES[user.result]


def encode(state: Any) -> str:
    """State to JSON text.

    Raises:
        InputError: if the state is not a JSON value.
    """
    try:
        return json.dumps(state)
    except (TypeError, ValueError) as error:
        rule = "the state of a user-defined aggregate is a JSON value"
        raise InputError(f"state={state!r}", rule, "use numbers, strings, lists and dicts with string keys") from error


def lifter(user: UserAggregate) -> Callable[[pl.Series], pl.Series]:
    """Lists of values -> states."""

    def lift(groups: pl.Series) -> pl.Series:
        return pl.Series([encode(reduce(user.accumulate, group, user.init())) for group in groups.to_list()], dtype=pl.String)

    return lift


def merger(user: UserAggregate) -> Callable[[pl.Series], pl.Series]:
    """Lists of states -> states. A single state is left as it is."""

    def merge(groups: pl.Series) -> pl.Series:
        merged = [g[0] if len(g) == 1 else encode(reduce(user.merge, map(json.loads, g))) for g in groups.to_list()]
        return pl.Series(merged, dtype=pl.String)

    return merge


def finisher(user: UserAggregate) -> Callable[[pl.Series], pl.Series]:
    """States -> results."""

    def finish(states: pl.Series) -> pl.Series:
        return pl.Series([user.finish(json.loads(state)) for state in states.to_list()], dtype=result_type(user))

    return finish
