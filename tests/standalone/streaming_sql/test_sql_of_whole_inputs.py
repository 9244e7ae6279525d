"""Queries over whole inputs have in process the rows that are written beside them: those of Spark."""

from typing import Any

import polars as pl
import pytest

from panewise.errors import InputError, SqlError
from panewise.standalone import SqlQuery, sql
from tests.sql.whole_queries import LEFT, QUERIES, RIGHT, SORTED, shown


def tables_of(text: str) -> dict[str, pl.DataFrame]:
    """Returns the tables that a query names."""
    tables = {"t": LEFT, "u": RIGHT}
    return {name: df for name, df in tables.items() if f"FROM {name}" in text or f"({name}," in text}


@pytest.mark.parametrize(("text", "rows"), QUERIES)
def test_rows(text: str, rows: list[tuple[Any, ...]]) -> None:
    """semantics 46.132, 46.170, 46.171, 46.173"""
    output = sql(text, **tables_of(text))
    assert sorted(shown(output.rows.rows())) == sorted(shown(rows))
    assert output.invalid.height == 0


@pytest.mark.parametrize(("text", "rows"), SORTED)
def test_order_of_rows(text: str, rows: list[tuple[Any, ...]]) -> None:
    """semantics 46.172"""
    assert shown(sql(text, **tables_of(text)).rows.rows()) == shown(rows)


REFUSED = [
    ("SELECT sum(v) OVER (ORDER BY f RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "counts from whole"),
    (
        "SELECT sum(v) OVER (ORDER BY v RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW) FROM t",
        "RANGE is a whole",
    ),
    ("SELECT sum(v) OVER (ORDER BY k, v RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "from one value"),
    ("SELECT ntile(0) OVER (ORDER BY v) FROM t", "the arguments of Spark's ntile"),
    ("SELECT rank() OVER (ORDER BY array(v)) AS r FROM t", "array"),
    ("SELECT v FROM t ORDER BY 2", "the place of a column, from 1 to 1"),
    ("SELECT v FROM t LIMIT 1 + 1", "constant numbers of rows"),
    ("SELECT v FROM t SORT BY v", "sorted by ORDER BY"),
    ("SELECT k, sum(v) AS s FROM t GROUP BY k ORDER BY count(*)", "count"),
    ("SELECT l FROM (SELECT collect_list(v) AS l FROM t) ORDER BY l", "not ordered by lists"),
    ("SELECT collect_list(v) AS l FROM t EXCEPT SELECT collect_list(v) FROM t", "has no arrays"),
    ("SELECT k FROM t EXCEPT SELECT o FROM t", "EXCEPT . in process both sides have one type"),
    ("SELECT k, v FROM t INTERSECT SELECT k FROM t", "as many columns"),
    ("SELECT CAST(f AS STRING) AS s FROM t", "no DOUBLE to STRING"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused(text: str, message: str) -> None:
    """semantics 46.170 to 46.173"""
    with pytest.raises(SqlError, match=message):
        sql(text, t=LEFT)


LOST = [
    ("CAST(v AS DECIMAL(1, 1))", "the type Decimal"),
    ("CAST(k AS INT)", "the type Int32"),
    ("CAST(k AS DOUBLE)", "the type Float64"),
    ("CAST(m * 1000000000 AS INT)", "the type Int32"),
    ("CAST(f AS DECIMAL(3, 1))", "the type Decimal"),
    ("sum(v) OVER (ORDER BY o RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING)", "has no null in its order"),
]


@pytest.mark.parametrize(("expression", "message"), LOST)
def test_values_that_have_no_result(expression: str, message: str) -> None:
    """semantics 46.170, 46.173"""
    with pytest.raises(InputError, match=message):
        sql(f"SELECT {expression} AS x FROM t", t=LEFT)


STEPS = [
    "SELECT sum(v) OVER (PARTITION BY k) AS s FROM t",
    "SELECT rank() OVER (ORDER BY o) AS r FROM t",
    "SELECT k, sum(v) AS s FROM t GROUP BY k",
    "SELECT v FROM t EXCEPT SELECT v FROM t",
    "SELECT v FROM t ORDER BY v",
    "SELECT 1 AS n",
]


@pytest.mark.parametrize("text", STEPS)
def test_steps_have_no_whole_input(text: str) -> None:
    """semantics 46.170 to 46.172"""
    with pytest.raises(SqlError):
        SqlQuery(text, t=dict(LEFT.schema))


def test_numbers_of_rows_and_names_are_those_of_spark() -> None:
    """semantics 46.105, 46.170"""
    text = """SELECT row_number() OVER (ORDER BY v), rank() OVER (ORDER BY v DESC) AS r,
        sum(v) OVER (PARTITION BY k), percent_rank() OVER (ORDER BY v), ntile(2) OVER (ORDER BY v),
        * FROM t"""
    schema = sql(text, t=LEFT).rows.schema
    order = "ORDER BY v ASC NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    assert list(schema)[:5] == [
        f"row_number() OVER ({order})",
        "r",
        "sum(v) OVER (PARTITION BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
        f"PERCENT_RANK() OVER ({order})",
        f"ntile(2) OVER ({order})",
    ]
    assert list(schema.values())[:5] == [pl.Int32(), pl.Int32(), pl.Int64(), pl.Float64(), pl.Int32()]
    assert list(schema)[5:] == LEFT.columns


def test_a_whole_input_without_rows_has_one_group() -> None:
    """semantics 46.170: GROUP BY () of the standard, which Spark does not parse."""
    text = "SELECT count(*) AS n FROM t WHERE v > 100 GROUP BY ()"
    assert sql(text, t=pl.DataFrame({"v": [1, 2]})).rows.rows() == [(0,)]
