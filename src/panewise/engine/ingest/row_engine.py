"""What operators share that emit input rows, and apply each row that is in time: OVER and deduplication."""

from abc import abstractmethod
from dataclasses import replace

import polars as pl

from panewise.engine.columns import REASON, TIME
from panewise.engine.ingest import arrival
from panewise.engine.ingest.input_state import P, S, SingleInput, UncombinedOperator
from panewise.engine.ingest.late_output import NO_WINDOWS, late_columns
from panewise.engine.ingest.output import Counts, Output


class RowEngine(UncombinedOperator, SingleInput[P, S]):
    """An operator for which a row is late if its time is behind the watermark (semantics 29.3, 45.11)."""

    def _added(self, valid: pl.DataFrame) -> Output:
        """Adds valid rows, of which none turns out to be invalid."""
        spec = self.plan.entry
        ordered = self._in_arrival_order(valid)
        fresh = self.state.marks.without_replays(spec, ordered)
        self.raise_marks(self.state.marks.after(spec, ordered))
        in_time, late = self._split(fresh)
        panes = self._arrived(in_time)
        replays = ordered.height - fresh.height
        counts = Counts(ordered.height, applied=in_time.height, replays=replays, late=late.height)
        return replace(self._nothing, panes=panes, late=late, counts=counts)

    def _split(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        clocks, spec = self.state.clocks, self.plan.entry
        if not clocks.finished and not self._any_behind(rows):
            return rows, self._nothing.late
        if clocks.finished:
            late, reason = rows, "finished"
        else:
            behind = (
                pl.col(TIME) < clocks.watermark
                if clocks.watermark is not None and spec.time_columns
                else pl.lit(False)
            )
            late, reason = rows.filter(behind), "behind"
        if late.is_empty():
            return rows, self._nothing.late
        columns = late_columns(self.plan.late_schema, {REASON: pl.lit(reason), **NO_WINDOWS}, clocks)
        late_rows = arrival.in_order(spec, late).select(columns)
        return (rows.clear() if clocks.finished else rows.filter(~behind)), late_rows

    def _any_behind(self, rows: pl.DataFrame) -> bool:
        """Returns whether a row can be late before the end of input."""
        watermark = self.state.clocks.watermark
        if watermark is None or not self.plan.entry.time_columns:
            return False
        first = rows[TIME].min()
        return isinstance(first, int) and first < watermark

    def _in_arrival_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        return arrival.in_order(self.plan.entry, arrival.placed(rows))

    @abstractmethod
    def _arrived(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Applies rows that are in time, in arrival order. Returns the emitted rows."""
