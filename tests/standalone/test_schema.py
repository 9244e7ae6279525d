"""Schemas of standalone operators: types as Spark's DDL writes them, nested columns (semantics 31.20)."""

import tempfile
from datetime import UTC, date, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from panewise import Aggregate, Tumbling, WindowOperator
from panewise import functions as F
from panewise.errors import InputError, SpecError
from panewise.standalone import StandaloneOperator
from panewise.standalone.schema import dtype_of
from panewise.testing import run

SPEC = WindowOperator(
    window=Tumbling(10), aggregates=[F.last("c").alias("last"), F.collect_list("c").alias("all")]
)
KIND = "struct<m:map<string,array<date>>,t:timestamp>"


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("array<bigint>", pl.List(pl.Int64())),
        ("ARRAY<INT>", pl.List(pl.Int32())),
        ("struct<a:bigint,b string>", pl.Struct({"a": pl.Int64(), "b": pl.String()})),
        ("map<string,bigint>", pl.List(pl.Struct({"key": pl.String(), "value": pl.Int64()}))),
        ("array<decimal(10, 2)>", pl.List(pl.Decimal(10, 2))),
        ("timestamp_ntz", pl.Datetime("us")),
        ("array<array<timestamp>>", pl.List(pl.List(pl.Datetime("us", "UTC")))),
        (pl.List(pl.Int8), pl.List(pl.Int8())),
    ],
)
def test_names(name: Any, dtype: pl.DataType) -> None:
    assert dtype_of("c", name) == dtype


@pytest.mark.parametrize("name", ["array<number>", "variant", 5])
def test_unknown_types(name: Any) -> None:
    with pytest.raises(
        InputError, match=r"of 'c' \| a type is one of .*map<\.\.\.,\.\.\.>.* \| give one of these"
    ):
        dtype_of("c", name)


def test_nested_messages_survive_a_restart() -> None:
    directory = tempfile.mkdtemp()
    types = {"event_time": "bigint", "c": KIND}
    given = [{"m": {"a": [date(2026, 1, 1), None], "b": []}, "t": datetime(2026, 1, 1, tzinfo=UTC)}, {}, None]
    with StandaloneOperator(SPEC, types, store=directory) as operator:
        for n, value in enumerate(given):
            operator.add_message({"event_time": n, "c": value})
        operator.flush()
    with StandaloneOperator(SPEC, types, store=directory) as operator:
        operator.finish()
        [row] = [row for emission in operator.drain() for row in emission.rows.to_dicts()]
    first = {
        "m": [{"key": "a", "value": [date(2026, 1, 1), None]}, {"key": "b", "value": []}],
        "t": datetime(2026, 1, 1, tzinfo=UTC),
    }
    assert row["last"] is None
    assert row["all"] == [first, {"m": None, "t": None}]


@pytest.mark.parametrize("value", [[1.5], [True], ["x"], 5, {"a": 1}])
def test_a_nested_value_of_another_type_is_a_misfit(value: Any) -> None:
    """What does not fit is shown (semantics 31.21)."""
    operator = StandaloneOperator(SPEC, {"event_time": "bigint", "c": "array<bigint>"})
    operator.add_message({"event_time": 1, "c": value})
    [emission] = operator.drain()
    assert emission.misfits == ({"event_time": 1, "c": value},)


def test_batches_with_maps_of_arrow() -> None:
    """A map of PyArrow is a list of its entries."""
    operator = StandaloneOperator(SPEC, {"event_time": "bigint", "c": "map<string,bigint>"})
    maps = pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64()))
    operator.add_batch(pa.table({"event_time": pa.array([1, 2, 3]), "c": maps}))
    operator.finish()
    [row] = [row for emission in operator.drain() for row in emission.rows.to_dicts()]
    assert row["all"] == [[{"key": "a", "value": 1}], []]


@pytest.mark.parametrize(
    ("aggregate", "column"),
    [
        (F.sum("v").filter("ok"), "CASE WHEN ok THEN v END"),
        (F.max_by("v", "ok").filter("ok"), "CASE WHEN ok THEN ok END"),
        (F.count_distinct("v", "ok"), "v, ok"),
    ],
)
def test_a_column_that_only_spark_computes(aggregate: Aggregate, column: str) -> None:
    """semantics 24.17, 24.18"""
    spec = WindowOperator(window=Tumbling(10), aggregates=[aggregate.alias("a")])
    expected = (
        f"column {column!r} | only on Spark are columns of expressions added to the input (semantics 24.17, "
        "24.18) | name a column of the input, which is null in the rows to skip"
    )
    schema = {"event_time": "bigint", "v": "bigint", "ok": "boolean"}
    with pytest.raises(SpecError) as caught:
        StandaloneOperator(spec, schema)
    assert caught.value.args[0] == expected
    rows = [{"event_time": 1, "v": 1, "ok": True}]
    with pytest.raises(SpecError) as caught:
        run(spec, [{"op": "add", "rows": rows}], "standalone")
    assert caught.value.args[0] == expected
