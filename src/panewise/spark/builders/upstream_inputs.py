"""The emitted rows of one operator as the input of another, with the output watermark (semantics 42.5).

Besides its rows the first operator emits a report from each shard that runs: the number of the shard, and its
output watermark. A report is a row without values, whose text is in a further column. The pack of the second
operator delivers each report to all of its shards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from panewise.errors import SetupError, SpecError
from panewise.spark.dataflow.dataflow import Dataflow, fed_rows
from panewise.spark.dataflow.feeds import Feed
from panewise.spark.inputs.ancestry import metrics_upstream, needs_watermark_of_query, operators_upstream
from panewise.spark.inputs.checks import watermark_columns, watermarked
from panewise.spark.inputs.names import matches
from panewise.spark.inputs.watermarks import makes_own
from panewise.spark.results.operator_result import OperatorResult, output_of
from panewise.spark.results.rows_between import ResultRows
from panewise.spec import Entry, Specification, parts

Source: TypeAlias = DataFrame | OperatorResult | ResultRows


@dataclass(frozen=True)
class Fed:
    """An input that is the result of another operator.

    Attributes:
        df: the rows of the first operator and its envelopes, which have only the column `PROGRESS`.
        time: the column of the event time, None if the second operator makes its own watermark.
    """

    df: DataFrame
    feed: Feed[Dataflow]
    time: str | None


def feeds_of(sources: Mapping[str, Source], spec: Specification) -> dict[str, Fed]:
    """Returns the inputs that are results of operators over streams."""
    feeds: dict[str, Fed] = {}
    for port, source in sources.items():
        if not isinstance(source, DataFrame) and is_stream(source):
            others = sum(operators_upstream(feed.df) for feed in feeds.values())
            feeds[port] = _fed(source, spec.ports[port], others)
    _check_metrics(feeds, sources)
    return feeds


def as_result(source: OperatorResult | ResultRows) -> OperatorResult:
    """Returns the result of an input, which is this result or its filtered rows."""
    return source.result if isinstance(source, ResultRows) else source


def is_stream(source: Source) -> bool:
    """Returns whether the rows of an input are a stream."""
    return _first_frame(source).isStreaming


def session_of(source: Source) -> SparkSession:
    """Returns the session of an input."""
    return _first_frame(source).sparkSession


def _first_frame(source: Source) -> DataFrame:
    """Returns the DataFrame of an input, or that which the operator of a result reads first."""
    return source if isinstance(source, DataFrame) else as_result(source).dataflow.df


def _check_metrics(feeds: Mapping[str, Fed], sources: Mapping[str, Source]) -> None:
    """Refuses two results of different chains of operators whose metrics have one name, as Spark does."""
    if len({id(source) for source in sources.values()}) < 2 or len(feeds) < 2:
        return
    shared = set.intersection(*(metrics_upstream(feed.df) for feed in feeds.values()))
    if shared:
        rule = "the metrics of different operators of a query have different names (semantics 15.5)"
        remedy = "call configure(spark, metrics='other') before the operators of the second result are built"
        raise SetupError(f"two results with the metrics {', '.join(sorted(shared))}", rule, remedy)


def _fed(source: OperatorResult | ResultRows, entry: Entry, others: int) -> Fed:
    result, time = as_result(source), time_of(source, entry)
    result.check_input()

    rows = source if isinstance(source, ResultRows) else ResultRows(source, source.steps)

    def shape(df: DataFrame) -> DataFrame:
        return rows.of(df, time) if rows.steps else df

    feed = Feed(result.dataflow, shape, others)
    return Fed(fed_rows(feed, {}), feed, time)


def time_of(source: OperatorResult | ResultRows, entry: Entry) -> str | None:
    """Returns the column of the event time of a result, to which its output watermark applies.

    It is None if there is no such column and the second operator, over `entry`, makes its own watermark.
    """
    time, spec = default_time(source), as_result(source).spec
    if time is None and not makes_own(entry):
        missing = parts(spec).output_time(spec)
        assert not isinstance(missing, str), "the time of a result is known"
        raise SpecError(*missing)
    return time


def default_time(source: OperatorResult | ResultRows) -> str | None:
    """Returns the column of the event time of a result, None if it has none."""
    spec = as_result(source).spec
    again, time = parts(spec).emits_again(spec), parts(spec).output_time(spec)
    if again is not None:
        raise SpecError(*again)
    return time if isinstance(time, str) else None


def check_source(function: str, source: Any) -> None:
    """Refuses an input that is no DataFrame and no result, such as the name of a table."""
    if not isinstance(source, Source):
        rule = "the input of an operator is a DataFrame, or the result of another operator"
        remedy = "give a DataFrame, such as spark.readStream.table('name')"
        raise SpecError(f"{function}({source!r})", rule, remedy)


def watermarked_column(df: Source) -> str | None:
    """Returns the column of the event time of a stream if none is named, None if that is "event_time".

    It is the only column with a watermark, unless the stream has a column "event_time" (semantics 12.13).
    """
    if not isinstance(df, DataFrame) or matches(df, "event_time"):
        return None
    columns = watermark_columns(df)
    return columns[0] if len(columns) == 1 else None


def frame_of(source: Source) -> DataFrame:
    """Returns the rows of an input: the DataFrame itself, or the first output of a result."""
    if isinstance(source, DataFrame):
        return source
    if isinstance(source, OperatorResult):
        return output_of(source, "panes")
    return source.of(output_of(replace(source.result, steps=()), "panes"), None)


def check_feeds(dfs: Mapping[str, DataFrame], feeds: Mapping[str, Fed], spec: Specification) -> None:
    """Checks the inputs of an operator over results."""
    for port, feed in feeds.items():
        if feed.time is not None:
            _check_entry(spec.ports[port], feed.time)
        without = [port for port, df in dfs.items() if port not in feeds and not watermarked(df)]
        if without and needs_watermark_of_query(feed.df):
            rule = (
                f"the operator whose result is the {port} input waits for the watermark of the query, which "
                "this stream would stop"
            )
            raise SetupError(f"a stream without a watermark ({without[0]})", rule, "call withWatermark on it")


def _check_entry(entry: Entry, time: str) -> None:
    if entry.watermark is not None:
        rule = "the watermark of these rows is the output watermark of the first operator (semantics 42.5)"
        raise SpecError(f"watermark={entry.watermark!r} over a result", rule, "leave watermark out")
    if entry.time_columns and entry.time_columns != (time,):
        rule = f"the event time of these rows is the column {time} (semantics 42.5)"
        raise SpecError(f"event time {entry.time_columns[0]} over a result", rule, f"give {time!r}")
