"""The clocks of an operator, and which windows are complete or expired by them (semantics 12, 13).

A window is complete when the watermark has reached its end, and expired when the *horizon* has: the watermark
minus the allowed lateness. Both are comparisons of the end with one instant or, if each key has its own
watermark, with a column. Invariant: no clock decreases.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, KEY_WATERMARK
from panewise.engine.kernels.instants import shifted
from panewise.engine.kernels.small_frames import constant_column
from panewise.engine.progress.multi_input import InputWatermarks
from panewise.spec import (
    Entry,
    FixedLag,
    Global,
    Inputs,
    RowInputs,
    WindowOperator,
    counted,
    counted_by_key,
    has_key_watermarks,
    row_driven,
)

_TEST = "__test"


@dataclass(frozen=True)
class Clocks:
    """The processing time, the watermark, and whether the input has ended.

    Attributes:
        processing_time: the last reading, 0 before the first one.
        watermark: the watermark, None before the first one (minus infinity).
        finished: whether the input has ended.
        inputs: the watermarks of several inputs.
        by_key: whether each key has its own watermark. All frames then have it in ``__watermark``, and
            `watermark` is not used.
        by_row_number: whether watermarks are numbers of rows: of the rows received of the key or, without
            `by_key`, of all rows (semantics 8.1, 9.6).
        floor: the horizon at the last change of the allowed lateness (semantics 47.5), below which the
            horizon never falls; None without such a change.
    """

    processing_time: int = 0
    watermark: int | None = None
    finished: bool = False
    inputs: InputWatermarks = field(default_factory=InputWatermarks)
    by_key: bool = False
    by_row_number: bool = False
    floor: int | None = None

    @classmethod
    def initial(cls, spec: Entry) -> "Clocks":
        """Returns the clocks of a specification before the first reading."""
        return cls(
            by_key=has_key_watermarks(spec.watermark) or counted_by_key(spec.window),
            by_row_number=counted(spec.window),
        )

    @property
    def instant_watermark(self) -> int | None:
        """The watermark if it is an instant, None if it is a number of rows."""
        return None if self.by_row_number else self.watermark

    @property
    def watermark_expr(self) -> pl.Expr | None:
        """The watermark as an expression, None if there is none."""
        if self.by_key:
            return pl.col(KEY_WATERMARK)
        return None if self.watermark is None else pl.lit(self.watermark, dtype=pl.Int64)

    def moved(
        self, spec: Entry, processing_time: int | None, watermark: int | None, source: str | None = None
    ) -> "Clocks":
        """Returns the clocks after a reading of the processing time, a watermark, or both.

        Both are monotone: a value below the current one changes nothing. `source` is the input that reports
        the watermark.
        """
        now = self.processing_time if processing_time is None else max(self.processing_time, processing_time)
        inputs = self.inputs
        of_rows = None if spec.watermark is None else row_driven(spec.watermark)
        sources = spec.watermark if isinstance(spec.watermark, Inputs) else of_rows
        if sources is not None:
            # The clock can raise the watermark, too: an input that becomes idle is left out.
            inputs = inputs if of_rows else inputs.reported(source, watermark, now)
            inputs = inputs.read(None if processing_time is None else now)
            watermark = inputs.least(sources, now)
        by_clock = spec.time == "processing"
        watermarks = [self.watermark, None if by_clock or self.by_key or self.by_row_number else watermark]
        if processing_time is not None and (by_clock or isinstance(spec.watermark, FixedLag)):
            watermarks.append(now - (spec.watermark.lag.us if isinstance(spec.watermark, FixedLag) else 0))
        return replace(self, processing_time=now, watermark=highest(watermarks), inputs=inputs)

    def moved_by_rows(self, inputs: RowInputs, latest: Mapping[str, int]) -> "Clocks":
        """Returns the clocks after rows have moved the watermarks of their inputs (semantics 12.9).

        `latest` has the highest event time of the rows of each input.
        """
        after = self.inputs.reported_by_rows(inputs, latest, self.processing_time)
        watermark = highest([self.watermark, after.least(inputs, self.processing_time)])
        return replace(self, watermark=watermark, inputs=after)

    def complete(self, spec: WindowOperator, end: pl.Expr) -> pl.Expr:
        """Returns whether a window with this end is complete."""
        return self._ends_by(spec, end, self.watermark_expr)

    def complete_windows(self, spec: WindowOperator, windows: pl.DataFrame) -> pl.Series:
        """Returns which windows of a frame are complete."""
        if self.by_key and not self.finished:
            return windows.with_columns_seq(self.complete(spec, pl.col(END)).alias(_TEST))[_TEST]
        reached = None if isinstance(spec.window, Global) else self.watermark
        return _reached(windows, MAX_INSTANT if self.finished else reached)

    def expired_windows(self, spec: WindowOperator, windows: pl.DataFrame) -> pl.Series:
        """Returns which windows of a frame have expired."""
        if self.by_key and not self.finished:
            return windows.with_columns_seq(self.expired(spec, pl.col(END)).alias(_TEST))[_TEST]
        return _reached(windows, self.horizon(spec))

    def expired(self, spec: WindowOperator, end: pl.Expr) -> pl.Expr:
        """Returns whether a window with this end has expired."""
        return self._ends_by(spec, end, self.horizon_of_key(spec) if self.by_key else self.horizon(spec))

    def _ends_by(self, spec: WindowOperator, end: pl.Expr, instant: pl.Expr | int | None) -> pl.Expr:
        """Returns whether this end of a window is at or before an instant, which may be one of each key."""
        if self.finished:
            return pl.lit(True)
        if instant is None or isinstance(spec.window, Global):
            return pl.lit(False)
        return (end <= instant).fill_null(False) if self.by_key else end <= instant

    def horizon_of_key(self, spec: WindowOperator) -> pl.Expr | None:
        """Returns the horizon (:meth:`horizon`) of each key, None if the lateness is unlimited."""
        if spec.lateness_us is None:
            return None
        watermark = pl.col(KEY_WATERMARK)
        return (
            pl.when(watermark == MAX_INSTANT).then(watermark).otherwise(shifted(watermark, -spec.lateness_us))
        )

    def horizon(self, spec: WindowOperator) -> int | None:
        """Returns the horizon: windows that end at it or before it have expired. None if no window has.

        `W >= end + L` is tested as `end <= W - L`, in unbounded integers. The saturating sum (semantics 13)
        makes a difference only at W = 2^63 - 1.
        """
        if self.finished:
            return MAX_INSTANT
        if self.watermark is None or isinstance(spec.window, Global):
            return None
        if spec.lateness_us is None:
            return self.floor
        if self.watermark == MAX_INSTANT:
            return MAX_INSTANT
        return highest([self.floor, max(MIN_INSTANT, self.watermark - spec.lateness_us)])

    def horizon_of_row(self, spec: WindowOperator) -> pl.Expr:
        """Returns the horizon (:meth:`horizon`) for each row of a frame, null if no window has expired."""
        horizon = self.horizon_of_key(spec) if self.by_key and not self.finished else self.horizon(spec)
        value = horizon if isinstance(horizon, pl.Expr) else pl.repeat(horizon, pl.len(), dtype=pl.Int64)
        return value.alias("horizon")

    def late_by(self, time: pl.Expr) -> pl.Expr:
        """Returns how far the watermark is ahead of an event time, in microseconds (semantics 13.4).

        It is null if there is no watermark, if the watermark is infinite, or if it is a number of rows.
        """
        watermark = self.watermark_expr
        if watermark is None or self.finished or self.by_row_number:
            return pl.lit(None, dtype=pl.Int64)
        return (watermark.cast(pl.Int128) - time.cast(pl.Int128)).clip(0, MAX_INSTANT).cast(pl.Int64)

    def row_horizon(self, spec: WindowOperator) -> int | None:
        """Returns the instant before which rows are late by drop_by="row", None if no row is late by it."""
        if spec.drop_by != "row" or self.finished:
            return MAX_INSTANT if spec.drop_by == "row" else None
        if self.watermark is None or spec.lateness_us is None:
            return None
        return highest([self.floor, max(MIN_INSTANT, self.watermark - spec.lateness_us)])

    def is_behind(self, spec: WindowOperator, time: pl.Expr) -> pl.Expr:
        """Returns whether a row is late by drop_by="row" (semantics 13.3)."""
        horizon = self.row_horizon_of_key(spec)
        return pl.lit(False) if horizon is None else (time < horizon).fill_null(False)

    def row_horizon_of_key(self, spec: WindowOperator) -> pl.Expr | None:
        """Returns :meth:`row_horizon` as an expression, of each key if keys have their own watermarks."""
        if spec.drop_by == "row" and self.by_key and not self.finished:
            assert spec.lateness_us is not None, "refused with drop_by='row'"
            return shifted(pl.col(KEY_WATERMARK), -spec.lateness_us)
        horizon = self.row_horizon(spec)
        return None if horizon is None else pl.lit(horizon, dtype=pl.Int64)


def _reached(windows: pl.DataFrame, instant: int | None) -> pl.Series:
    """Returns which windows end at an instant or before it."""
    if instant is None:
        return constant_column(END, False, pl.Boolean(), windows.height)
    return windows.get_column(END) <= instant


def highest(values: Iterable[int | None]) -> int | None:
    """Returns the highest of the values that are not None; None if there is none."""
    return max((value for value in values if value is not None), default=None)
