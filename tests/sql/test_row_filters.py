"""The conditions of a text of SQL over the emitted rows of its last operator (semantics 47.22)."""

from typing import Any

import pytest

from panewise.spec.row_filter import RowFilter
from panewise.sql import compile_sql
from panewise.sql.row_filters import of_stage, with_columns, with_condition
from panewise.sql.stages import RowsStage

WINDOWS = "FROM TUMBLE(t, ts, INTERVAL '1' HOUR) GROUP BY k, window_start, window_end"
SUMS = f"SELECT k, window_start AS ws, sum(v) AS s, sum(v) * 2 AS twice {WINDOWS}"
TOP_N = "SELECT k, v FROM t QUALIFY {}() OVER (PARTITION BY k ORDER BY v DESC) <= {}"


def rows_of(text: str) -> RowFilter:
    """Returns the filter of a text, as Spark's runner makes it."""
    return of(compile_sql(text).stage)


def of(stage: Any) -> RowFilter:
    if not isinstance(stage, RowsStage):
        return of_stage(stage, stage.outputs)
    rows = with_condition(of(stage.input), stage.where, stage.alias)
    return rows if stage.outputs is None else with_columns(rows, stage.outputs)


def meanings(text: str) -> set[str]:
    return {condition.meaning({}) for condition in rows_of(text).conditions}


@pytest.mark.parametrize(
    "text",
    [
        f"{SUMS} HAVING sum(v) >= 10 AND k = 'a'",
        f"{SUMS} HAVING k = 'a' AND S>=10 -- the same",
        f"{SUMS} HAVING ((s) >= 10) AND (k = 'a')",
        f"SELECT k, s FROM ({SUMS}) WHERE s >= 10 AND k = 'a'",
        f"SELECT s FROM (SELECT x.k AS g, x.s FROM ({SUMS}) x WHERE x.s >= 10) y WHERE y.g = 'a'",
    ],
)
def test_one_condition_written_at_different_places(text: str) -> None:
    """semantics 47.22"""
    assert meanings(text) == {"s >= 10", "k = 'a'"}


def test_conditions_over_computed_columns_and_bounds() -> None:
    """semantics 46.5, 47.22"""
    text = f"SELECT * FROM ({SUMS}) z WHERE z.twice + 1 > 3 AND ws IS NOT NULL"
    assert meanings(text) == {"( s * 2 ) + 1 > 3", "window_start is not null"}
    assert meanings(f"{SUMS} HAVING window_start > '2024-01-01'") == {"window_start > '2024-01-01'"}


def test_what_a_condition_says_of_null() -> None:
    """semantics 47.23"""
    one = rows_of(f"{SUMS} HAVING count(*) >= 1")
    assert [condition.columns for condition in one.conditions] == [("count(*)",)]
    for condition in ("count(*) IS NULL OR count(*) >= 1", "coalesce(count(*), 1) >= 1", "count(*) <=> 1"):
        (part,) = rows_of(f"{SUMS} HAVING {condition}").conditions
        assert part.null_safe == {"count(*)"}
    assert not one.conditions[0].null_safe
    both = rows_of(f"{SUMS} HAVING (count(*) IS NULL OR count(*) > 1) AND count(*) < 9")
    assert [bool(part.null_safe) for part in both.conditions] == [True, False]


def test_the_places_of_a_top_n() -> None:
    """semantics 46.19, 47.23, 47.24: the operator has all rows of RANK, so its limit is a condition."""
    first = rows_of(TOP_N.format("ROW_NUMBER", 3))
    assert (first.conditions, first.unnested) == ((), ("rows",))
    assert meanings(TOP_N.format("RANK", 3)) == {"rank <= 3"}
    assert meanings(f"SELECT v FROM ({TOP_N.format('DENSE_RANK', 2)}) WHERE v > 1") == {
        "dense_rank <= 2",
        "v > 1",
    }


def test_insertions() -> None:
    """semantics 46.26, 47.24"""
    assert meanings("ISTREAM(SELECT k, sum(v) AS s FROM t GROUP BY k HAVING s > 1)") == {"s > 1", "op = '+'"}


def test_other_rows() -> None:
    """semantics 47.22: rows of OVER; and what only Spark's parser reads is compared as it is written."""
    text = "SELECT k, t.v, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM t QUALIFY s > 3 AND t.v > 1"
    assert meanings(text) == {"s > 3", "v > 1"}
    odd = with_condition(RowFilter(selected={"n": "n"}), "n ~~~ (")
    assert [condition.text for condition in odd.conditions] == ["n ~~~ ("]
