"""If a sink fails after writing a part of its rows, the repeated micro-batch replaces them (semantics 35)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from panewise.spark import ParquetSink, apply
from tests.faults.conftest import Expected
from tests.faults.job import begin
from tests.faults.sinks import check_same, contents
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL

pytestmark = pytest.mark.soak

FILES, BREAKS_AT = 4, 2
SPEC = "session-retracting"


@dataclass(frozen=True)
class BreakingSink:
    """Fails in one micro-batch, with some of its rows already in place.

    With `by="task"` one task of the write fails after the others have put their files in place. The file
    output committer of version 2 leaves these files there.
    """

    sink: ParquetSink
    by: str

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes a micro-batch, or a part of it."""
        if batch_id != BREAKS_AT:
            self.sink(rows, batch_id)
            return
        target = f"{self.sink.path}/batch_id={batch_id}"
        if self.by == "task":
            broken = (
                rows.repartition(3).mapInArrow(_all_but_the_last_task, rows.schema).write.mode("overwrite")
            )
            broken.option("mapreduce.fileoutputcommitter.algorithm.version", 2).parquet(target)
        rows.limit(3).write.mode("overwrite").parquet(target)
        raise RuntimeError("the sink breaks")

    def prepare(self, empty: DataFrame) -> None:
        """Prepares the wrapped sink."""
        self.sink.prepare(empty)


def _all_but_the_last_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    yield from batches
    if context.partitionId() == 2:
        raise RuntimeError("the sink breaks")


@pytest.mark.parametrize(
    ("broken", "by"), [("panes", "rows"), ("panes", "task"), ("late", "rows"), ("counts", "rows")]
)
def test_a_part_that_was_written_is_replaced(
    spark: SparkSession, undisturbed: Expected, tmp_path: Path, broken: str, by: str
) -> None:
    source, expected = undisturbed(SPEC, FILES)
    sinks: dict[str, Any] = {
        kind: ParquetSink(f"{tmp_path}/out/{kind}") for kind in ("panes", "late", "invalid", "counts")
    }
    breaking = sinks | {broken: BreakingSink(sinks[broken], by)}
    stream = (
        spark.readStream.schema(DDL)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(source))
        .withWatermark("ts", "20 seconds")
    )
    checkpoint = f"{tmp_path}/out/checkpoint"
    with pytest.raises(StreamingQueryException, match="the sink breaks"):
        apply(stream, ALL[SPEC], finish="at_end").write(
            **breaking, checkpoint=checkpoint, available_now=True
        ).awaitTermination()
    left = list((tmp_path / "out" / broken / f"batch_id={BREAKS_AT}").glob("part-*.parquet"))
    assert left, "nothing was written before the sink broke"
    begin(spark, str(source), str(tmp_path / "out"), SPEC).awaitTermination()
    check_same(contents(tmp_path / "out", FILES), expected, broken)
