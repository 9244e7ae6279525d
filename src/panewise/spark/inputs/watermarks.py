"""The source of the watermark on Spark (semantics 12.1, 12.4 and following)."""

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.chrono import Duration
from panewise.errors import SetupError, SpecError
from panewise.spark.inputs.checks import watermarked
from panewise.spark.inputs.emitted import watermarked_anyway
from panewise.spec import Entry, FixedLag, Inputs, Specification, StreamTime, counted, parts, row_driven

_CONSTANT = "__clockless"


def makes_own(spec: Entry) -> bool:
    """Returns whether the operator makes its own watermark, and so does not need that of the query."""
    by_itself = isinstance(spec.watermark, FixedLag | StreamTime) or row_driven(spec.watermark) is not None
    return spec.time == "processing" or by_itself or counted(spec.window)


def follows_query(spec: Specification, port: str) -> bool:
    """Returns whether the watermark of the query moves that of a port (semantics 12.1, 12.4, 36.1)."""
    entry = spec.ports[port]
    alone = len(spec.ports) == 1
    return not makes_own(entry) or (alone and isinstance(entry.watermark, FixedLag))


def check_sides(dfs: Mapping[str, DataFrame], others: Collection[str], spec: Specification) -> None:
    """Checks an operator with several inputs, some of which follow the watermark of the query (36.9).

    `others` are the ports whose inputs are results, or static.
    """
    streams = {port: df for port, df in dfs.items() if df.isStreaming and port not in others}
    followers = [port for port, df in streams.items() if follows_query(spec, port) and watermarked(df)]
    if len(spec.ports) == 1 or not followers:
        return
    still = [port for port, df in streams.items() if not watermarked(df)]
    if still:
        rule = (
            f"the {followers[0]} side reads what Spark's own stateful operators or a union of streams emit, "
            "so its watermark is that of the query (semantics 36.9, 36.10), which this stream would stop"
        )
        raise SetupError(f"a stream without a watermark ({still[0]})", rule, "call withWatermark on it")


def with_constant_watermark(df: DataFrame, spec: Entry) -> DataFrame:
    """Returns the stream, with a constant watermark if the operator makes its own and the stream has none.

    Spark requires a watermark even then. That of a constant column never moves.
    """
    if not makes_own(spec) or watermarked(df):
        return df
    constant = df.withColumn(_CONSTANT, F.timestamp_seconds(F.lit(0)))
    return watermarked_anyway(constant, _CONSTANT).drop(_CONSTANT)


def check_inputs(spec: Entry) -> None:
    """Refuses `Inputs` without a column, because nothing reports their watermarks on a DataFrame."""
    if isinstance(spec.watermark, Inputs) and spec.watermark.column is None:
        rule = (
            "on a DataFrame a column names the input of each row, and rows drive the "
            "watermarks (semantics 12.9)"
        )
        remedy = (
            "add a column with the name before the union, and give Inputs(..., column='...', delay='...')"
        )
        raise SpecError(f"watermark={spec.watermark!r} on a DataFrame", rule, remedy)


def check_batch(spec: Specification, clock: Duration | None) -> None:
    """Refuses what has no meaning on a batch DataFrame, where all rows arrive at once."""
    refused = parts(spec).batch_error(spec)
    if refused is not None:
        raise SpecError(*refused)
    if clock is not None:
        rule = "a batch DataFrame is processed at one time, so its clock does not move"
        raise SpecError(
            f"clock({str(clock)!r}) on a batch DataFrame", rule, "leave clock out, or read a stream"
        )
