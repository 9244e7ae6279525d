"""The emitted rows of one operator as the input of another, with the output watermark (semantics 42.5).

Besides its rows the first operator emits a report from each shard that runs: the number of the shard, and its
output watermark. A report is a row without values, whose text is in a further column. Where the rows are
packed for the second operator, the reports go to all of its shards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import DataFrame

from panewise.errors import SetupError, SpecError
from panewise.families import OVER, POLICY
from panewise.spark.ancestry import metrics_behind, operators_behind, waits_for_the_query
from panewise.spark.checks import watermarked
from panewise.spark.dataflow import Dataflow
from panewise.spark.results.operator_result import OperatorResult
from panewise.spec import Entry, Specification, parts

Source: TypeAlias = DataFrame | OperatorResult


@dataclass(frozen=True)
class Feed:
    """The input of a second operator.

    Attributes:
        df: the rows of the first one and its reports, which have only the column `PROGRESS`.
        first: the first operator.
        time: the column of the event time.
    """

    df: DataFrame
    first: Dataflow
    time: str


def feeds_of(given: Mapping[str, Source], spec: Specification) -> dict[str, Feed]:
    """Returns those inputs that are results of operators over streams, with the output watermark.

    Raises:
        SpecError: if such an operator emits rows that have no output watermark, or retractions, or if `spec`
            is of a family that takes no results.
        SetupError: if the end of the stream ends the input of such an operator, or if metrics of the
            operators of the query have one name.
    """
    _check_family(given, spec)
    found: dict[str, Feed] = {}
    for port, one in given.items():
        if not isinstance(one, DataFrame) and one.dataflow.df.isStreaming:
            others = sum(operators_behind(feed.df) for feed in found.values())
            found[port] = _feed_of(one, others)
    _check_metrics(found, given)
    return found


def _check_family(given: Mapping[str, Source], spec: Specification) -> None:
    """Refuses OVER operators and policy windows over a result."""
    if spec.family not in (OVER, POLICY) or all(isinstance(one, DataFrame) for one in given.values()):
        return
    rule = (
        "a second operator is a window operator, a chain, a join, a cogroup or a deduplication "
        "(semantics 42.5)"
    )
    remedy = "write the rows, and read them again in another query"
    raise SpecError(f"{type(spec).__name__} over a result", rule, remedy)


def _check_metrics(feeds: Mapping[str, Feed], given: Mapping[str, Source]) -> None:
    """Refuses two results of different chains of operators whose metrics have one name, as Spark does."""
    if len({id(one) for one in given.values()}) < 2 or len(feeds) < 2:
        return
    shared = set.intersection(*(metrics_behind(feed.df) for feed in feeds.values()))
    if shared:
        rule = "the metrics of different operators of a query have different names (semantics 15.5)"
        remedy = "call configure(spark, metrics='other') before the operators of the second result are built"
        raise SetupError(f"two results with the metrics {', '.join(sorted(shared))}", rule, remedy)


def _feed_of(result: OperatorResult, others: int) -> Feed:
    time = time_of(result)
    if result.at_end:
        rule = "only write() can end the input of a stream, and it writes one operator"
        raise SetupError("an operator over a result with finish='at_end'", rule, "leave finish out")
    return Feed(result.dataflow.as_input(others), result.dataflow, time)


def time_of(result: OperatorResult) -> str:
    """Returns the column of a result whose values the output watermark bounds.

    Raises:
        SpecError: if there is none, or the operator emits retractions.
    """
    found = parts(result.spec).output_time(result.spec)
    if isinstance(found, str):
        return found
    raise SpecError(*found)


def frame_of(given: Source) -> DataFrame:
    """Returns the rows of an input: the DataFrame itself, or the first output of a result."""
    return given if isinstance(given, DataFrame) else given._alone("panes", whole_rows=False)


def check_feeds(
    dfs: Mapping[str, DataFrame], feeds: Mapping[str, Feed], spec: Specification, finish: str | None
) -> None:
    """Checks the inputs of an operator over results.

    Raises:
        SpecError: if one has another event time or watermark than that of the rows of the first operator.
        SetupError: if the end of the stream would end the input, or if another input holds the watermark of
            the query back for which the first operator waits.
    """
    for port, feed in feeds.items():
        _check_entry(spec.ports[port], feed.time)
        if finish == "at_end":
            rule = "only the first operator sees the end of its input"
            raise SetupError("finish='at_end' of an operator over a result", rule, "leave finish out")
        without = [one for one, df in dfs.items() if one not in feeds and not watermarked(df)]
        if without and waits_for_the_query(feed.df):
            rule = f"the operator behind {port} waits for the query's watermark, which it would delay"
            raise SetupError(f"a stream without a watermark ({without[0]})", rule, "call withWatermark on it")


def _check_entry(entry: Entry, time: str) -> None:
    if entry.watermark is not None:
        rule = "the watermark of these rows is the output watermark of the first operator (semantics 42.5)"
        raise SpecError(f"watermark={entry.watermark!r} over a result", rule, "leave watermark out")
    if entry.time_columns and entry.time_columns != (time,):
        rule = f"the output watermark of the first operator bounds the column {time} (semantics 42.5)"
        raise SpecError(f"event time {entry.time_columns[0]} over a result", rule, f"give {time!r}")
