"""Envelopes as columns: those of late and of invalid rows, and which outputs a step can emit as columns."""

import polars as pl
import pytest
from pyspark.sql.types import ArrayType, DataType, LongType, MapType, StringType, StructField, StructType

from panewise import Tumbling, WindowOperator
from panewise import functions as F
from panewise.engine.registry import operator_for
from panewise.families import INPUT
from panewise.spark.columns.types import spark_schema
from panewise.spark.dataflow.output_schemas import unpack_of, with_own_names
from panewise.spark.metrics import COLUMN
from panewise.spark.workers.unpack import Unpack

SPEC = WindowOperator(window=Tumbling(10), keys=["k"], event_time="t", aggregates=[F.count()])
SCHEMA = {"t": pl.Datetime("us", "UTC"), "k": pl.Int64()}


@pytest.mark.parametrize("kind", ["late", "invalid"])
def test_rejected_rows_have_the_columns_of_their_output(kind: str) -> None:
    """semantics 13.4: windows and lateness are columns of late rows alone."""
    operator = operator_for(SPEC, SCHEMA)
    operator.advance(watermark=100)
    output = operator.add(pl.DataFrame({"t": [5, None], "k": [1, 2]}, schema=SCHEMA))
    inputs, names = {INPUT: spark_schema(SCHEMA)}, {INPUT: {name: name for name in SCHEMA}}
    unpack = unpack_of(kind, SPEC, operator.plan.pane_schema, inputs, names)
    rows = unpack.shaped(output.late if kind == "late" else output.invalid)
    assert rows.columns == unpack.target.names
    assert rows["row"].struct.field("k").to_list() == [1 if kind == "late" else 2]


def test_rejected_rows_keep_their_schema_where_names_are_restored() -> None:
    """semantics 35.4: their own columns have no inner names; the row in them has the names of the input."""
    inputs, names = {INPUT: spark_schema(SCHEMA)}, {INPUT: {"t": "t", "k": "__k"}}
    late = unpack_of("late", SPEC, {}, inputs, names)
    restored = with_own_names(late, {"__k": "k"}, SPEC, inputs)
    assert (restored.target, restored.output_names) == (late.target, late.output_names)
    assert restored.restored == {"k": "__k"}


@pytest.mark.parametrize(
    ("name", "dtype", "flat"),
    [
        ("n", LongType(), True),
        ("n", ArrayType(LongType()), False),
        ("n", MapType(StringType(), LongType()), False),
        ("n", StructType([StructField("a", LongType())]), False),
        (COLUMN.upper(), LongType(), False),
    ],
)
def test_which_outputs_are_flat(name: str, dtype: DataType, flat: bool) -> None:
    target = StructType([StructField("k", StringType()), StructField(name, dtype)])
    assert Unpack("panes", target, {}).flat is flat
