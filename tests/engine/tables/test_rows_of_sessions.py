"""Rows that expire with their session: merges drop those that are in no session, and no others."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, NUMBER, START, TIME
from panewise.engine.tables.rows_of_sessions import RowsOfSessions
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable

ROWS = Shape(
    {"id": pl.String(), TIME: pl.Int64(), NUMBER: pl.Int64(), END: pl.Int64()}, [TIME, NUMBER], ["id"]
)
SESSIONS = Shape({"k": pl.String(), START: pl.Int64(), END: pl.Int64()}, ["k", START, END], ["k"])

KEYS = st.sampled_from(["a", "b", None])
TIMES = st.lists(st.tuples(KEYS, st.integers(0, 40)), min_size=1, max_size=40)
LIVE = st.sets(st.tuples(KEYS, st.integers(0, 3)), max_size=6)


@given(TIMES, LIVE)
def test_merges_keep_the_rows_of_sessions(
    rows: list[tuple[str | None, int]], live: set[tuple[str | None, int]]
) -> None:
    sessions = [(key, n * 10, n * 10 + 7) for key, n in sorted(live, key=str)]
    windows = StoredTable.nothing(SESSIONS)
    frame = pl.DataFrame(sessions, schema=SESSIONS.schema, orient="row")
    windows = windows.changed(frame, frame.clear())
    table = RowsOfSessions.nothing(ROWS).of_sessions(windows, ("k",))
    for number, (key, time) in enumerate(rows):
        row = (key, time, number, MAX_INSTANT)
        table = table.put(pl.DataFrame([row], schema=ROWS.schema, orient="row")).sealed()
    wanted = {
        number
        for number, (key, time) in enumerate(rows)
        if any(key == other and start <= time < end for other, start, end in sessions)
    }
    found = set(table.all()[NUMBER].to_list())
    assert wanted <= found
    merged = {number for run in table.runs if run.rows > 1 for number in _numbers(table, run)}
    assert merged <= wanted


def _numbers(table: RowsOfSessions, run: object) -> list[int]:
    numbers: list[int] = table.library.read(run, table.shape).frame[NUMBER].to_list()  # type: ignore[arg-type]
    return numbers


def test_without_sessions_nothing_is_dropped() -> None:
    table = RowsOfSessions.nothing(ROWS)
    for number in range(40):
        table = table.put(
            pl.DataFrame([("a", 5, number, MAX_INSTANT)], schema=ROWS.schema, orient="row")
        ).sealed()
    assert table.all().height == 40
    assert any(run.rows > 1 for run in table.runs)
