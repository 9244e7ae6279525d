"""Which values fit a column: messages and batches accept the same ones, and keep them (semantics 31.21)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import Tumbling, WindowOperator
from panewise import functions as F
from panewise.engine.kernels.column_types import whole_instants
from panewise.oracle.columns import as_type, fits
from panewise.spec.column_values import ColumnType
from panewise.standalone import StandaloneOperator
from panewise.standalone.schema import dtype_of
from panewise.testing.compare import assert_entries
from panewise.testing.drawn_types import column_types, values_of
from tests.engine.effort import examples

SPEC = WindowOperator(window=Tumbling(10), aggregates=[F.collect_list("c").alias("all")])
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - it has no zone


def stored(operator: StandaloneOperator) -> Any:
    operator.finish()
    frames = [emission.rows for emission in operator.drain() if emission.rows.height]
    if not frames:
        return None
    table = pl.concat(frames).select("all")
    return table.cast({"all": whole_instants(table.schema["all"])}).to_dicts()  # type: ignore[dict-item]


@st.composite
def value_and_type(draw: st.DrawFn) -> tuple[Any, str]:
    """Draws a type, and a value of this type or of another one."""
    kind = draw(column_types())
    return draw(values_of(kind) | column_types(2).flatmap(values_of)), kind


@examples(150)
@given(value_and_type())
def test_messages_and_batches_accept_the_same(made: tuple[Any, str]) -> None:
    value, kind = made
    types = {"event_time": "bigint", "c": kind}
    one, two = (StandaloneOperator(SPEC, types) for _ in range(2))
    one.add_message({"event_time": 1, "c": value})
    name = str(ColumnType.parse(kind))
    misfits = [message for emission in one.get_result() for message in emission.misfits]
    assert bool(misfits) == (not fits(value, name))
    if misfits:
        return
    dtype = dtype_of("c", kind)
    column = pl.Series("c", [as_type(value, name)], whole_instants(dtype), strict=True).cast(dtype)
    two.add_batch(pl.DataFrame([pl.Series("event_time", [1], pl.Int64()), column]))
    found, wanted = stored(one), stored(two)
    assert_entries(found, wanted, kind)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (pl.List(pl.Int32), [True]),
        (pl.List(pl.Int32), [2**31]),
        (pl.List(pl.Float32), [True]),
        (pl.Struct({"a": pl.Int8}), {"a": 1, "b": 2}),
        (pl.List(pl.Struct({"key": pl.String, "value": pl.Int32})), {"a": {"x": 1}}),
        (pl.List(pl.Struct({"key": pl.String, "value": pl.Int32})), {None: 1}),
        (pl.Datetime("us"), "2026"),
        (pl.Datetime("us"), datetime(2026, 1, 1, tzinfo=UTC)),
        (pl.List(pl.Datetime("us")), [datetime(2026, 1, 1, tzinfo=UTC)]),
        (pl.Datetime("us", "UTC"), NAIVE),
        (pl.Datetime("ms", "UTC"), 1),
        (pl.Datetime("ns", "UTC"), 2**62),
        (pl.Array(pl.Int64, 2), [1]),
        (pl.Array(pl.Int64, 2), [1, True]),
        (pl.List(pl.UInt8), [256]),
        (pl.List(pl.UInt8), [True]),
        (pl.List(pl.Time), ["x"]),
        (pl.Time, b"x"),
        (pl.Duration("us"), NAIVE),
        (pl.Null, 1),
        (pl.Float16, 1e9),
    ],
)
def test_misfits(dtype: Any, value: Any) -> None:
    """semantics 31.21"""
    operator = StandaloneOperator(SPEC, {"event_time": "bigint", "c": dtype})
    message = {"event_time": 1, "c": value}
    operator.add_message(message)
    assert [found for emission in operator.drain() for found in emission.misfits] == [message]


@pytest.mark.parametrize(
    ("dtype", "value", "found"),
    [
        (pl.List(pl.Int32), (1, None), [1, None]),
        (pl.List(pl.Int32), [], []),
        (pl.Struct({"a": pl.List(pl.Int8)}), {}, {"a": None}),
        (pl.Datetime("us"), NAIVE, NAIVE),
        (pl.List(pl.Datetime("ms", "UTC")), [5_000], [datetime(1970, 1, 1, 0, 0, 0, 5_000, UTC)]),
        (pl.List(pl.Datetime("ns", "UTC")), [-1], [datetime(1970, 1, 1, tzinfo=UTC) - timedelta(0, 0, 1)]),
        (pl.Datetime("ms"), NAIVE, NAIVE),
        (pl.Array(pl.Int64, 2), [1, None], [1, None]),
        (pl.List(pl.Duration("us")), [timedelta(seconds=1)], [timedelta(seconds=1)]),
        (pl.List(pl.UInt8), [255, None], [255, None]),
        (pl.Decimal(38, 2), Decimal("9" * 36 + ".99"), Decimal("9" * 36 + ".99")),
        (pl.String, "x" * 1_000_000, "x" * 1_000_000),
    ],
)
def test_values_of_other_types_of_polars(dtype: Any, value: Any, found: Any) -> None:
    """Before and after a restart of a batch of messages (semantics 31.21, 31.22)."""
    operator = StandaloneOperator(SPEC, {"event_time": "bigint", "c": dtype}, buffer=None)
    for time in (1, 2):
        operator.add_message({"event_time": time, "c": value})
    operator.finish()
    [row] = [row for emission in operator.drain() for row in emission.rows.to_dicts()]
    assert row["all"] == [found, found]


def test_values_of_two_python_types_in_a_column() -> None:
    operator = StandaloneOperator(SPEC, {"event_time": "bigint", "c": pl.Duration("us")}, buffer=None)
    for value in (1, timedelta(microseconds=2)):
        operator.add_message({"event_time": 1, "c": value})
    operator.finish()
    [row] = [row for emission in operator.drain() for row in emission.rows.to_dicts()]
    assert row["all"] == [timedelta(microseconds=1), timedelta(microseconds=2)]
