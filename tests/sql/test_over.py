"""Functions over windows: what DuckDB computes from the same text over the same rows."""

from typing import Any

import duckdb
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

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
