"""What operators share that emit input rows, and apply each row that is in time: OVER and deduplication."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from panewise.engine.columns import REASON, TIME
from panewise.engine.ingest import arrival
from panewise.engine.ingest.input_state import S, SingleInput, UncombinedOperator
from panewise.engine.ingest.late_output import NO_WINDOWS, late_columns
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import latest_of
from panewise.families import INPUT


class RowsInTime(UncombinedOperator, SingleInput[S]):
    """An operator for which a row is late if its time is behind the watermark (semantics 29.3, 45.11).

    A subclass has an empty output in the attribute `_nothing`.
    """

    _nothing: Output

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive the watermark."""
        return self.plan.row_driven_inputs is not None

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves both clocks together, then emits what is due.

        `source` has the same meaning as for :class:`panewise.engine.windows.operator.WindowEngine`.
        """
        return self._tick(self.state.clocks.moved(self.plan.entry, processing_time, watermark, source))

    def finish(self, port: str | None = None) -> Output:
        """Ends the input: all waiting rows are emitted."""
        return self._tick(replace(self.state.clocks, finished=True))

    def add(self, rows: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds a batch of rows. After the end of input all are late, with the reason `finished`."""
        validated = self.plan.validate(rows, self.state.clocks.processing_time)
        output = self.add_valid(validated.valid)
        latest = (
            {}
            if self.plan.row_driven_inputs is None
            else latest_of(self.plan.row_driven_inputs, validated.valid)
        )
        panes = pl.concat([output.panes, self.advance_inputs(latest).panes]) if latest else output.panes
        counts = output.counts + Counts(rows_in=validated.invalid.height, invalid=validated.invalid.height)
        return replace(output, panes=panes, invalid=validated.invalid, counts=counts)

    def advance_inputs(self, latest: Mapping[str, int], port: str = INPUT) -> Output:
        """Moves the watermarks of inputs by the highest event times of their rows (semantics 12.9)."""
        assert self.plan.row_driven_inputs is not None
        return self._tick(self.state.clocks.moved_by_rows(self.plan.row_driven_inputs, latest))

    def add_valid(self, valid: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds rows that the port has validated."""
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
        """Returns the rows that are in time, and the rows of the late output."""
        clocks, spec = self.state.clocks, self.plan.entry
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
        late_output = arrival.in_order(spec, late).select(columns)
        return (rows.clear() if clocks.finished else rows.filter(~behind)), late_output

    def _in_arrival_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of a batch in arrival order (semantics 3)."""
        return arrival.in_order(self.plan.entry, arrival.placed(rows))

    def _arrived(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Applies rows that are in time, in arrival order. Returns the emitted rows."""
        raise AssertionError("a family takes its rows")

    def _tick(self, clocks: Clocks) -> Output:
        """Moves the clocks, and emits what is due."""
        raise AssertionError("a family moves its clocks")
