"""The state that the rows of batch DataFrames leave, with which a stream begins (semantics 48.5)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from panewise.engine.exported_operator import entries_of
from panewise.engine.registry import operator_for
from panewise.spark.columns.types import arrow_schema
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.workers.step import ShardBatch, step
from panewise.spark.workers.whole_batch import of_shard
from panewise.spec import Specification
from panewise.state.export_file import ExportedFrom, writing

ENTRIES: Final = StructType(
    [
        StructField("shard", IntegerType()),
        StructField("name", StringType()),
        StructField("data", BinaryType()),
    ]
)


def export_history(dataflow: Dataflow, file: Path, now: int, watermark: int | None, *, replace: bool) -> None:
    """Adds all rows of batch DataFrames to new shards, and writes their state to a file.

    The entries of one task at a time are on the driver.
    """
    packed = dataflow.packed(late_wanted=False, all_columns=False)
    with writing(file, ExportedFrom(watermark=watermark), replace=replace) as writer:
        for row in _entries(dataflow, packed, now, watermark).toLocalIterator():
            writer.add(0, row.shard, row.name, bytes(row.data))


def _entries(dataflow: Dataflow, packed: DataFrame, now: int, watermark: int | None) -> DataFrame:
    schemas = dataflow.schemas(all_columns=False)
    run = state_of_shard(dataflow.spec, schemas, len(dataflow.shards), now, watermark)
    return packed.groupBy("shard").applyInArrow(run, ENTRIES)


def state_of_shard(
    spec: Specification,
    schemas: dict[str, dict[str, pl.DataType]],
    shards: int,
    now: int,
    watermark: int | None,
) -> Callable[[Any, pa.Table], pa.Table]:
    """Returns the function that adds the rows of a shard, and returns the entries of its state.

    All rows arrive in one batch at the processing time `now`. Then the watermark moves. What is emitted is
    discarded.
    """

    def entries(shard: int, shard_batch: ShardBatch) -> pa.Table:
        operator = operator_for(spec, schemas)
        watermarks: dict[str | None, int] = {} if watermark is None else {None: watermark}
        for _ in step(operator, shard_batch, now, watermarks):
            pass
        names, data = zip(*entries_of(operator, {}, shards), strict=True)
        columns = ([shard] * len(names), names, data)
        schema = arrow_schema(ENTRIES)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)

    return of_shard(entries)
