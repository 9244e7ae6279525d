"""Streams of rows for tests of code that takes and returns streaming DataFrames."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from panewise.errors import InputError
from panewise.extras import from_extra

with from_extra("spark", "DataFrames are those of PySpark"):
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["DataFrameStream"]


@dataclass
class _Query:
    """What has been collected from one DataFrame."""

    df: DataFrame  # so that no other DataFrame gets its identity
    files: set[Path] = field(default_factory=set)


@dataclass
class DataFrameStream:
    """A streaming DataFrame whose rows a test adds, and the results of queries over it.

    Each :meth:`add` is a micro-batch of its own. Each :meth:`collect` starts the query from its checkpoint,
    and so tests a restart. The files are in a temporary directory of the driver, which Spark must be able to
    read. Use `local[...]`, or a Connect server on the same machine.

    Args:
        spark: the session. Configure it as for queries of panewise (:func:`panewise.spark.configure`).
        schema: the columns, as a StructType or a DDL text.

    Example::

        with DataFrameStream(spark, "ts TIMESTAMP, k STRING, v BIGINT") as stream:
            sums = pipeline(stream.df)
            stream.add([{"ts": datetime(2026, 1, 1, 12, 0), "k": "a", "v": 1}])
            assert stream.collect(sums) == []
            stream.add([{"ts": datetime(2026, 1, 1, 13, 0), "k": "a", "v": 2}])
            assert [row["total"] for row in stream.collect(sums)] == [1]

    Source: Spark's MemoryStream, which PySpark does not have.
    """

    spark: SparkSession
    schema: StructType | str
    _scratch: Path = field(init=False, default_factory=lambda: Path(tempfile.mkdtemp(prefix="panewise-")))
    _files: int = field(init=False, default=0)
    _queries: dict[int, _Query] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._input.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def df(self) -> DataFrame:
        """The rows as a streaming DataFrame. Set its watermark as for any other one."""
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self._input))

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Adds rows as one micro-batch.

        Args:
            rows: a dict for each row. Columns that it lacks are null.

        Raises:
            InputError: if there are no rows, because Spark starts no micro-batch for none.
            PySparkTypeError: if a value does not fit the schema.
        """
        dicts = [dict(row) for row in rows]
        if not dicts:
            raise InputError("no rows", "a micro-batch has rows", "add one row or more")
        self._files += 1
        directory = self._scratch / f"rows-{self._files}"
        batch = self.spark.createDataFrame(dicts, self.schema).coalesce(1)
        batch.write.parquet(str(directory))
        [written] = directory.glob("*.parquet")
        written.rename(
            self._input / f"{self._files:06}.parquet"
        )  # at once, so that Spark reads no part of it
        shutil.rmtree(directory)

    def collect(self, df: DataFrame) -> list[dict[str, Any]]:
        """Returns the rows that a query emits for what was added since it was collected last.

        Args:
            df: a streaming DataFrame that was made from :attr:`df`, always the same object for one query. It
                is written in append mode.

        Returns:
            A dict for each row, in no particular order.
        """
        query = self._queries.setdefault(id(df), _Query(df))
        home = self._scratch / f"query-{id(df)}"
        writer = df.writeStream.format("parquet").option("checkpointLocation", str(home / "checkpoint"))
        writer.trigger(availableNow=True).start(str(home / "rows")).awaitTermination()
        files = {*(home / "rows").glob("*.parquet")} - query.files
        query.files |= files
        if not files:
            return []
        rows = self.spark.read.schema(df.schema).parquet(*map(str, files)).collect()
        return [row.asDict(recursive=True) for row in rows]

    def close(self) -> None:
        """Deletes the files. Queries over the rows must have ended."""
        shutil.rmtree(self._scratch, ignore_errors=True)

    @property
    def _input(self) -> Path:
        return self._scratch / "input"
