"""The watermarks of several inputs, or of one that rows drive (semantics 12.5, 12.6, 12.9, 12.12).

The watermark of the operator is the least one of the inputs that are not idle. Invariant: the watermark of an
input never decreases. That of the operator could, when an idle input reports again, so
:class:`panewise.engine.progress.clocks.Clocks` takes the maximum of it and the one before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import polars as pl

from panewise.chrono import saturating_add
from panewise.engine.columns import TIME
from panewise.engine.kernels.instants import lowest_of_known
from panewise.spec import RowInputs


@dataclass(frozen=True)
class InputWatermark:
    """The watermark of an input, and the processing time at which the input last reported one.

    This time is None if the report was before the first reading of the clock.
    """

    watermark: int | None = None
    reported_at: int | None = None


@dataclass(frozen=True)
class InputWatermarks:
    """The watermark of each input that has reported one, and the first reading of the clock (`since`).

    An input that has not reported since the first reading is silent from that reading on.
    """

    reports: tuple[tuple[str, InputWatermark], ...] = ()
    since: int | None = None

    def reported(self, source: str | None, watermark: int | None, now: int) -> "InputWatermarks":
        """Returns the inputs after one of them has reported a watermark.

        A watermark that is not higher than the one before only shows that the input is active.
        """
        if source is None or watermark is None:
            return self
        known = dict(self.reports)
        before = known.get(source, InputWatermark()).watermark
        reported_at = None if self.since is None else now
        known[source] = InputWatermark(watermark if before is None else max(before, watermark), reported_at)
        return InputWatermarks(tuple(known.items()), self.since)

    def row_driven(self, inputs: RowInputs, latest: Mapping[str, int], now: int) -> "InputWatermarks":
        """Returns the inputs after all inputs that have rows in a batch have reported their watermarks.

        `latest` has the highest event time of the rows of each input.
        """
        after = self
        for name in inputs.names:
            if name in latest:
                after = after.reported(name, saturating_add(latest[name], -inputs.delay_of(name)), now)
        return after

    def active(self, now: int) -> "InputWatermarks":
        """Returns the inputs as if all of them reported now, for rows whose event times are not known yet."""
        if self.since is None:
            return self
        return replace(
            self, reports=tuple((name, replace(report, reported_at=now)) for name, report in self.reports)
        )

    def read(self, processing_time: int | None) -> "InputWatermarks":
        """Returns the inputs after a reading of the clock. Only the first reading changes them."""
        first = self.since is None and processing_time is not None
        return InputWatermarks(self.reports, processing_time) if first else self

    def least(self, inputs: RowInputs, now: int) -> int | None:
        """Returns the least watermark of the inputs that are not idle.

        None if one of these has no watermark yet, or if all inputs are idle. A stream that is the only input
        is not left out: while it is idle, its watermark moves with the clock.
        """
        known = dict(self.reports)
        if inputs.moves_while_idle:
            return self._while_idle(known.get(inputs.names[0], InputWatermark()), inputs, now)
        reports = [known.get(name, InputWatermark()) for name in inputs.names]
        return lowest_of_known(
            report.watermark for report in reports if not self._is_idle(report, inputs, now)
        )

    def _while_idle(self, report: InputWatermark, inputs: RowInputs, now: int) -> int | None:
        if report.watermark is None or not self._is_idle(report, inputs, now):
            return report.watermark
        return saturating_add(report.watermark, self._silence(report, now))

    def _is_idle(self, report: InputWatermark, inputs: RowInputs, now: int) -> bool:
        if inputs.idle_after is None or self.since is None:
            return False
        return self._silence(report, now) >= inputs.idle_after.us

    def _silence(self, report: InputWatermark, now: int) -> int:
        """Returns how long an input has been silent, in microseconds."""
        since = self.since if report.reported_at is None else report.reported_at
        return 0 if since is None else now - since


def later(earlier: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Returns the later of two event times for each input.

    >>> later({"a": 1, "b": 5}, {"a": 3})
    {'a': 3, 'b': 5}
    """
    names = {**earlier, **other}
    return {name: max(latest[name] for latest in (earlier, other) if name in latest) for name in names}


def latest_of(inputs: RowInputs, valid: pl.DataFrame) -> dict[str, int]:
    """Returns the highest event time of the valid rows for each input that has any."""
    if inputs.column is None:
        return {name: cast(int, valid[TIME].max()) for name in inputs.names if valid.height}
    seen = valid.group_by(inputs.column).agg(pl.col(TIME).max())
    return dict(seen.rows())
