"""The operator of joins (semantics 27, 28, 36 to 41), for all matches that have a method.

It tests rows for replays and lateness. The method of the match stores the applied rows, and joins them.

Invariant: a step replaces the state as a whole, and tables never change. So pairs may be made when they are
requested, from the tables as they were before the step.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import polars as pl

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.engine.columns import TIME
from panewise.engine.ingest.output import Output
from panewise.engine.join.batch.emission import matches_name, without_partner
from panewise.engine.join.batch.join_batch import JoinBatch, join_batch
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.match_engine import match_engine
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.two_sides import JoinState, TwoSidedOperator, highest_times
from panewise.engine.kernels.instants import lowest_of_known, shifted
from panewise.engine.kernels.small_frames import output_key
from panewise.engine.protocol import Schemas
from panewise.engine.tables.stored_table import sealed_if_long
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, OTHER


class JoinEngine(TwoSidedOperator):
    """A join on Polars frames."""

    spec: JoinOperator
    plan: JoinPlan
    state: JoinState

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        plan, of_match = JoinPlan.compile(spec, schemas), match_engine(spec.match)
        self.method = of_match.method(plan)
        self._late_rows, self._live = of_match.late_rows(spec.match), of_match.live
        self._behind = self.method.furthest_behind()
        super().__init__(spec, plan, of_match.state(self.method.tables()))

    def horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table."""
        return self.method.table_horizons(clocks)

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which something is emitted; None: nothing is."""
        return self.method.next_due(self.state)

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows (semantics 40.4)."""
        clocks = self.state.clocks
        if all(clocks.none_to_come(self.spec, side) for side in self.plan.ports):
            return MAX_INSTANT
        behind = self._behind
        first = lowest_of_known(clocks.lowest(self.spec, side) for side in OTHER)
        return None if first is None or behind is None else saturating_add(first, -behind)

    def live(self) -> pl.DataFrame:
        """Returns the rows of :meth:`live_rows`.

        Each is the window [t, t + 1), with the keys of the left side. Without event times the windows have no
        bounds. The last column names the side: `input`, or `__input` if a key has that name.
        """
        names = self.spec.keys
        of_side = "__input" if "input" in names else "input"
        rows = []
        for side, live in self.live_rows():
            port = self.plan.ports[side]
            keys = zip(port.keys, names, strict=True) if names else ()
            shown = [output_key(mine, port.stored[mine]).alias(name) for mine, name in keys]
            # A column, and no literal: without keys a select of literals alone has a row.
            time = pl.when(pl.lit(bool(port.entry.time_columns))).then(pl.col(TIME))
            rows.append(live.select(*shown, time.alias("window_start"), pl.lit(side).alias(of_side)))
        end = shifted(pl.col("window_start"), 1)
        columns = {"window_end": end, "pending": pl.lit(1, dtype=pl.Int64), "closed": pl.lit(False)}
        both = pl.concat(rows).with_columns(value.alias(name) for name, value in columns.items())
        both = both.select(pl.exclude(of_side), of_side)
        return both.sort(["window_end", "window_start", *names], nulls_last=False, maintain_order=True)

    def live_rows(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yields by side keys, time and number of the stored rows that wait for a partner.

        With semi and anti a left row that had a partner gets no other.
        """
        had_one = self.spec.how in ("semi", "anti") and matches_name(LEFT) in self.state.tables
        for side, live in self._live(self.spec, self.state.clocks, self._read):
            yield side, without_partner(self.state, LEFT, live) if had_one and side == LEFT else live

    def _read(self, table: str, columns: list[str], *of_runs: object) -> pl.DataFrame:
        """Reads a table of the state, which needs nothing that only runs do: nothing in it has expired."""
        return self.state.tables[table].all().select(columns)

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterator[Output]:
        """Adds valid rows of both sides as one batch, and moves the watermarks that rows drive (36.7).

        `latest` has the highest event times of the valid rows of all shards. There is an output for each side
        of the batch; if there are many pairs, more outputs with the rest of them follow.
        """
        batch = join_batch(self.plan, self.state, valid, highest_times(latest), self._late_rows)
        sides = ((self._nothing[side], late, batch.counts[side]) for side, late in batch.late.items())
        outputs = [replace(nothing, late=late, counts=counts) for nothing, late, counts in sides]
        return self._with_panes(outputs, self._added(batch))

    def _added(self, batch: JoinBatch) -> Iterator[pl.DataFrame]:
        """Adds the rows of a batch, and moves the clocks. Returns what is emitted: a piece at least."""
        emitted, state = self.method.add(self.state, batch)
        first = next(emitted)
        self.changed |= first.height > 0 or any(rows.height for rows in batch.applied.values())
        self._set(replace(state, marks=batch.marks, next_number=batch.next_number))
        return chain([first], emitted)

    def _moved(self, clocks: JoinClocks) -> Output:
        panes, state = self.method.advance(self.state, clocks)
        # What was emitted must not be emitted again after a restart, whatever moves the clocks.
        tables = self.state.tables
        self.changed |= panes.height > 0 or any(state.tables[name] is not tables[name] for name in tables)
        self._set(state)
        return replace(self._nothing[LEFT], panes=panes)

    def _set(self, state: JoinState) -> None:
        """Replaces the state, and expires its tables by its clocks.

        Rows are sealed in runs only after that. So rows that expire in the step in which they arrive are not.
        """
        horizons = self.horizons(state.clocks)
        expired = {name: table.expired(horizons[name]) for name, table in state.tables.items()}
        self.state = state.with_tables({name: sealed_if_long(table) for name, table in expired.items()})
