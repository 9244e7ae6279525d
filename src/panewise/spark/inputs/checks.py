"""Checks a query before it starts. Each error says how to correct its cause."""

import warnings
from collections.abc import Callable, Iterable, Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType, TimestampType

from panewise.chrono import Duration
from panewise.errors import SetupError, ShufflePartitionsWarning, SpecError, explain
from panewise.families import INPUT
from panewise.spark.columns.column_types import check_names_and_types, simple_text
from panewise.spark.columns.maps import check_maps
from panewise.spark.columns.schemas import schema_of
from panewise.spark.session.settings import PARTITIONS, PROVIDER
from panewise.spark.session.worker_python import check_driver
from panewise.spark.shuffle.reports import PROGRESS
from panewise.spec import Entry, Specification, parts
from panewise.spec.column_types import Type

_PARTITIONS_FOR_A_CORE = 4
DELAY = "spark.watermarkDelayMs"  # in the metadata of a column with a watermark


def check_options(finish: object, shards: object) -> None:
    """Checks the options that a query has besides its specification."""
    if finish not in (None, "never", "at_end"):
        raise SpecError(f"finish={finish!r}", "finish is 'never' or 'at_end'", "give one of these")
    if shards is not None and (isinstance(shards, bool) or not isinstance(shards, int) or shards < 1):
        raise SpecError(f"shards={shards!r}", "the number of shards is 1 or more", "give a number such as 8")


def check_named(inputs: Mapping[str, object], spec: Specification) -> None:
    """Checks that there is a DataFrame for each input of the operator."""
    if set(inputs) != set(spec.ports):
        rule = f"the inputs of the operator are {list(spec.ports)}"
        raise SpecError(f"DataFrames for {list(inputs)}", rule, "give a DataFrame for each of these")


def check_columns(df: DataFrame, spec: Specification, port: str = INPUT) -> None:
    """Checks that the input has the columns of the specification, with types that it can use.

    The event time must be a TIMESTAMP. New columns of an OVER operator must not have names of input columns.
    """
    entry, schema = spec.ports[port], schema_of(df)
    read = entry.columns_read
    for name in read:
        if name not in schema.names:
            rule, remedy = (
                "the columns that an operator reads are in its input",
                f"use one of the columns {schema.names}",
            )
            field = f", or SF.col({name!r}) for a field of a struct" if "." in name else ""
            field += ", and name the event time: event_time=..." if name == "event_time" else ""
            raise SpecError(f"column {name!r}{_in_error(port)}", rule, remedy + field)
    check_names_and_types(field for field in schema.fields if entry.whole_rows or field.name in read)
    check_maps(spec, schema, port)
    _check_new_columns(df, spec, schema)
    _check_times(entry, schema, port)


def _check_new_columns(df: DataFrame, spec: Specification, schema: StructType) -> None:
    new_columns = parts(spec).new_columns(spec)
    same = same_name(df) if new_columns else str
    for name in new_columns:
        if same(name) in map(same, schema.names):
            rule = "new columns have different names, which no input column has"
            raise SpecError(
                f"{name!r} twice",
                rule,
                "give the new column another name, or drop the old one before the operator",
            )


def _check_times(entry: Entry, schema: StructType, port: str) -> None:
    for name in entry.time_columns:
        kind = schema[name].dataType
        if not isinstance(kind, TimestampType):
            rule = "the event time is a TIMESTAMP, which names an instant (semantics 1)"
            remedy = f"cast it: df.withColumn({name!r}, F.to_timestamp({name!r}))"
            raise SpecError(f"event time {name}: {kind.simpleString()}{_in_error(port)}", rule, remedy)


def _in_error(port: str) -> str:
    """Returns the name of a port, as errors show it; an empty text if the operator has one input."""
    return "" if port == INPUT else f" ({port})"


def check_distinct(df: DataFrame, names: Iterable[str]) -> None:
    """Checks that Spark takes no two emitted columns for one."""
    same, seen = same_name(df), dict[str, str]()
    for name in names:
        other = seen.setdefault(same(name), name)
        if other != name:
            rule = "Spark ignores the case of names, unless spark.sql.caseSensitive is true"
            raise SpecError(f"emitted columns {other!r} and {name!r}", rule, "give one of them another name")


def check_free(names: Iterable[str]) -> None:
    """Checks that no column of the user has the name of the reports of an operator."""
    for name in names:
        if name.lower() == PROGRESS:
            rule = "between operators a column of this name has their watermarks (semantics 35.7)"
            raise SpecError(f"column {name!r}", rule, "rename it")


def check_column_types(dfs: Mapping[str, DataFrame], spec: Specification) -> None:
    """Checks that the columns have types that the specification can use (semantics 24.19)."""
    types = {
        port: {name: Type(simple_text(schema_of(df)[name].dataType)) for name in own_columns(df)}
        for port, df in dfs.items()
    }
    parts(spec).check_types(spec, types)


def check_stream(
    df: DataFrame, event_times: tuple[str, ...], *, own_watermark: bool, port: str = INPUT
) -> None:
    """Checks that a stream has a watermark of the operator's event time, and what its session needs.

    That is RocksDB as the state store, and the interpreter of the workers on the driver. The stream needs no
    watermark if the operator makes its own. The error names the port, if that has a name.
    """
    rule = "the query's watermark decides when windows are complete and rows are late"
    watermarks = watermark_columns(df)
    if not own_watermark and not watermarks:
        raise SetupError(
            f"a stream without a watermark{_in_error(port)}",
            rule,
            "call df.withWatermark(event_time, '10 seconds') before the operator",
        )
    if not own_watermark and event_times and not set(event_times) & set(watermarks):
        fault = f"a watermark of {', '.join(watermarks)} for the event time {event_times[0]}{_in_error(port)}"
        raise SetupError(
            fault,
            f"{rule}, and it comes from the event time",
            f"call df.withWatermark({event_times[0]!r}, ...) instead",
        )
    provider = setting(df, PROVIDER, "")
    if "RocksDB" not in provider:
        rule = "transformWithState needs RocksDB as its state store"
        raise SetupError(
            f"{PROVIDER}={provider!r}", rule, "call panewise.spark.configure(spark) before the query starts"
        )
    check_driver(df.sparkSession)


def warn_of_partitions(df: DataFrame) -> None:
    """Warns of more than 4 shuffle partitions for each core.

    With Spark Connect the number of cores is unknown. The limit is then 64.
    """
    partitions = int(setting(df, PARTITIONS, "200"))
    context = getattr(df.sparkSession, "sparkContext", None)
    cores = None if context is None else int(context.defaultParallelism)
    most = 64 if cores is None else _PARTITIONS_FOR_A_CORE * cores
    if partitions > most:
        fault = f"{PARTITIONS}={partitions}" + ("" if cores is None else f" on {cores} cores")
        rule = (
            "each partition costs a Python task and a commit in every micro-batch, and a "
            "checkpoint fixes their number"
        )
        remedy = f"call configure(spark, shuffle_partitions={cores or 8}) before the first start"
        warnings.warn(explain(fault, rule, remedy), ShufflePartitionsWarning, stacklevel=5)


def own_columns(df: DataFrame) -> list[str]:
    """Returns the columns of an input, without the reports if the input is the result of an operator."""
    return [name for name in schema_of(df).names if name != PROGRESS]


def watermarked(df: DataFrame) -> bool:
    """Returns whether a column of the stream has a watermark."""
    return bool(watermark_columns(df))


def watermark_columns(df: DataFrame) -> list[str]:
    """Returns the columns of a stream that have a watermark."""
    return [field.name for field in schema_of(df).fields if DELAY in (field.metadata or {})]


def delay_of(df: DataFrame, event_times: tuple[str, ...]) -> Duration | None:
    """Returns the delay of the watermark that a stream has of one of these columns, None if it has none."""
    columns = [name for name in watermark_columns(df) if name in event_times]
    return Duration(1000 * int(schema_of(df)[columns[0]].metadata[DELAY])) if columns else None


def same_name(df: DataFrame) -> Callable[[str], str]:
    """Returns a function that is equal for the names that Spark takes for one."""
    sensitive = setting(df, "spark.sql.caseSensitive", "false").strip().lower() == "true"
    return str if sensitive else str.lower


def setting(df: DataFrame, name: str, default: str) -> str:
    """Returns a setting of the session, classic or Connect."""
    try:
        return str(df.sparkSession.conf.get(name, default))
    except PySparkException:
        return default
