"""The OVER operator: emits its input rows with new columns (semantics 29).

It works in steps, as :class:`~panewise.engine.windows.operator.WindowEngine` does. A row is stored until it
passes. All rows that pass in a step are computed together, from a
:class:`~panewise.engine.over.sequences.Sequences`. A step costs as much as the rows that pass, the rows that
are stored for the frames of their keys, and the rows that leave ranges.
"""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, ROW_COUNT, ROW_NUMBER, STORED_TIME, TIME, UNEMITTED
from panewise.engine.ingest.output import Output
from panewise.engine.ingest.row_engine import RowEngine
from panewise.engine.kernels.small_frames import distinct, join_frames, output_key
from panewise.engine.over import retention
from panewise.engine.over.order import emitted_in_order, in_arrival_order, in_each_direction, passing_in_order
from panewise.engine.over.plan import OverPlan, passed_until
from panewise.engine.over.ranges import Span, blocks_of, sequences_of_range
from panewise.engine.over.sequences import PassingRows, Sequences
from panewise.engine.over.state import OverState
from panewise.engine.over.values import values
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.spec import OverOperator


class OverEngine(RowEngine[OverPlan, OverState]):
    """An OVER operator on Polars frames.

    Args:
        spec: the specification.
        schema: types of the input columns, as for :class:`panewise.engine.windows.operator.WindowEngine`.

    Raises:
        SpecError: if a column is missing or occurs twice, or has a type that the specification cannot use.
    """

    def __init__(self, spec: OverOperator, schema: Mapping[str, pl.DataType]) -> None:
        plan = OverPlan(spec, schema)
        super().__init__(spec, plan, OverState.empty(plan))

    def horizons(self, clocks: Clocks) -> dict[str, int | None]:
        """Returns the horizon of each table at these clocks, None if it has none (semantics 29.2, 29.9).

        Rows with a time at or before the horizon of their table have expired.
        """
        passed = passed_until(self.plan.spec, clocks)
        if passed is None or clocks.finished:
            return dict.fromkeys(self.state.tables, passed)
        recent, reach = (max(MIN_INSTANT, passed - us) for us in (self.plan.us_back, self.plan.reach))
        known = {"waiting": passed, "recent": recent, "running": None, "passed": reach, "blocks": reach}
        return {name: known[name] for name in self.state.tables}

    def output_watermark(self) -> int | None:
        """Returns the earliest event time of the rows that are emitted later, None if it is not known yet.

        If rows wait for rows after them (semantics 29.8), their event times are read.
        """
        passed = passed_until(self.plan.spec, self.state.clocks)
        if passed is None:
            return None
        after = min(MAX_INSTANT, passed + 1)
        earliest = self.live()["window_start"].min() if self.plan.ahead else None
        return min(after, earliest) if isinstance(earliest, int) else after

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which a row passes; None if no row waits."""
        if self.plan.spec.event_time is None or self.state.clocks.finished:
            return None
        first = self.state.waiting.next_end(self.state.waiting.horizon)
        due = None if first is None else first + self.plan.us_ahead + 1
        return None if due is None or due > MAX_INSTANT else due

    def live(self) -> pl.DataFrame:
        """Returns the rows that have not been emitted, each as the window [t, t + 1).

        The columns are the keys, window_start, window_end, pending and closed.
        """
        rows = [self.state.waiting.all().select(*self.plan.keys, END)]
        if self.plan.ahead:
            recent = self.state.recent.all()
            last = pl.col(ROW_NUMBER) > pl.col(ROW_NUMBER).max().over(self.plan.keys) - self.plan.ahead
            if self.plan.waiting_for_values:
                counts = self.state.running.all().select(*self.plan.keys, ROW_COUNT, UNEMITTED)
                recent = join_frames(recent, counts, self.plan.keys)
                last = pl.col(ROW_NUMBER) >= pl.col(ROW_COUNT) - pl.col(UNEMITTED)
            timed = pl.col(STORED_TIME) if STORED_TIME in recent.columns else pl.col(END)
            rows.append(recent.filter(last).select(*self.plan.keys, timed.alias(END)))
        start = pl.lit(None, dtype=pl.Int64) if self.plan.spec.event_time is None else pl.col(END)
        end = pl.when(start < MAX_INSTANT).then(start + 1).otherwise(start)
        keys = [output_key(name, self.plan.schema[name]).alias(name) for name in self.plan.spec.keys]
        columns = {
            "window_start": start,
            "window_end": end,
            "pending": pl.lit(1, dtype=pl.Int64),
            "closed": pl.lit(False),
        }
        output = pl.concat(rows).with_columns(value.alias(name) for name, value in columns.items())
        output = output.select(*keys, *columns)
        return output.sort(["window_end", "window_start", *self.plan.spec.keys], nulls_last=False)

    def _in_arrival_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        return in_arrival_order(self.plan.spec, rows)

    def _arrived(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Stores rows until the watermark passes them. Without an event time they pass at once.

        Returns the emitted rows.
        """
        if rows.is_empty():
            return self._nothing.panes
        rows = rows.with_columns(pl.col(TIME).alias(END))
        if self.plan.spec.event_time is None:
            return self._passed(rows, rows.clear(), Span(None, MAX_INSTANT))
        waiting = sealed_if_long(self.state.waiting.put(rows))
        self.state, self.changed = replace(self.state, waiting=waiting), True
        return self._nothing.panes

    def _tick(self, clocks: Clocks) -> Output:
        """Moves the clocks, and passes the rows that are due."""
        before, now = self.horizons(self.state.clocks), self.horizons(clocks)
        waiting, finishes = self.state.waiting, clocks.finished and not self.state.clocks.finished
        us_ahead = 0 if clocks.finished else self.plan.us_ahead
        due, after = passing_in_order(waiting, before["waiting"], now["waiting"], us_ahead)
        due = in_each_direction(self.plan, due)
        # Rows that pass now may look back beyond the new horizons, so these are set after they have passed.
        self._expire(before)
        self.state = replace(self.state, waiting=waiting.expired(now["waiting"]), clocks=clocks)
        panes = self._nothing.panes
        if due.height or (finishes and self.plan.ahead):
            panes = self._passed(
                due, after, Span(before["waiting"], MAX_INSTANT if now["waiting"] is None else now["waiting"])
            )
        self._expire(now)
        return replace(self._nothing, panes=panes)

    def _expire(self, horizons: Mapping[str, int | None]) -> None:
        """Sets the horizons of all tables except that of the waiting rows."""
        tables = {
            name: table if name == "waiting" else table.expired(horizons[name])
            for name, table in self.state.tables.items()
        }
        self.state = self.state.with_tables(tables)

    def _passed(self, rows: pl.DataFrame, after: pl.DataFrame, span: Span) -> pl.DataFrame:
        """Computes the new columns of the rows that pass, and returns the rows that can be emitted now.

        Args:
            rows: the rows that pass, in the order of semantics 29.1.
            after: the waiting rows that ranges of these rows reach ahead to.
            span: the times of the rows that pass.
        """
        plan, state, finished = self.plan, self.state, self.state.clocks.finished
        if not plan.spec.columns:  # no row depends on another one
            self.changed = True
            return rows.select(*plan.payload)
        keys = distinct(rows, plan.keys)
        known = self._known(keys)
        if finished and plan.ahead:
            further = known.select(pl.col(name).cast(dtype) for name, dtype in keys.schema.items())
            keys = pl.concat([keys, further]).unique(maintain_order=True)
        running = state.running.find(keys) if plan.has_running else state.running.shape.no_rows
        step = PassingRows(rows, after, known, running, finished)
        sequences = Sequences(plan, step)
        computed = values(sequences, self._sequences_of_ranges(step, span, keys))
        tables = dict(state.tables)
        if plan.stores_recent:
            changes = retention.recent_rows(sequences, self.horizons(state.clocks)["recent"])
            tables["recent"] = state.recent.changed(*changes)
        if plan.has_running:
            now = retention.running(sequences, computed.running)
            tables["running"] = state.running.changed(now)
        if plan.ranges and not finished:
            tables |= self._with_passed(rows, span)
        sealed = {name: sealed_if_long(table) for name, table in tables.items() if name != "waiting"}
        self.state, self.changed = state.with_tables(sealed), True
        return emitted_in_order(sequences, computed.new)

    def _known(self, keys: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of `recent` that rows of these keys may need.

        At the end of input these are all rows, if rows wait for the rows after them: all keys are then
        emitted.
        """
        recent = self.state.recent
        if not self.plan.stores_recent:
            return recent.shape.no_rows
        everything = self.state.clocks.finished and self.plan.ahead
        return recent.all() if everything else recent.of_keys(keys, self.plan.keys)

    def _sequences_of_ranges(self, step: PassingRows, span: Span, keys: pl.DataFrame) -> list[Sequences]:
        """Returns the sequences of each job of `plan.ranges`."""
        passed, blocks = self.state.passed, self.state.blocks
        if passed is None or blocks is None:
            return []
        known = blocks.of_keys(keys, self.plan.keys)
        return [sequences_of_range(self.plan, job, step, span, passed, known) for job in self.plan.ranges]

    def _with_passed(self, rows: pl.DataFrame, span: Span) -> dict[str, StoredTable]:
        """Returns the two tables of ranges, with the rows that have passed."""
        passed, blocks = self.state.passed, self.state.blocks
        assert passed is not None
        assert blocks is not None
        more = blocks_of(self.plan, rows, span)
        return {"passed": passed.put(rows), "blocks": blocks.changed(more)}
