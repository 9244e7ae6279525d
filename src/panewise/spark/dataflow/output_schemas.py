"""The columns of outputs of an operator, and functions that unpack them (semantics 13.4, 15, 15.1, 20)."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from panewise.spark.columns.maps import spark_types
from panewise.spark.columns.restored_names import field_restored
from panewise.spark.columns.types import spark_schema
from panewise.spark.shuffle.envelope import kind_of, port_of
from panewise.spark.workers.unpack import Unpack, missed_windows
from panewise.spec import Entry, Specification, counted, parts
from panewise.spec.reserved_names import emitted_names


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
        output_names: by port, the names that columns have in the user's DataFrames.
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
    columns = {source_port: tuple(schema.names) for source_port, schema in inputs.items()}
    sources = parts(spec).unchanged(spec, columns)
    types |= {name: inputs[source_port][column].dataType for name, (source_port, column) in sources.items()}
    names = {name: name for name in types}
    if parts(spec).passed_on:
        # Columns that were added for expressions are left out.
        names |= {
            name: output_names[source_port].get(column, "") for name, (source_port, column) in sources.items()
        }
    written = {own: name for own, name in names.items() if name}
    target = StructType([StructField(name, types[own]) for own, name in written.items()])
    return Unpack(kind, target, written)


def with_own_names(
    unpack: Unpack, inner: Mapping[str, str], spec: Specification, inputs: Mapping[str, StructType]
) -> Unpack:
    """Returns the function with the user's names in its output.

    Args:
        inner: maps the user's names to the operator's.
    """
    restored = {own: name for name, own in inner.items()}
    if unpack.kind != "panes" or not restored:
        return replace(unpack, restored=restored)
    names = restored | emitted_names(spec, {port: schema.names for port, schema in inputs.items()}, restored)
    target = StructType([field_restored(column, names) for column in unpack.target.fields])
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
        windows = missed_windows(LongType() if counted(entry.window) else TimestampType())
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


def unpacked(tagged: DataFrame, unpack: Unpack) -> DataFrame:
    """Returns one kind of output in real columns."""
    return tagged.where(F.col("kind") == unpack.kind).select("payload").mapInArrow(unpack, unpack.target)
