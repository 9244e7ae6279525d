"""Turns the envelopes of an operator into its rows and further envelopes, for a second operator.

These are the reports of its shards, and outputs of this operator and of earlier ones that the query writes
(semantics 42.9). They stay envelopes, in a column of their own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from panewise.errors import PanewiseError
from panewise.spark.envelope import OUT, decode, is_numbered
from panewise.spark.reports import KIND, PROGRESS
from panewise.spark.types import arrow_of, arrow_schema
from panewise.spark.unpack import Unpack
from panewise.spark.worker import hide_traceback, settle


@dataclass(frozen=True)
class UnpackWithReports:
    """The function that ``mapInArrow`` calls with the envelopes of the first operator.

    Attributes:
        unpack: the function that makes the rows.
        written: the kinds of outputs of this operator that the query writes, with their numbered kinds.
    """

    unpack: Unpack
    written: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> StructType:
        """The columns of the rows, and that of envelopes."""
        return StructType([*self.unpack.target.fields, StructField(PROGRESS, OUT)])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the rows in the envelopes, and the envelopes that stay closed."""
        settle()
        try:
            for arrived in batches:
                kinds = arrived.column("kind").to_pylist()
                for kind, payload in zip(kinds, arrived.column("payload"), strict=True):
                    if kind == KIND or is_numbered(kind):
                        yield self._closed(kind, payload)
                    elif kind in self.written:
                        yield self._closed(self.written[kind], payload)
                    if kind == self.unpack.kind:
                        yield from self._rows(payload.as_buffer())
        except PanewiseError:
            hide_traceback()
            raise

    def _closed(self, kind: str, payload: pa.Scalar) -> pa.RecordBatch:
        schema = arrow_schema(self.target)
        none = [pa.nulls(1, field.type) for field in list(schema)[:-1]]
        envelope = pa.array([{"kind": kind, "payload": payload.as_py()}], type=schema.field(PROGRESS).type)
        return pa.RecordBatch.from_arrays([*none, envelope], schema=schema)

    def _rows(self, payload: pa.Buffer) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(self.target)
        for batch in arrow_of(self.unpack.shaped(decode(payload)), self.unpack.target):
            none = pa.nulls(batch.num_rows, schema.field(PROGRESS).type)
            yield pa.RecordBatch.from_arrays([*batch.columns, none], schema=schema)
