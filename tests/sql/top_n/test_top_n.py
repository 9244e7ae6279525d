"""Top-N queries as specifications, and what is wrong with them."""

import pytest

from panewise.errors import SqlError
from panewise.sql import compile_sql
from panewise.sql.stages import RowsStage, SparkStage, WindowsStage
from tests.sql.test_compile import GROUP, TUMBLE

PANES = f"SELECT k, window_start, window_end, count(*) AS n {TUMBLE} {GROUP}"


NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n) AS rn FROM"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (f"SELECT k FROM ({NUMBERED} ({PANES}) WHERE n > 1) WHERE rn <= 1", "cannot be selected before"),
        (f"SELECT k FROM ({NUMBERED} ({PANES} HAVING k > 1)) WHERE rn <= 1", "cannot be selected before"),
        (
            "SELECT sum(v) OVER (ORDER BY ts) FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY v) <= 1",
            "one function over a window",
        ),
        (
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY v) AS n FROM t HAVING k > 1) WHERE n <= 1",
            "has FROM and WHERE",
        ),
        ("WITH r AS (SELECT ROW_NUMBER() OVER (ORDER BY v DESC) AS n FROM t) SELECT k FROM t", "DESC"),
    ],
)
def test_what_a_top_n_cannot_have(sql: str, message: str) -> None:
    """semantics 46.13, 46.19"""
    with pytest.raises(SqlError, match=message):
        compile_sql(sql)


@pytest.mark.parametrize("more", ["JOIN d ON t.k = d.k", "LATERAL VIEW explode(ws) AS w"])
def test_a_top_n_of_what_spark_joins(more: str) -> None:
    """semantics 46.19"""
    numbered = f"SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY w) AS n FROM t {more} WHERE w > 1"
    rows = compile_sql(f"SELECT k FROM ({numbered}) WHERE n <= 2").stage
    assert isinstance(rows, RowsStage)
    assert isinstance(rows.input, WindowsStage)
    assert isinstance(rows.input.input, SparkStage)
    assert more[-10:] in rows.input.input.parts[-1]
