"""Turns the envelopes of an operator into its rows and the reports of its shards, for a second operator."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

from panewise.spark.envelope import decode
from panewise.spark.reports import KIND, PROGRESS
from panewise.spark.types import arrow_of, arrow_schema
from panewise.spark.unpack import Unpack
from panewise.spark.worker import settle, short_errors


@dataclass(frozen=True)
class UnpackWithReports:
    """The function that ``mapInArrow`` calls with the envelopes of the first operator."""

    unpack: Unpack

    @property
    def target(self) -> StructType:
        """The columns of the rows, and that of reports."""
        return StructType([*self.unpack.target.fields, StructField(PROGRESS, StringType())])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the rows in the envelopes, and the reports."""
        settle()
        for arrived in batches:
            for kind, payload in zip(arrived.column("kind"), arrived.column("payload"), strict=True):
                with short_errors():
                    content = payload.as_buffer()
                    yield from self._report(content) if kind.as_py() == KIND else self._rows(content)

    def _report(self, payload: pa.Buffer) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(self.target)
        none = [pa.nulls(1, field.type) for field in list(schema)[:-1]]
        text = pa.array([payload.to_pybytes().decode()])
        yield pa.RecordBatch.from_arrays([*none, text], schema=schema)

    def _rows(self, payload: pa.Buffer) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(self.target)
        for batch in arrow_of(self.unpack.shaped(decode(payload)), self.unpack.target):
            none = pa.nulls(batch.num_rows, pa.string())
            yield pa.RecordBatch.from_arrays([*batch.columns, none], schema=schema)
