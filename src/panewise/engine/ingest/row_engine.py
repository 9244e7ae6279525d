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

    partitions = None

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
        """Returns the rows that are in time, and the late output of the others."""
        clocks, spec, first = self.state.clocks, self.plan.entry, rows[TIME].min()
        watermark = clocks.watermark if spec.time_columns else None
        if clocks.finished:
            in_time, late, reason = rows.clear(), rows, "finished"
        elif watermark is not None and isinstance(first, int) and first < watermark:
            behind = pl.col(TIME) < watermark
            in_time, late, reason = rows.filter(~behind), rows.filter(behind), "behind"
        else:
            return rows, self._nothing.late
        columns = late_columns(self.plan.late_schema, {REASON: pl.lit(reason), **NO_WINDOWS}, clocks)
        return in_time, arrival.in_order(spec, late).select(columns)

    def _in_arrival_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        return arrival.in_order(self.plan.entry, arrival.placed(rows))

    @abstractmethod
    def _arrived(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Applies rows that are in time, in arrival order. Returns the emitted rows."""
