"""A watermark that rows with event times far in the future do not move.

Spark makes a watermark from one column, and the metadata of a column say that it has a watermark. Here the
watermark is made from a copy of the event time, in which times too far ahead are null. The event time itself
has the metadata. So Spark's own operators use it as they use that of `withWatermark`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spark.columns.schemas import column_names, instants_of, schema_of
from panewise.spark.inputs.checks import DELAY, same_name, watermarked
from panewise.spec.conditions.text import in_backticks
from panewise.spec.fields import not_negative

_LONGEST: Final = 1 << 61  # microseconds, some 73,000 years
GUARDED: Final = "__panewise_event_time"  # the copy. Spark's plan shows it
_SKEW: Final = (
    "panewise.maxFutureSkew"  # in the metadata of an event time whose view has a limit, in microseconds
)


def with_watermark(
    df: DataFrame, event_time: str, delay: DurationLike, *, max_future_skew: DurationLike
) -> DataFrame:
    """Returns `df.withWatermark(event_time, delay)`, which rows far in the future do not move.

    One row with a wrong event time in the year 2100 would move the watermark of `withWatermark` there, and
    all other rows would be late. Here it has no effect on the watermark. The row remains in the stream: an
    operator with the same `max_future_skew` emits it as invalid (semantics 15.10). The returned stream can be
    used like that of `withWatermark`, also by Spark's own operators.

    Args:
        df: a stream. A batch DataFrame is returned as it is.
        event_time: the column of event times, a TIMESTAMP.
        delay: the delay of the watermark, 0 or more, such as "10 minutes". An int is in microseconds.
        max_future_skew: how far an event time may be ahead of the time at which the micro-batch begins, 0 or
            more; an event time just as far ahead still moves the watermark. An int is in microseconds.

    Returns:
        The stream, with the same columns.

    Raises:
        SpecError: if there is no such column of type TIMESTAMP, the stream has a watermark already, or a
            duration is below 0.

    Example::

        stream = with_watermark(df, "ts", "10 minutes", max_future_skew="1 hour")
        builder = windowed(stream, "ts").options(max_future_skew="1 hour")
    """
    lag, skew = not_negative(delay, "delay"), not_negative(max_future_skew, "max_future_skew")
    _check(df, event_time)
    if not df.isStreaming:
        return df
    column = F.col(in_backticks(event_time))
    # A sum with the present, and a bounded one, because a difference of extreme instants would overflow.
    latest = F.unix_micros(F.current_timestamp()) + min(skew.us, _LONGEST)
    marked = df.withColumn(GUARDED, F.when(F.unix_micros(column) <= latest, column))
    marked = marked.withWatermark(GUARDED, f"{lag.us} microseconds").drop(GUARDED)
    metadata = {**(schema_of(df)[event_time].metadata or {}), DELAY: lag.us // 1000}
    return _with_metadata(marked, event_time, metadata)


def _with_metadata(df: DataFrame, name: str, metadata: Mapping[str, Any]) -> DataFrame:
    # Not withMetadata, which takes the name for an expression.
    return df.withColumn(name, F.col(in_backticks(name)).alias(name, metadata=dict(metadata)))


def watermarked_by(df: DataFrame, event_time: str, delay: Duration, skew: Duration | None) -> DataFrame:
    """Returns a DataFrame with a watermark, which with a limit times too far ahead do not move."""
    if skew is None:
        return df.withWatermark(in_backticks(event_time), f"{delay.us} microseconds")
    return with_watermark(df, _own_name(df, event_time), delay, max_future_skew=skew)


def with_limit(df: DataFrame, event_time: str, skew: Duration) -> DataFrame:
    """Returns a DataFrame whose operators have this `max_future_skew`, unless they have one of their own."""
    name = _own_name(df, event_time)
    return _with_metadata(df, name, {**(schema_of(df)[name].metadata or {}), _SKEW: skew.us})


def limit_of(df: DataFrame, names: Iterable[str]) -> Duration | None:
    """Returns the limit that the event time of an operator has by :func:`with_limit`, None without one."""
    limits = [(schema_of(df)[name].metadata or {}).get(_SKEW) for name in names]
    return next((Duration(limit) for limit in limits if limit is not None), None)


def _own_name(df: DataFrame, name: str) -> str:
    """Returns a column as the DataFrame writes it."""
    same = same_name(df)
    return next((own for own in column_names(df) if same(own) == same(name)), name)


def _check(df: DataFrame, event_time: str) -> None:
    instants = instants_of(df)
    if event_time not in instants:
        remedy = f"use one of the columns {instants}"
        raise SpecError(f"event time {event_time!r}", "the event time is a column of type TIMESTAMP", remedy)
    if watermarked(df):
        raise SpecError("a second watermark", "a stream has one watermark", "leave withWatermark out")
