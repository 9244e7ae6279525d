"""The records that a sink writes to Kafka: key, value and headers of rows (semantics 49.11 to 49.14)."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from panewise.spark.columns.schemas import column_names
from panewise.spark.inputs.names import column_named
from panewise.spark.sinks.base import SinkOutput
from panewise.spark.sinks.current import net_effect
from panewise.spark.sinks.json_options import JSON_OPTIONS
from panewise.spark.sinks.sequence import unused_name

Format: TypeAlias = Literal["json", "avro"]
ROW: Final = "row"  # the column of late and invalid rows that has the row
_OPERATION, _SEQUENCE, _OUTPUT = "operation", "sequence", "output"  # headers


def upserts(rows: DataFrame, output: SinkOutput, key: tuple[str, ...], form: Format) -> DataFrame:
    """Returns one record for each key: its last row without `op`, or no value if that is a retraction."""
    assert output.sequence is not None, "emitted rows have a sequence"
    operation = unused_name(column_names(rows), _OPERATION)
    changes = net_effect(rows, key, output.sequence, operation, output.op)
    names = [name for name in output.schema.names if name != output.op]
    value = F.when(column_named(operation) == "upsert", _encoded(_struct(names), form))
    headers = {_OPERATION: column_named(operation), _SEQUENCE: column_named(output.sequence)}
    return _records(changes, output, _key(key, form), value, headers)


def appended(rows: DataFrame, output: SinkOutput, key: tuple[str, ...], form: Format) -> DataFrame:
    """Returns a record for each emitted row, and for each row of counts."""
    headers = {} if output.op is None else {_OPERATION: column_named(output.op)}
    if output.sequence is not None:
        headers[_SEQUENCE] = column_named(output.sequence)
    value = _encoded(_struct(output.schema.names), form)
    return _records(rows, output, _key(key, form), value, headers)


def dead_letters(rows: DataFrame, output: SinkOutput, key: tuple[str, ...], form: Format) -> DataFrame:
    """Returns a record for each late or invalid row. The columns besides the row are its headers."""
    headers = {
        field.name: F.to_json(field.name, JSON_OPTIONS) if field.name == "windows" else F.col(field.name)
        for field in output.schema.fields
        if field.name != ROW
    }
    of_row = [F.col(ROW)[name].alias(name) for name in key]
    own_key = _encoded(F.struct(*of_row), form) if of_row else None
    return _records(rows, output, own_key, _encoded(F.col(ROW), form), headers)


def _key(names: tuple[str, ...], form: Format) -> Column | None:
    return _encoded(_struct(names), form) if names else None


def _struct(names: Iterable[str]) -> Column:
    return F.struct(*map(column_named, names))


def _encoded(struct: Column, form: Format) -> Column:
    """Returns a struct as Spark's functions write it."""
    return F.to_json(struct, JSON_OPTIONS) if form == "json" else F.call_function("to_avro", struct)


def _records(
    rows: DataFrame, output: SinkOutput, key: Column | None, value: Column, headers: Mapping[str, Column]
) -> DataFrame:
    """Returns records with the columns that Spark's sink reads. The values of headers are texts."""
    texts = {_OUTPUT: F.lit(output.name), **headers}
    pairs = (
        F.struct(F.lit(name).alias("key"), text.cast("string").cast("binary").alias("value"))
        for name, text in texts.items()
    )
    columns = [value.alias("value"), F.array(*pairs).alias("headers")]
    return rows.select(*columns if key is None else (key.alias("key"), *columns))
