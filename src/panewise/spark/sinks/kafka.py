"""A sink that writes records to a topic of Kafka (semantics 49.10 to 49.17)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from panewise.choices import check_choice
from panewise.errors import SetupError, SpecError
from panewise.spark.kafka_options import SERVERS, producer_options
from panewise.spark.session.connector_versions import check_connectors
from panewise.spark.sinks.base import OutputSink, SinkOutput
from panewise.spark.sinks.kafka_records import ROW, Format, appended, dead_letters, upserts
from panewise.spark.sinks.result_check import check_results
from panewise.spec.fields import check_columns, is_name, set_fields, several

_DEAD = ("late", "invalid")
_TOPIC = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")  # what brokers accept


@dataclass(frozen=True)
class KafkaSink(OutputSink):
    """Writes one output to a topic of Kafka, by Spark's connector.

    In upsert mode a micro-batch writes one record for each key: its last row, or a tombstone (a record
    without a value) if that row is a retraction. So a compacted topic contains the current results. In append
    mode each row is a record.

    Kafka gets each record at least once. A micro-batch that is repeated after a failure writes its records
    again, with the same keys, values and headers. In upsert mode this changes no current result. In append
    mode a reader can leave out a record whose header `sequence` is not above the last one of its key.

    Late rows, invalid rows and counts are always appended. The value of the record of a late or invalid row
    is the row, and the headers have the reason. So the sink makes a dead-letter topic of them.

    Args:
        topic: the topic.
        options: options of Spark's Kafka sink. "kafka.bootstrap.servers" is required.
        key: the columns of the key of a record. Default: those that identify an emitted row (semantics 49.2);
            records of other outputs have no key. For late and invalid rows they are columns of the input.
        mode: "upsert" or "append". Default: "upsert" for emitted rows, "append" for other outputs.
        format: "json" or "avro", for keys and values. Avro needs the jar spark-avro.

    Raises:
        SpecError: if a value is of the wrong kind, or "kafka.bootstrap.servers" is missing. By `write` also
            for unknown columns, and in upsert mode for rows without a key, or whose last row need not be the
            result of its key (semantics 49.4).
        SetupError: by `write`, if a jar is missing.

    Example::

        broker = {"kafka.bootstrap.servers": "localhost:9092"}
        hourly.write(
            panes=KafkaSink("hourly", broker), late=KafkaSink("late", broker), checkpoint="out/checkpoint"
        )

    Source: semantics 49.10; Flink's connectors kafka and upsert-kafka.
    """

    topic: str
    options: Mapping[str, str] = field(repr=False)
    key: tuple[str, ...] | None = None
    mode: Literal["upsert", "append"] | None = None
    format: Format = "json"

    def __init__(
        self,
        topic: str,
        options: Mapping[str, str],
        *,
        key: Iterable[str] | None = None,
        mode: Literal["upsert", "append"] | None = None,
        format: Format = "json",  # noqa: A002 - Spark's word
    ) -> None:
        names = None if key is None else several("key", key)
        check_columns(names or ())
        if names == ():
            raise SpecError("key=[]", "a key has one column or more", "leave key out, or name them")
        if not is_name(topic):
            raise SpecError(f"topic={topic!r}", "a topic has a name", "give it as a text")
        if not _TOPIC.fullmatch(topic):
            rule = (
                "Kafka takes names of up to 249 letters A-Z and a-z, digits, and the characters . _ -, "
                "not . or .. alone"
            )
            raise SpecError(f"topic={topic!r}", rule, "give such a name")
        check_choice("mode", mode, (None, "upsert", "append"))
        check_choice("format", format, ("json", "avro"))
        set_fields(self, topic=topic, options=producer_options(options), key=names, mode=mode, format=format)

    def check(self, output: SinkOutput) -> None:
        """Checks the key, the mode and the jars."""
        fault, columns = f"{output.name}={self!r}", _columns(output)
        for name in self.key or ():
            if name not in columns.names:
                rule = f"the columns are {columns.names}"
                raise SpecError(f"{fault} with the key {name!r}", rule, "name one of these")
        if replaces(self, output.kind):
            self._check_upserts(fault, output)
        check_connectors(output.session, ["kafka"])
        if self.format == "avro":
            _check_avro(fault, output.session, columns)

    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        """Writes the records of one micro-batch."""
        key = self._key(output)
        if output.kind in _DEAD:
            records = dead_letters(rows, output, key, self.format)
        elif replaces(self, output.kind):
            records = upserts(rows, output, key, self.format)
        else:
            records = appended(rows, output, key, self.format)
        records.write.format("kafka").options(**self.options).option("topic", self.topic).save()

    def _key(self, output: SinkOutput) -> tuple[str, ...]:
        return output.key if self.key is None else self.key

    def _check_upserts(self, fault: str, output: SinkOutput) -> None:
        """Checks that the last row of a key is its result."""
        if output.kind != "panes":
            rule = "late rows, invalid rows and counts are only appended (semantics 49.13)"
            raise SpecError(fault, rule, "leave mode out")
        key = self._key(output)
        if not key:
            rule = "no columns are known to identify these rows (semantics 49.2)"
            raise SpecError(fault, rule, "give key=[...], or mode='append'")
        check_results(fault, output, key, "mode='append'")
        if not {"op", "processing_time"}.isdisjoint(key) and output.op is not None:
            rule = "a retraction differs from its row in op and processing_time (semantics 20.5)"
            raise SpecError(fault, rule, "leave them out of the key")


def replaces(sink: KafkaSink, kind: str) -> bool:
    """Returns whether records of this kind of output replace each other."""
    return (sink.mode or ("upsert" if kind == "panes" else "append")) == "upsert"


def topic_of(sink: KafkaSink) -> str:
    """Returns the topic with its brokers, in one spelling. Several outputs may have one if all append."""
    servers = sorted(sink.options[SERVERS].replace(" ", "").split(","))
    return f"{','.join(servers)} {sink.topic}"


def _columns(output: SinkOutput) -> StructType:
    """Returns the columns of the value of a record: of a late or invalid row those of the row."""
    if output.kind not in _DEAD:
        return output.schema
    row: Any = output.schema[ROW].dataType
    return StructType(row.fields)


def _check_avro(fault: str, session: SparkSession, columns: StructType) -> None:
    """Checks that Spark can write Avro, and that Avro can have these names of fields."""
    wrong = [name for name in _names_in(columns) if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)]
    if wrong:
        rule = "names of fields in Avro consist of letters, digits and _"
        raise SpecError(f"{fault} with the column {wrong[0]!r}", rule, "give it an .alias(...), or use JSON")
    try:
        _ = session.range(0).selectExpr("to_avro(struct(id))").schema
    except AnalysisException:
        rule = "Avro is written by Spark's function to_avro, whose jar is not there"
        remedy = "start Spark with the package org.apache.spark:spark-avro_2.13 of its version"
        raise SetupError(fault, rule, remedy) from None


def _names_in(dtype: DataType) -> Iterator[str]:
    """Yields the names of the fields of a type, and of the types in it."""
    match dtype:
        case StructType():
            for inner in dtype.fields:
                yield inner.name
                yield from _names_in(inner.dataType)
        case ArrayType():
            yield from _names_in(dtype.elementType)
        case MapType():
            yield from _names_in(dtype.valueType)
