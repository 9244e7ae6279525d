"""Reads topics of Kafka, with the source position of each record (semantics 49.17)."""

from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panewise.choices import check_flag
from panewise.errors import SpecError
from panewise.source_options import meant_option
from panewise.spark.inputs.names import column_named
from panewise.spark.kafka_options import checked_options
from panewise.spark.session.connector_versions import check_connectors
from panewise.spec.fields import is_name, several

_OWN: Final = ("topic", "partition", "offset", "timestamp")


def kafka_source(
    session: SparkSession,
    topics: str | Iterable[str],
    options: Mapping[str, str],
    *,
    value: str | StructType,
    prefix: str = "",
    stream: bool = True,
) -> DataFrame:
    """Returns the records of topics, whose values are JSON, as rows.

    The rows have the fields of the value, and the columns `topic`, `partition`, `offset` and `timestamp` of
    the record. They are the columns that `.position()` reads; with several topics give
    `.position(source="topic")`. Then a record that comes twice counts once (semantics 4). The row of a
    tombstone, or of a value that is no JSON object, has null in all fields. So it is invalid if the event
    time is one of the fields.

    Args:
        session: the session.
        topics: the name of a topic, or several.
        options: options of Spark's Kafka source. "kafka.bootstrap.servers" is required. The default of
            "startingOffsets" is "earliest" here.
        value: the fields of the values, such as "id BIGINT, ts TIMESTAMP", or a StructType.
        prefix: begins the names of the four columns of the record, if the value has fields of these names.
        stream: with False a batch DataFrame of what the topics contain.

    Raises:
        SpecError: if a value is of the wrong kind, "kafka.bootstrap.servers" is missing, or a field has the
            name of a column of the record.
        SetupError: if Spark's connector for Kafka is missing.

    Example::

        orders = kafka_source(spark, "orders", broker, value="id BIGINT, ts TIMESTAMP, amount DOUBLE")
        windowed(orders.withWatermark("ts", "1 minute"), "ts").position().window(pw.Tumbling("1 hour"))

    Source: semantics 49.17.
    """
    check_flag("stream", stream)
    names = (topics,) if isinstance(topics, str) else several("topics", topics)
    if not names or not all(map(is_name, names)) or any("," in name for name in names):
        raise SpecError(f"topics={topics!r}", "a topic has a name, without commas", "give one or more")
    checked = {"startingOffsets": "earliest", **checked_options(options)}
    misspelt = {name: meant for name in checked if (meant := meant_option(name)) is not None}
    if misspelt:
        rule = "Spark ignores an option that its Kafka source does not have"
        raise SpecError(f"options with {[*misspelt]}", rule, f"write {[*misspelt.values()]}")
    check_connectors(session, ["kafka"])
    reader = session.readStream if stream else session.read
    records = reader.format("kafka").options(**checked).option("subscribe", ",".join(names)).load()
    parsed = records.select(
        *(F.col(name).alias(f"{prefix}{name}") for name in _OWN),
        F.from_json(F.col("value").cast("string"), value).alias("value"),
    )
    fields: list[str] = parsed.select("value.*").columns
    own = [f"{prefix}{name}" for name in _OWN]
    twice = sorted({name.lower() for name in fields} & {name.lower() for name in own})
    if twice:
        rule = f"each row has the columns {own} of its record"
        raise SpecError(f"value with the field {twice[0]!r}", rule, "give a prefix for these columns")
    return parsed.select(*map(column_named, own), "value.*")
