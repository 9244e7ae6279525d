"""The order in which an OVER operator takes, computes and emits rows (semantics 29.1, 29.8)."""

from functools import reduce
from typing import Any

import polars as pl
import pytest

from panewise import Frame, OverColumn, OverOperator, Position
from panewise import functions as F
from panewise.engine.columns import END, PLACE
from panewise.engine.over.operator import OverEngine
from panewise.engine.over.order import in_arrival_order, passing_in_order
from panewise.engine.over.plan import OverPlan
from panewise.engine.registry import operator_for
from panewise.engine.tables.time_queue import TimeQueue

SCHEMA: dict[str, pl.DataType] = dict.fromkeys(("t", "k", "o", "n"), pl.Int64())
AHEAD = 10
COLUMN = OverColumn(F.sum("n").alias("s"), Frame("rows", -1, 0))
ROW_AHEAD = OverColumn(F.lead("n", 1).alias("next"))
Row = tuple[int, int, int | None, int]
# Time, key, order column, and the number of the row in arrival order.
BATCHES: list[list[Row]] = [
    [(25, 1, 3, 0), (20, 2, 1, 1), (20, 1, None, 2), (5, 2, 7, 3)],
    [(20, 1, 1, 4), (31, 2, 2, 5), (20, 2, None, 6), (6, 1, 7, 7)],
    [(20, 1, 1, 8), (25, 2, 2, 9), (20, 2, 0, 10), (40, 1, 0, 11)],
]
IN_ORDER = [3, 7, 2, 6, 10, 1, 4, 8, 9, 0, 5, 11]  # by time, by the order column with nulls first, by arrival


def over(event_time: str | None, columns: tuple[OverColumn, ...] = (COLUMN,), **more: Any) -> OverOperator:
    return OverOperator(keys=["k"], event_time=event_time, columns=columns, **{"order": ["o"], **more})


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def queue(*, sealed: int) -> TimeQueue:
    """Returns the queue of all batches, of which the first `sealed` are in runs."""
    empty = TimeQueue.nothing(OverPlan(over("t"), SCHEMA).waiting)
    batches = [frame(rows).with_columns(pl.col("t").alias(END)) for rows in BATCHES]
    stored = reduce(lambda made, rows: made.put(rows).sealed(), batches[:sealed], empty)
    return reduce(TimeQueue.put, batches[sealed:], stored)


@pytest.mark.parametrize("sealed", [0, 1, 2, 3])
def test_rows_pass_in_order(sealed: int) -> None:
    """The order does not depend on which of the rows are in runs."""
    waiting = queue(sealed=sealed)
    assert len(waiting.runs) == sealed
    due, after = passing_in_order(waiting, None, 100, AHEAD)
    assert (due["n"].to_list(), after["n"].to_list()) == (IN_ORDER, [])


@pytest.mark.parametrize("sealed", [0, 3])
@pytest.mark.parametrize(
    ("before", "now", "us_ahead", "passing", "reached"),
    [
        (None, 20, AHEAD, slice(8), slice(8, 10)),
        (5, 20, AHEAD + 1, slice(1, 8), slice(8, 11)),
        (20, 25, 0, slice(8, 10), slice(0)),
        (6, 19, AHEAD, slice(0), slice(0)),  # ranges of no row reach ahead
        (20, 20, AHEAD, slice(0), slice(0)),
        (None, None, AHEAD, slice(0), slice(0)),
    ],
)
def test_rows_pass_between_two_times(
    sealed: int, before: int | None, now: int | None, us_ahead: int, passing: slice, reached: slice
) -> None:
    """Rows pass after `before` and up to `now`. Their ranges reach the rows of `us_ahead` after it."""
    due, after = passing_in_order(queue(sealed=sealed), before, now, us_ahead)
    assert due["n"].to_list() == IN_ORDER[passing]
    assert after["n"].to_list() == IN_ORDER[reached]
    assert due.columns == after.columns == [*SCHEMA, END]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (over("t"), [3, 2, 1, 0]),  # the input's order; the order columns sort the rows that pass
        (over(None, (ROW_AHEAD,)), [2, 1, 0, 3]),
        (over("t", position=Position("k", "n"), order=[]), [0, 2, 1, 3]),
    ],
)
def test_arrival_order_of_a_batch(spec: OverOperator, wanted: list[int]) -> None:
    """The rows come with their places in the input, of which the last is the first row."""
    rows = frame(BATCHES[0]).with_columns(pl.Series(PLACE, [3, 2, 1, 0], dtype=pl.UInt32))
    assert in_arrival_order(spec, rows)["n"].to_list() == wanted


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ((COLUMN,), IN_ORDER),
        # In this order, but rows of equal time and order column are in the order of the keys.
        ((ROW_AHEAD,), [3, 7, 2, 6, 10, 4, 8, 1, 9, 0, 5, 11]),
    ],
)
def test_rows_are_emitted_in_order(columns: tuple[OverColumn, ...], wanted: list[int]) -> None:
    engine = operator_for(over("t", columns), SCHEMA)
    assert isinstance(engine, OverEngine)
    for rows in BATCHES:
        assert engine.add(frame(rows)).panes.is_empty()
    assert engine.finish().panes["n"].to_list() == wanted
