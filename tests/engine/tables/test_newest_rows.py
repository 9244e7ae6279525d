"""Tables without newest rows keep no memory of those that they had."""

import polars as pl
import pytest

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, NUMBER, START, TIME
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.rows_by_key import RowsByKey
from panewise.engine.tables.rows_of_sessions import RowsOfSessions
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import AddedRows, StoredTable
from panewise.engine.tables.time_queue import TimeQueue

LENGTH = 100_000
SCHEMA: dict[str, pl.DataType] = {
    "k": pl.String(),
    START: pl.Int64(),
    TIME: pl.Int64(),
    NUMBER: pl.Int64(),
    END: pl.Int64(),
    "v": pl.String(),
}
SHAPE = Shape(SCHEMA, [TIME, NUMBER], ["k"])
ROW = pl.DataFrame([("a", 0, 1, 1, MAX_INSTANT, "v" * LENGTH)], schema=SCHEMA, orient="row")


def assert_keeps_nothing(table: StoredTable) -> None:
    assert table.newest.is_empty()
    assert table.newest.estimated_size() < LENGTH


@pytest.mark.parametrize("kind", [TimeQueue, RowsByKey, LatestByKey, RowsOfSessions])
def test_a_sealed_table_keeps_no_long_value(kind: type[AddedRows]) -> None:
    table = kind.nothing(SHAPE).put(ROW)
    assert table.newest.estimated_size() >= LENGTH
    assert_keeps_nothing(table.sealed())
    assert table.sealed().all().height == 1


def test_a_sealed_table_of_replaced_rows_keeps_no_long_value() -> None:
    assert_keeps_nothing(StoredTable.nothing(SHAPE).changed(ROW).sealed())


def test_a_table_keeps_no_row_that_was_deleted_or_released() -> None:
    table = StoredTable.nothing(SHAPE)
    assert_keeps_nothing(table.changed(ROW).changed(ROW.clear(), ROW))
    assert_keeps_nothing(table.changed(ROW.clear(), ROW))
    released = RowsOfSessions.nothing(SHAPE).put(ROW).without(pl.Series([1]))
    assert_keeps_nothing(released)
