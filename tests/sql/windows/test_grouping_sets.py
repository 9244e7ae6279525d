"""GROUPING SETS, CUBE and ROLLUP have the rows of DuckDB."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import Phase, find, given, settings

from panewise.standalone import sql
from tests.engine.effort import examples
from tests.sql.drawn_queries import SetsQuery, rows, sets_queries

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = {"ts": pl.Datetime("us", "UTC"), "k": pl.String(), "v": pl.Int64()}


def shown(values: list[tuple[Any, ...]]) -> list[str]:
    return sorted(
        repr([value.timestamp() if isinstance(value, datetime) else value for value in row]) for row in values
    )


@given(sets_queries(), rows(different=False))
@examples(150)
def test_sets_have_the_rows_of_duckdb(query: SetsQuery, values: list[tuple[Any, ...]]) -> None:
    """semantics 46.17"""
    timed = [(START + timedelta(seconds=ts), k, v) for ts, k, v in values]
    table = pl.DataFrame(timed, schema=SCHEMA, orient="row")
    with duckdb.connect(config={"threads": 1}) as database:
        database.register("t", table.with_columns(pl.col("ts").dt.replace_time_zone(None)).to_arrow())
        expected = database.execute(query.duckdb).fetchall()
    assert shown(sql(query.ours, t=table).rows.rows()) == shown(expected), query.ours


WORDS = (
    "), ROLLUP",
    ", CUBE (",
    "SETS (CUBE",
    ", ())",
    "grouping_id(",
    "HAVING grouping",
    "'5 seconds'",
    "ROLLUP (k), C",
)


@pytest.mark.parametrize("word", WORDS)
def test_the_strategy_draws_each_form(word: str) -> None:
    found = find(
        sets_queries(),
        lambda query: word in query.ours,
        random=Random(7),
        settings=settings(max_examples=2_000, database=None, phases=[Phase.generate]),
    )
    assert word in found.ours
