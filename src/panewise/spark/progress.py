"""Where the watermark comes from on Spark (semantics 12.1, 12.4 and following)."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spark.checks import watermarked
from panewise.spec import Entry, FixedLag, Inputs, Specification, StreamTime, StreamWindow, counted, first_of, told_by_rows

_CONSTANT = "__clockless"


def makes_own(spec: Entry) -> bool:
    """Whether the operator makes its watermark itself, and can do without the query's."""
    by_itself = isinstance(spec.watermark, FixedLag | StreamTime) or told_by_rows(spec.watermark) is not None
    return spec.time == "processing" or by_itself or counted(spec.window)


def with_watermark(df: DataFrame, spec: Entry) -> DataFrame:
    """The stream with a watermark where the operator makes its own: Spark asks for one all the same. That of a constant never moves."""
    if not makes_own(spec) or watermarked(df):
        return df
    return df.withColumn(_CONSTANT, F.timestamp_seconds(F.lit(0))).withWatermark(_CONSTANT, "0 seconds").drop(_CONSTANT)


def check_inputs(spec: Entry) -> None:
    """Refuses inputs without a column: nobody would tell their watermarks.

    Raises:
        SpecError: saying what to give.
    """
    if isinstance(spec.watermark, Inputs) and spec.watermark.column is None:
        rule = "the rows of a DataFrame say which input they are of, and tell its watermark (semantics 12.9)"
        remedy = "add a column with the name before the union, and give Inputs(..., column='...', delay='...')"
        raise SpecError(f"watermark={spec.watermark!r} on a DataFrame", rule, remedy)


def check_batch(whole: Specification, clock: Duration | None) -> None:
    """Refuses what has no meaning where all rows come at once.

    Raises:
        SpecError: for a watermark that follows the clock, for policies that wait for it, and for a clock stream.
    """
    spec = first_of(whole)
    if isinstance(whole, StreamWindow) and whole.timed is not None:
        rule = "a batch DataFrame is done in one go, at one time, so that no time passes (semantics 10.25)"
        raise SpecError(f"{whole.timed} on a batch DataFrame", rule, "use delta over a timestamp, or read a stream")
    if clock is not None:
        rule = "a batch DataFrame is done in one go, at one time"
        raise SpecError(f"clock({str(clock)!r}) on a batch DataFrame", rule, "leave clock out, or read a stream")
    if isinstance(spec.watermark, FixedLag):
        rule = "the rows of a batch DataFrame did not come as they happened, so that all older than the lag would be late"
        raise SpecError(f"watermark={spec.watermark!r} on a batch DataFrame", rule, "leave watermark out, or read a stream")
