"""Functions over windows that read groups: errors and names are those of the text."""

import pytest

from panewise.errors import SqlError
from panewise.sql import compile_sql
from panewise.sql.stages import OverStage, WindowsStage

GROUPED = "FROM TUMBLE(t, ts, INTERVAL '1' HOUR) GROUP BY k, window_start, window_end"


def test_the_groups_are_an_inner_query() -> None:
    """semantics 46.82"""
    sql = f"SELECT k, window_end, sum(v) AS s, lag(sum(v)) OVER (ORDER BY window_end, k) {GROUPED} EMIT FINAL"
    stage = compile_sql(sql).stage
    assert isinstance(stage, OverStage)
    assert [column.what.columns for column in stage.spec.columns] == [("s",)]
    assert [output.name for output in stage.outputs or ()][-1] == "lag(sum(v)) OVER (ORDER BY window_end, k)"
    assert isinstance(stage.input, WindowsStage)
    assert type(stage.input.spec.trigger).__name__ == "Never"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("select", "message", "column"),
    [
        (
            "k, sum(v) + 1, lag(sum(v)) OVER (ORDER BY window_end)",
            "the columns of a query with GROUP BY have",
            11,
        ),
        ("k, percent_rank() OVER (ORDER BY window_end) AS p", "a whole partition", 11),
        ("k, rank() OVER (ORDER BY window_end DESC) AS r", "ranks in descending order", 11),
        ("k, lag(median(v, 3)) OVER (ORDER BY window_end) AS r", "median", 15),
        ("k, rank() OVER w AS r", "clause WINDOW", 11),
    ],
)
def test_errors_show_the_place_in_the_text(select: str, message: str, column: int) -> None:
    """semantics 46.13, 46.82"""
    with pytest.raises(SqlError, match=message) as raised:
        compile_sql(f"SELECT {select} {GROUPED}")
    assert (raised.value.line, raised.value.column) == (1, column)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            f"SELECT k {GROUPED} QUALIFY k > 1",
            "QUALIFY is a condition on functions over windows .* write it as HAVING",
        ),
        (
            "SELECT k, lag(sum(v)) OVER (ORDER BY k) AS l FROM t GROUP BY k EMIT CHANGES",
            "add a window to GROUP BY",
        ),
    ],
)
def test_what_reads_no_groups_of_windows(sql: str, message: str) -> None:
    """semantics 46.82"""
    with pytest.raises(SqlError, match=message):
        compile_sql(sql)
