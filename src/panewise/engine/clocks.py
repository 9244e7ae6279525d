"""The two clocks that are given to an operator, and what they say about a window (semantics 12, 13)."""

from dataclasses import dataclass, field, replace

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.inputs import Inputs
from panewise.engine.sessions import Sessions
from panewise.spec import Custom, FixedLag, Global, Session, WindowOperator
from panewise.spec import Inputs as InputsSpec


@dataclass(frozen=True)
class Clocks:
    """Processing time, watermark (None: minus infinity), and whether the input has ended."""

    processing_time: int = 0
    watermark: int | None = None
    finished: bool = False
    inputs: Inputs = field(default_factory=Inputs)

    def moved(self, spec: WindowOperator, processing_time: int | None, watermark: int | None, source: str | None = None) -> "Clocks":
        """Both clocks are monotone: a reading below the present one changes nothing. `source` is the input that tells the watermark."""
        now = self.processing_time if processing_time is None else max(self.processing_time, processing_time)
        inputs = self.inputs.told(source, watermark, now).read(None if processing_time is None else now)
        if isinstance(spec.watermark, InputsSpec):
            watermark = inputs.least(spec.watermark, now)
        marks = [self.watermark, None if spec.time == "processing" else watermark]
        lag = 0 if spec.time == "processing" else spec.watermark.lag.us if isinstance(spec.watermark, FixedLag) else None
        if lag is not None and processing_time is not None:
            marks.append(now - lag)
        return replace(self, processing_time=now, watermark=max((mark for mark in marks if mark is not None), default=None), inputs=inputs)

    def complete(self, spec: WindowOperator, end: pl.Expr) -> pl.Expr:
        """Whether a window that ends there is complete."""
        if self.finished:
            return pl.lit(True)
        if self.watermark is None or isinstance(spec.window, Global):
            return pl.lit(False)
        return end <= self.watermark

    def expired(self, spec: WindowOperator, end: pl.Expr) -> pl.Expr:
        """Whether a window that ends there has expired."""
        if self.finished:
            return pl.lit(True)
        horizon = self.horizon(spec)
        return pl.lit(False) if horizon is None else end <= horizon

    def horizon(self, spec: WindowOperator) -> int | None:
        """Windows that end here or earlier have expired; None: none has.

        `W >= end + L` is asked as `end <= W - L`, in unbounded integers. The saturated sum (semantics 13) only matters at W = 2^63 - 1.
        """
        if self.finished:
            return MAX_INSTANT
        if self.watermark is None or spec.lateness_us is None or isinstance(spec.window, Global):
            return None
        return MAX_INSTANT if self.watermark == MAX_INSTANT else max(MIN_INSTANT, self.watermark - spec.lateness_us)

    def late_by(self, time: pl.Expr) -> pl.Expr:
        """How far the watermark is ahead of an event time (semantics 13.4)."""
        if self.watermark is None or self.finished:
            return pl.lit(None, dtype=pl.Int64)
        return (pl.lit(self.watermark, dtype=pl.Int128) - time.cast(pl.Int128)).clip(0, MAX_INSTANT).cast(pl.Int64)

    def row_horizon(self, spec: WindowOperator) -> int | None:
        """With drop_by="row", rows before this instant are late; None: this rule drops none."""
        if spec.drop_by != "row":
            return None
        if self.finished:
            return MAX_INSTANT
        return None if self.watermark is None or spec.lateness_us is None else max(MIN_INSTANT, self.watermark - spec.lateness_us)

    def behind(self, spec: WindowOperator, time: pl.Expr) -> pl.Expr:
        """Whether a row is late by drop_by="row" (semantics 13.3)."""
        horizon = self.row_horizon(spec)
        return pl.lit(False) if horizon is None else time < horizon

    def sessions(self, spec: WindowOperator, keys: list[str]) -> Sessions:
        """The session windows at this watermark."""
        assert isinstance(spec.window, (Session, Custom))
        return Sessions(spec.window, keys, self.horizon(spec), self.row_horizon(spec), by_row=spec.drop_by == "row")
