"""Drawn queries in process: rows that come in steps, with retractions, have the result of the whole input."""

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from panewise.standalone import SqlOutput, SqlQuery, sql
from tests.engine.effort import examples
from tests.sql.drawn_queries import grouped_queries, over_queries
from tests.sql.drawn_queries import rows as drawn_rows
from tests.sql.player import NOON

SCHEMA = {"ts": pl.Datetime("us", "UTC"), "k": pl.String(), "v": pl.Int64()}
EMITS = ("", "EMIT FINAL", "EMIT CHANGES RETRACTING", "EMIT EARLY EVERY 2 ROWS RETRACTING")
LIMITS = ("= 1", "<= 2", "= 2", "BETWEEN 2 AND 3", "IN (1, 3)")
ORDERS = ("v DESC, ts", "v DESC NULLS FIRST, ts", "s.y DESC, v DESC, ts", "upper(k) DESC, v, ts")
FROM = "(SELECT *, struct(k AS x, v % 3 AS y) AS s FROM t WATERMARK ts DELAY OF INTERVAL '2' MINUTES) t"


@st.composite
def first_rows(draw: st.DrawFn) -> str:
    """Draws a Top-N without windows, whose limit is that of a call or of its column."""
    partition = draw(st.sampled_from(["k", "s.x", "v % 2", "upper(k)", "s.y, k"]))
    call = f"ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {draw(st.sampled_from(ORDERS))})"
    limit, named = draw(st.sampled_from(LIMITS)), draw(st.booleans())
    further = draw(st.sampled_from(["", " AND v > 1"]))
    if named:
        return (
            f"SELECT k, v, ts, rn FROM (SELECT k, v, ts, {call} AS rn FROM {FROM}) WHERE rn {limit}{further}"
        )
    return f"SELECT k, v, ts FROM {FROM} QUALIFY {call} {limit}{further}"


def table(values: list[tuple[Any, ...]]) -> pl.DataFrame:
    rows = [(NOON.replace(minute=ts // 60, second=ts % 60), k, v) for ts, k, v in values]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def net(outputs: list[SqlOutput]) -> Counter[str]:
    """Returns the rows that remain, each with its number. A retraction takes a row that is there."""
    counts: Counter[str] = Counter()
    for row in (row for output in outputs for row in output.rows.to_dicts()):
        op = row.pop("op", "+")
        shown = repr(
            {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}
        )
        counts[shown] += 1 if op == "+" else -1
        assert counts[shown] >= 0, f"a retraction of a row that is not there: {shown}"
    return +counts


def check(text: str, values: list[tuple[Any, ...]], size: int) -> None:
    whole, query = table(values), SqlQuery(text, t=SCHEMA)
    steps = [query.add(t=whole[at : at + size]) for at in range(0, whole.height, size)]
    assert net([*steps, query.finish()]) == net([sql(text, t=whole)]), text


@given(grouped_queries(), drawn_rows(different=False), st.sampled_from(EMITS), st.integers(1, 4))
@examples(60)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_windows(text: str, values: list[tuple[Any, ...]], emit: str, size: int) -> None:
    """semantics 46.8, 46.51, 46.121"""
    assume(not text.startswith(("SELECT k, t.k,", "SELECT t.k, k,")))  # two columns of one name
    source = "t WATERMARK ts DELAY OF INTERVAL '2' MINUTES"
    written = text.replace("{t} t", f"{source} t").replace("FROM {t})", f"FROM {source})")
    check(f"{written} {emit}", values, size)


@given(over_queries(), drawn_rows(different=True), st.integers(1, 4))
@examples(40)
def test_functions_over_windows(text: str, values: list[tuple[Any, ...]], size: int) -> None:
    """semantics 46.14, 46.51"""
    check(text.replace("{t} t", "t WATERMARK ts DELAY OF INTERVAL '2' MINUTES t"), values, size)


@given(first_rows(), drawn_rows(different=True), st.integers(1, 4))
@examples(60)
def test_first_rows(text: str, values: list[tuple[Any, ...]], size: int) -> None:
    """semantics 46.19, 46.129"""
    check(text, values, size)
