"""What must be true before a query starts, and the message that says how to make it true."""

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, TimestampType

from panewise.errors import SetupError, SpecError
from panewise.spark.session import PROVIDER
from panewise.spec import Specification, first_of


def check_columns(df: DataFrame, spec: Specification) -> None:
    """Every column that the specification names is there, and the event time is a timestamp.

    Raises:
        SpecError: naming the column.
    """
    for name in spec.columns_read:
        if name not in df.columns:
            raise SpecError(f"column {name!r}", "the operator's columns are in its input", f"use one of the columns {df.columns}")
    event_time = first_of(spec).event_time
    field = df.schema[event_time]
    if not isinstance(field.dataType, TimestampType):
        rule = "the event time is a TIMESTAMP, which names an instant (semantics 1)"
        given = f"event time {event_time}: {field.dataType.simpleString()}"
        raise SpecError(given, rule, f"cast it: df.withColumn({event_time!r}, F.to_timestamp({event_time!r}))")


def check_stream(df: DataFrame) -> None:
    """A streaming query has a watermark, and a state store that can hold the state.

    Raises:
        SetupError: naming the setting.
    """
    if not any(_watermarked(field) for field in df.schema.fields):
        rule = "panes are complete, and rows late, by the query's watermark"
        raise SetupError("a stream without a watermark", rule, "call df.withWatermark(event_time, '10 seconds') before windowed(...)")
    provider = setting(df, PROVIDER, "")
    if "RocksDB" not in provider:
        rule = "transformWithState keeps its state in RocksDB"
        raise SetupError(f"{PROVIDER}={provider!r}", rule, "call panewise.spark.configure(spark) before the query starts")


def _watermarked(field: StructField) -> bool:
    return "spark.watermarkDelayMs" in (field.metadata or {})


def setting(df: DataFrame, name: str, default: str) -> str:
    """A setting of the session, classic or Connect."""
    try:
        return str(df.sparkSession.conf.get(name, default))
    except PySparkException:
        return default
