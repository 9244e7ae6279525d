"""Makes the places that sinks write to readable before there are rows."""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType, StructType

from panewise.paths import place
from panewise.spark.sinks.base import AnySink, BoundSink, PathSink
from panewise.spark.sinks.places import check_tables
from panewise.spec.conditions.text import in_backticks

_LOG: Final = logging.getLogger("panewise.sinks")


def prepare_batch(session: SparkSession, sinks: Mapping[str, AnySink]) -> None:
    """Prepares the sinks that know their outputs, and checks paths, on a batch DataFrame."""
    for sink in sinks.values():
        if isinstance(sink, PathSink):
            sink.check_batch(session)
    _prepare_outputs(sinks)


def _prepare_outputs(sinks: Mapping[str, AnySink]) -> None:
    """Prepares the sinks that know their outputs."""
    for sink in sinks.values():
        if isinstance(sink, BoundSink):
            sink.sink.prepare(sink.output)
    check_tables(sinks)


def check_new(session: SparkSession, sinks: Mapping[str, AnySink]) -> None:
    """Checks that no path has rows of another checkpoint, before a query with a new checkpoint starts."""
    for sink in sinks.values():
        if isinstance(sink, PathSink):
            sink.check_new(session)


def check_changed(session: SparkSession, sinks: Iterable[AnySink], known: Collection[str]) -> None:
    """Checks the paths that a continued query has not written to before. `known` are all others."""
    for sink in sinks:
        if isinstance(sink, PathSink) and place(sink.path) not in known:
            sink.check_changed(session)


def prepare(
    session: SparkSession, sinks: Mapping[str, AnySink], targets: Mapping[str, StructType], *, new: bool
) -> None:
    """Makes the paths of sinks readable: all of them for a new checkpoint, else those that are not readable.

    `targets` are the schemas of the outputs. Sinks that know their outputs decide that themselves.
    """
    missing = [] if new else _missing_tables(sinks)
    _prepare_outputs(sinks)
    for kind, sink in sinks.items():
        if isinstance(sink, PathSink) and (new or not sink.prepared(session)):
            sink.prepare(empty(session, targets[kind]))
            missing += [] if new else [f"{kind}={sink!r}"]
    for output in missing:
        _LOG.warning("%s was missing at the restart: it has only the rows of later micro-batches", output)


def _missing_tables(sinks: Mapping[str, AnySink]) -> list[str]:
    """Returns the sinks whose tables a continued query makes, although it may have written rows to them."""
    return [
        f"{kind}={sink.sink!r}"
        for kind, sink in sinks.items()
        if isinstance(sink, BoundSink) and sink.sink.is_missing(sink.output)
    ]


def empty(session: SparkSession, schema: StructType) -> DataFrame:
    """Returns an empty DataFrame of a schema.

    Spark plans it as a constant. One of createDataFrame would be read from an RDD.
    """
    if schema.fields and all(isinstance(field.dataType, AtomicType) for field in schema.fields):
        # A text is analyzed once, and Columns take several calls of the JVM each.
        texts = (
            f"CAST(NULL AS {field.dataType.simpleString()}) AS {in_backticks(field.name)}"
            for field in schema.fields
        )
        return session.sql(f"SELECT {', '.join(texts)} LIMIT 0")
    columns = (F.lit(None).cast(field.dataType).alias(field.name) for field in schema.fields)
    return session.sql("SELECT 1").limit(0).select(*columns)
