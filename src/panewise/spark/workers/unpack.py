"""Unpack: turns envelopes into real columns. Stateless.

It is a ``mapInArrow`` of its own or, for a single flat output, the end of the step.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, TimestampType

from panewise.engine.columns import LATE_BY, MISSED_WINDOWS, PARTIAL
from panewise.errors import PanewiseError
from panewise.spark.columns.restored_names import reason, rows_restored
from panewise.spark.columns.types import arrow_schema, contains, with_maps
from panewise.spark.metrics import COLUMN, with_metrics_row
from panewise.spark.shuffle.envelope import OUT, decode, is_numbered, kind_of, pieces
from panewise.spark.shuffle.reports import KIND, PROGRESS
from panewise.spark.workers.worker import hide_traceback, settle

if TYPE_CHECKING:
    import pandas as pd

_INSTANT = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class ArrowColumns:
    """Columns of a Spark schema in Arrow.

    Attributes:
        maps: the columns that contain maps, with the types that Polars gives these. In the engine a map is a
            list of structs.
    """

    schema: pa.Schema
    maps: Mapping[str, pl.DataType]

    @classmethod
    def from_spark(cls, schema: StructType) -> "ArrowColumns":
        """Returns the columns of a schema."""
        maps = [field.name for field in schema.fields if contains(field.dataType, MapType)]
        types = with_maps(schema) if maps else {}
        return cls(arrow_schema(schema), {name: types[name] for name in maps})

    def batches(self, frame: pl.DataFrame) -> list[pa.RecordBatch]:
        """Returns a frame as Arrow batches of exactly these columns."""
        if self.maps:
            frame = frame.with_columns(pl.col(name).cast(dtype) for name, dtype in self.maps.items())
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        batches: list[pa.RecordBatch] = table.cast(self.schema).to_batches()
        return batches


@dataclass(frozen=True)
class Unpack:
    """The function that ``mapInArrow`` calls with envelopes of one kind.

    Attributes:
        output_names: the names in the output of the columns that are written, by the operator's names of
            them. They are the columns of panes, or the input columns of late and invalid rows.
        restored: the user's names that begin with `__`, by the names that the operator has in their place.
    """

    kind: str
    target: StructType
    output_names: Mapping[str, str]
    restored: Mapping[str, str] = field(default_factory=dict)
    columns: ArrowColumns = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", ArrowColumns.from_spark(self.target))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the rows in the envelopes."""
        settle()
        try:
            for arrived in batches:
                for payload in arrived.column("payload"):
                    yield from self.batches(decode(payload.as_buffer()))
        except PanewiseError:
            hide_traceback()
            raise

    def batches(self, table: pl.DataFrame) -> list[pa.RecordBatch]:
        """Returns rows as Arrow batches with the columns of the target."""
        return self.columns.batches(self.shaped(table))

    def frame(self, table: pl.DataFrame | None, metrics: str | None) -> "pd.DataFrame":
        """Returns the rows of a table, and a row of metrics, as one pandas frame.

        The frame is backed by Arrow, so no type is lost.
        """
        import pandas as pd  # noqa: PLC0415 - stages that convert no output to pandas do not import it

        # PySpark takes no column in several chunks, as those of concatenated tables are.
        batches = [] if table is None else self.columns.batches(self.shaped(table).rechunk())
        rows = pa.Table.from_batches(batches, self.columns.schema)
        frame: pd.DataFrame = with_metrics_row(rows, metrics).to_pandas(
            types_mapper=pd.ArrowDtype, use_threads=False
        )
        return frame

    def frames(self, table: pl.DataFrame | None, metrics: str | None) -> "Iterator[pd.DataFrame]":
        """Yields the rows of a table in frames of bounded size.

        The first frame has the metrics. Without rows and metrics there is no frame.
        """
        if table is None and metrics is not None:
            yield self.frame(None, metrics)
        for piece in () if table is None else pieces(table):
            yield self.frame(piece, metrics)
            metrics = None

    @property
    def flat(self) -> bool:
        """Whether no column is nested, and none has the name of the metrics column.

        Nested columns of pandas frames would be converted value by value.
        """
        return not any(
            isinstance(field.dataType, (ArrayType, MapType, StructType)) or field.name.lower() == COLUMN
            for field in self.target.fields
        )

    def shaped(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows with the columns of the target."""
        kind, named = kind_of(self.kind), [pl.col(own).alias(name) for own, name in self.output_names.items()]
        if kind == "panes":
            frame = frame.select_seq(named)
            timestamps = (field.name for field in self.target.fields if field.dataType == TimestampType())
            counted = [name for name in timestamps if frame.schema[name] == pl.Int64()]
            restored = rows_restored(self.target) if self.restored else ()
            return frame.with_columns_seq(pl.col(counted).cast(_INSTANT), *restored)
        if kind == "counts":
            return frame.with_columns(pl.col("watermark", "processing_time").cast(_INSTANT))
        rejected = [pl.struct(named).alias("row"), reason(self.restored).alias("reason")]
        return frame.select(rejected if kind == "invalid" else [*rejected, *self._of_late_rows()])

    def _of_late_rows(self) -> list[pl.Expr]:
        """Returns the columns that late rows have besides the row and the reason."""
        windows = pl.col(MISSED_WINDOWS)
        if self.target["windows"].dataType == missed_windows(TimestampType()):
            instants = pl.element().struct.with_fields(
                pl.field("start").cast(_INSTANT), pl.field("end").cast(_INSTANT)
            )
            windows = windows.list.eval(instants)
        late_by, partial = pl.col(LATE_BY).alias("late_by"), pl.col(PARTIAL).alias("partial")
        return [windows.alias("windows"), late_by, partial]


@dataclass(frozen=True)
class UnpackWithReports:
    """The function that ``mapInArrow`` calls with the envelopes of an operator, for a second operator.

    It turns them into the rows of the first one and further envelopes, in a column of their own. These are
    the reports of its shards, and outputs of this operator and of earlier ones that the query writes
    (semantics 42.9).

    Attributes:
        written: the kinds of outputs of this operator that the query writes, with their numbered kinds.
    """

    unpack: Unpack
    written: Mapping[str, str] = field(default_factory=dict)

    target: StructType = field(init=False)
    columns: ArrowColumns = field(init=False)

    def __post_init__(self) -> None:
        target = StructType([*self.unpack.target.fields, StructField(PROGRESS, OUT)])
        object.__setattr__(self, "target", target)
        object.__setattr__(self, "columns", ArrowColumns.from_spark(target))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the rows in the envelopes, and the envelopes that are passed on unopened."""
        settle()
        try:
            for arrived in batches:
                kinds = arrived.column("kind").to_pylist()
                for kind, payload in zip(kinds, arrived.column("payload"), strict=True):
                    if kind == KIND or is_numbered(kind):
                        yield self._unopened(kind, payload)
                    elif kind in self.written:
                        yield self._unopened(self.written[kind], payload)
                    if kind == self.unpack.kind:
                        yield from self._rows(payload.as_buffer())
        except PanewiseError:
            hide_traceback()
            raise

    def _unopened(self, kind: str, payload: pa.Scalar) -> pa.RecordBatch:
        schema = self.columns.schema
        none = [pa.nulls(1, column.type) for column in list(schema)[:-1]]
        envelope = pa.array([{"kind": kind, "payload": payload.as_py()}], type=schema.field(PROGRESS).type)
        return pa.RecordBatch.from_arrays([*none, envelope], schema=schema)

    def _rows(self, payload: pa.Buffer) -> Iterator[pa.RecordBatch]:
        schema = self.columns.schema
        for batch in self.unpack.batches(decode(payload)):
            none = pa.nulls(batch.num_rows, schema.field(PROGRESS).type)
            yield pa.RecordBatch.from_arrays([*batch.columns, none], schema=schema)


def missed_windows(bound: DataType) -> ArrayType:
    """Returns the type of the windows that a late row missed, given that of their bounds."""
    return ArrayType(StructType([StructField("start", bound), StructField("end", bound)]))
