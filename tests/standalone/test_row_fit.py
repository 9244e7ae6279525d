"""Messages as rows have the values that Polars returns for them."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest

from panewise import Frame, OverColumn, OverOperator
from panewise import functions as F
from panewise.standalone import StandaloneOperator
from panewise.standalone.row_fit import RowFit, has_plain_types
from tests.standalone.test_row_path import agree

TYPES = {
    "k": "string",
    "event_time": "timestamp",
    "v": "double",
    "d": "date",
    "b": "boolean",
    "t": "timestamp",
    "i": "smallint",
    "y": "binary",
}
FIRST = datetime(2026, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=5)))
SPEC = OverOperator(keys=["k"], columns=[OverColumn(F.sum("v").alias("total"), Frame("rows", -1, 0))])
ROW = {
    "k": "a",
    "event_time": FIRST,
    "v": 1.5,
    "d": date(2026, 3, 1),
    "b": True,
    "t": FIRST,
    "i": 7,
    "y": b"x",
}


def test_values_are_those_of_frames() -> None:
    """semantics 31.31: instants of any zone, microseconds, whole numbers for doubles, nulls, misfits."""
    others: list[dict[str, Any]] = [
        {"v": 2, "event_time": FIRST + timedelta(seconds=1), "t": 1_000_001},
        {"v": 2**60, "event_time": 1_772_350_203_000_000, "d": None, "b": None},
        {"i": 2**15},
        {"t": "noon"},
        {"d": FIRST},
        {"event_time": datetime(2026, 3, 1, 12)},  # noqa: DTZ001 - without a zone it is no instant
        {"k": "\ud800"},
        {"y": None, "t": datetime(1, 1, 1, tzinfo=UTC)},
    ]
    script = [ROW, *({**ROW, **other} for other in others), 2**61, "drain"]
    agree(SPEC, TYPES, script)


@pytest.mark.parametrize(
    ("dtype", "plain"),
    [
        (pl.Int16(), True),
        (pl.Datetime("us", "UTC"), True),
        (pl.Datetime("us", "Asia/Tokyo"), False),
        (pl.Float32(), False),
        (pl.Decimal(10, 2), False),
        (pl.List(pl.Int64()), False),
    ],
)
def test_types_that_are_plain(dtype: pl.DataType, plain: bool) -> None:
    assert has_plain_types({"v": dtype}) == plain


def test_a_message_that_may_be_invalid_is_no_row() -> None:
    schema = {"k": pl.String(), "event_time": pl.Int64(), "v": pl.Float64()}
    fit = RowFit(SPEC, schema)
    assert fit.row_of({"k": "a", "event_time": 3, "v": 2}) == (3, ("a", 3, 2.0))
    messages = [{"event_time": 3}, {"k": "a"}, {"k": "a", "event_time": 3, "v": "2"}]
    assert [fit.row_of(message) for message in messages] == [None] * 3


def test_other_types_are_evaluated_by_steps() -> None:
    """semantics 31.30"""
    types = {"k": "string", "event_time": "bigint", "v": "double", "more": "decimal(10,2)"}
    assert StandaloneOperator(SPEC, types).evaluation == "each"


def test_instants_that_python_lacks_are_evaluated_by_steps() -> None:
    operator = StandaloneOperator(SPEC, TYPES)
    far = {**ROW, "event_time": -(2**59), "t": -(2**59)}
    for message in (ROW, far, ROW):
        operator.add_message(message)
    operator.advance(watermark=2**59)
    (emission,) = operator.drain()
    assert emission.rows["total"].to_list() == [1.5, 3.0, 3.0]
    operator.add_message({**ROW, "event_time": 2**59})
    assert operator.counts["input"].applied == 4
