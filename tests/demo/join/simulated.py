"""Simulates the query of the demo of joins in plain Python, for tests of code that reads its outputs."""

from bisect import bisect_right
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import polars as pl

from panewise.demo.join.check import JoinOutputs, SideOutputs
from panewise.demo.join.inputs import OBSERVATION

Pair: TypeAlias = tuple[pl.DataFrame, pl.DataFrame]

DAY = timedelta(days=1)
MAX_AGE = timedelta(hours=2)
LEFT = ("id", "origin", "carrier", "flight", "dest", "scheduled", "dep_delay")
RIGHT = tuple(name for name in OBSERVATION if name != "origin")
NOTHING: dict[str, Any] = dict.fromkeys(RIGHT)


def simulate(flights: pl.DataFrame, weather: pl.DataFrame) -> JoinOutputs:
    """Returns the outputs for flights and weather in batches."""
    known: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in weather.sort("observed").to_dicts():
        known[row["origin"]].append(row)
    joined = []
    for flight in flights.to_dicts():
        found = _as_of(known[flight["origin"]], flight["scheduled"])
        row = {name: flight[name] for name in LEFT} | {name: (found or NOTHING)[name] for name in RIGHT}
        joined.append(row | {"op": "+", "missing": None if found else "right"})
    schema = {**weather.schema, **flights.schema, "op": pl.String(), "missing": pl.String()}
    emitted = pl.DataFrame(joined, schema={name: schema[name] for name in joined[0]})
    return JoinOutputs(emitted, _all_applied(flights), _all_applied(weather))


def _as_of(known: list[dict[str, Any]], at: datetime) -> dict[str, Any] | None:
    place = bisect_right(known, at, key=lambda row: row["observed"])
    return known[place - 1] if place and at - known[place - 1]["observed"] <= MAX_AGE else None


def _all_applied(rows: pl.DataFrame) -> SideOutputs:
    none = rows.select(row=pl.struct("origin")).head(0)
    length = pl.len().cast(pl.Int64)
    each = rows.group_by("arrival").agg(rows_in=length, applied=length)
    counts = each.with_columns(pl.lit(0, pl.Int64).alias(name) for name in ("replays", "late", "invalid"))
    return SideOutputs(none, none, counts)
