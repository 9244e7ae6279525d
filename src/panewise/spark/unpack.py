"""Unpack: turns envelopes into real columns. Stateless.

It is a ``mapInArrow`` of its own or, for a single flat output, the end of the step.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from panewise.engine.columns import LATE_BY, MISSED_WINDOWS, PARTIAL
from panewise.errors import PanewiseError
from panewise.spark.envelope import decode, kind_of, port_of
from panewise.spark.maps import spark_types
from panewise.spark.metrics import COLUMN, joined
from panewise.spark.own_names import field_restored, reason, rows_restored
from panewise.spark.types import arrow_of, arrow_schema, spark_schema
from panewise.spark.worker import hide_traceback, settle
from panewise.spec import Entry, Specification, counted, parts
from panewise.spec.reserved_names import emitted_names

if TYPE_CHECKING:
    import pandas as pd

_INSTANT = pl.Datetime("us", "UTC")


@dataclass(frozen=True)
class Unpack:
    """The function that ``mapInArrow`` calls with envelopes of one kind.

    `output_names` maps the operator's names of the columns that are written to their names in the output.
    These are the columns of panes, or the input columns of late and invalid rows. `restored` maps what the
    operator has in the place of names that begin with `__` to these names.
    """

    kind: str
    target: StructType
    output_names: Mapping[str, str]
    restored: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the rows in the envelopes."""
        settle()
        try:
            for arrived in batches:
                for payload in arrived.column("payload"):
                    yield from arrow_of(self.shaped(decode(payload.as_buffer())), self.target)
        except PanewiseError:
            hide_traceback()
            raise

    def frame(self, table: pl.DataFrame | None, metrics: str | None) -> "pd.DataFrame":
        """Returns the rows of a table, and a row of metrics, as one pandas frame.

        The frame is backed by Arrow, so no type is lost.
        """
        import pandas as pd  # noqa: PLC0415 - stages that convert no output to pandas do not import it

        # PySpark takes no column in several chunks, as those of concatenated tables are.
        batches = [] if table is None else arrow_of(self.shaped(table).rechunk(), self.target)
        rows = pa.Table.from_batches(batches, arrow_schema(self.target))
        frame: pd.DataFrame = joined(rows, metrics).to_pandas(types_mapper=pd.ArrowDtype, use_threads=False)
        return frame

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
        kind = kind_of(self.kind)
        if kind == "panes":
            frame = frame.select_seq(pl.col(own).alias(name) for own, name in self.output_names.items())
            timestamps = (field.name for field in self.target.fields if field.dataType == TimestampType())
            counted = [name for name in timestamps if frame.schema[name] == pl.Int64()]
            return frame.with_columns_seq(
                pl.col(counted).cast(_INSTANT),
                *(rows_restored(self.target) if self.restored else ()),
            )
        if kind == "counts":
            return frame.with_columns(pl.col("watermark", "processing_time").cast(_INSTANT))
        row = pl.struct(pl.col(own).alias(name) for own, name in self.output_names.items()).alias("row")
        if kind == "invalid":
            return frame.select(row, reason(self.restored).alias("reason"))
        windows = pl.col(MISSED_WINDOWS)
        if self.target["windows"].dataType == _windows_of(TimestampType()):
            instants = pl.element().struct.with_fields(
                pl.field("start").cast(_INSTANT), pl.field("end").cast(_INSTANT)
            )
            windows = windows.list.eval(instants)
        columns = {
            "reason": reason(self.restored),
            "windows": windows,
            "late_by": pl.col(LATE_BY),
            "partial": pl.col(PARTIAL),
        }
        return frame.select(row, *(value.alias(name) for name, value in columns.items()))


def _windows_of(bound: DataType) -> ArrayType:
    return ArrayType(StructType([StructField("start", bound), StructField("end", bound)]))


def unpack_of(
    kind: str,
    spec: Specification,
    panes: Mapping[str, pl.DataType],
    inputs: Mapping[str, StructType],
    output_names: Mapping[str, Mapping[str, str]],
) -> Unpack:
    """Returns the function that unpacks one kind of envelopes.

    Args:
        kind: the kind of the envelopes: "panes" or, with the port if it has a name, "late", "invalid" or
            "counts".
        spec: the specification.
        panes: the columns of panes in the engine.
        inputs: the columns that enter the operator, by port.
        output_names: maps those of them that the user's DataFrames have to their names there, by port.
    """
    port = port_of(kind)
    if kind != "panes":
        return Unpack(
            kind,
            _schema_of(kind_of(kind), spec.ports[port], inputs[port], output_names[port]),
            output_names[port],
        )
    types = {f.name: f.dataType for f in spark_schema(dict(panes)).fields} | spark_types(spec, inputs)
    instants = (name for name in parts(spec).instants(spec) if name in types)
    types |= dict.fromkeys(instants, TimestampType())
    columns = {of: tuple(schema.names) for of, schema in inputs.items()}
    sources = parts(spec).unchanged(spec, columns)
    types |= {name: inputs[of][column].dataType for name, (of, column) in sources.items()}
    names = {name: name for name in types}
    if parts(spec).passed_on:
        # Columns that were added for expressions are left out.
        names |= {name: output_names[of].get(column, "") for name, (of, column) in sources.items()}
    written = {own: name for own, name in names.items() if name}
    target = StructType([StructField(name, types[own]) for own, name in written.items()])
    return Unpack(kind, target, written)


def with_own_names(
    unpack: Unpack, inner: Mapping[str, str], spec: Specification, inputs: Mapping[str, StructType]
) -> Unpack:
    """Returns the function with the user's names in its output.

    Args:
        unpack: the function with the operator's names.
        inner: maps the user's names to the operator's.
        spec: the specification, with the operator's names.
        inputs: the columns that enter the operator, by port.
    """
    restored = {own: name for name, own in inner.items()}
    if unpack.kind != "panes" or not restored:
        return replace(unpack, restored=restored)
    names = restored | emitted_names(spec, {port: of.names for port, of in inputs.items()}, restored)
    target = StructType([field_restored(one, names) for one in unpack.target.fields])
    output_names = dict(zip(unpack.output_names, target.names, strict=True))
    return replace(unpack, target=target, output_names=output_names, restored=restored)


def _schema_of(kind: str, entry: Entry, inputs: StructType, output_names: Mapping[str, str]) -> StructType:
    """Returns the schema of the late rows, the invalid rows or the counts of a port."""
    row = StructField(
        "row",
        StructType([StructField(name, inputs[own].dataType, True) for own, name in output_names.items()]),
    )
    reason = StructField("reason", StringType())
    if kind == "invalid":
        return StructType([row, reason])
    if kind == "late":
        # The bounds of windows of rows are row numbers.
        windows = _windows_of(LongType() if counted(entry.window) else TimestampType())
        from_late = [
            StructField("windows", windows),
            StructField("late_by", LongType()),
            StructField("partial", BooleanType()),
        ]
        return StructType([row, reason, *from_late])
    names = ("rows_in", "applied", "replays", "late", "invalid", "partially_late")
    numbers = [StructField(name, LongType()) for name in names]
    clocks = [StructField("watermark", TimestampType()), StructField("processing_time", TimestampType())]
    return StructType([StructField("shard", IntegerType()), *numbers, *clocks])
