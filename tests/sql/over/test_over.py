"""Functions over windows: what DuckDB computes from the same text over the same rows."""

import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.errors import SqlError
from panewise.sql import compile_sql
from tests.engine.effort import examples
from tests.sql.over_queries import columns, rows, text_of
from tests.sql.player import NOON, Player

SCHEMA = {"k": pl.String(), "ts": pl.Int64(), "v": pl.Int64(), "w": pl.Int64(), "id": pl.Int64()}
NULLS = "SET default_null_order = 'nulls_first_on_asc_last_on_desc'"


def of_duckdb(text: str, given_rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    with duckdb.connect(config={"threads": 1}) as database:
        database.execute(NULLS)
        database.register("t", pl.DataFrame(given_rows, schema=SCHEMA).to_arrow())
        answer = database.execute(text)
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def shown(all_rows: list[dict[str, Any]]) -> list[str]:
    return sorted(
        repr({name: None if value is None else round(float(value), 9) for name, value in row.items()})
        for row in all_rows
    )


@given(rows(), columns(exclude=True), st.sampled_from(["oracle", "engine"]), st.booleans())
@examples(150)
def test_a_text_has_the_rows_of_duckdb(
    given_rows: list[dict[str, Any]], new: list[tuple[str, bool, str]], runtime: str, cut: bool
) -> None:
    """semantics 46.80, 46.81, 46.83, 46.84"""
    timed = [{**row, "ts": NOON.replace(minute=row["ts"])} for row in given_rows]
    middle = len(timed) // 2 if cut else 0
    events = [{"rows": part} for part in (timed[:middle], timed[middle:])]
    stage = compile_sql(text_of(new, inside=False)).stage
    emitted = [row for batch in Player(stage, runtime).play([*events, {"finish": True}]) for row in batch]
    assert shown(emitted) == shown(of_duckdb(text_of(new, inside=True), given_rows))


@pytest.mark.parametrize("call", ["lag(v)", "row_number()", "sum(v)"])
def test_the_descending_order_of_arrival(call: str) -> None:
    """semantics 46.116"""
    for limit in ("<= 0", "> 3"):
        text = f"SELECT k FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) {limit}"
        with pytest.raises(SqlError, match=r"ranks in descending order have an upper limit of 1 or more"):
            compile_sql(text)
    with pytest.raises(SqlError, match=r"the order of arrival with DESC \| .* \| leave DESC out"):
        compile_sql(f"SELECT {call} OVER (PARTITION BY k ORDER BY PROCTIME() DESC) AS x FROM t")


@pytest.mark.parametrize("call", ["percent_rank()", "cume_dist()", "ntile(4)"])
def test_functions_of_whole_partitions(call: str) -> None:
    """semantics 46.86"""
    with pytest.raises(SqlError, match=r"count a whole partition.* \| use row_number, rank"):
        compile_sql(f"SELECT {call} OVER (PARTITION BY k ORDER BY ts) FROM t")


def test_the_table_of_the_page() -> None:
    """semantics 46.80 to 46.84: the page shows what each form gives."""
    page = (Path(__file__).parents[3] / "docs" / "sql.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(\w.* OVER \(ORDER BY ts.*\))` \| (.*) \|$", page, re.MULTILINE)
    assert len(table) > 6
    times_and_values = [(1, 1), (2, None), (2, 2), (5, 4)]
    given_rows = [
        {"ts": NOON.replace(minute=ts), "v": v, "i": i} for i, (ts, v) in enumerate(times_and_values)
    ]
    for call, result in table:
        player = Player(compile_sql(f"SELECT i, {call} AS x FROM t").stage, "engine")
        emitted = [row for batch in player.play([{"rows": given_rows}, {"finish": True}]) for row in batch]
        values = [row["x"] for row in sorted(emitted, key=lambda row: row["i"])]
        assert ", ".join("null" if value is None else str(value) for value in values) == result, call
