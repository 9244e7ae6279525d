"""The method of S1's windowed stream join (semantics 37.14 to 37.19): a gate in front of windows by arrival.

The gate decides when an applied row is released. For the windows a released row is one that arrives then, and
has the number of its release: it is paired with the rows in the window of the other side, and then inserted
into that of its own side. Invariant: rows are joined in the order of their release. So each pair is found
once, by the row that is released later.

Cost: a step costs what its releases cost (:mod:`panewise.engine.join.streams.releases`), and a join of the
released rows (:mod:`panewise.engine.join.by_arrival.method`). A move of the clocks that releases no row joins
nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.join.batch.join_batch import JoinBatch, Turns
from panewise.engine.join.by_arrival.method import ArrivalJoin
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.streams.clocks import StreamsClocks, StreamsState, waiting_name
from panewise.engine.join.streams.released_rows import released_rows
from panewise.engine.join.streams.releases import ReleaseRules, Releases, none_waiting
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.instants import lowest
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.progress.clocks import highest
from panewise.engine.tables.stored_table import StoredTable
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.streams import WindowedStreams


class ReleaseGate:
    """The method of a windowed stream join: :class:`panewise.engine.join.method.Method`."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan, self.spec, match = plan, plan.spec, plan.spec.match
        assert isinstance(match, WindowedStreams)
        self.match, self.rules = match, ReleaseRules(plan, match)
        self.join = ArrivalJoin(plan, released_rows(plan.ports, match))

    def tables(self) -> dict[str, StoredTable]:
        """Returns the tables of released rows, and of rows that wait for their release."""
        waiting = {waiting_name(side): none_waiting(port) for side, port in self.plan.ports.items()}
        return self.join.tables() | waiting

    def table_horizons(self, clocks: JoinClocks) -> dict[str, int | None]:
        """Returns the horizon of each table. Rows that wait do not expire."""
        assert isinstance(clocks, StreamsClocks)
        horizons = {side: clocks.table_horizon(self.spec, side) for side in self.plan.ports}
        return horizons | {waiting_name(side): None for side in self.plan.ports}

    def add(self, state: JoinState, batch: JoinBatch) -> tuple[Iterator[pl.DataFrame], StreamsState]:
        """Releases rows of a batch and rows that wait, and joins them."""
        assert isinstance(state, StreamsState)
        releases = self.rules.by_batch(state, batch)
        clocks = state.clocks.with_sides(batch.clocks.sides)  # rows move nothing else
        return self._join(state, releases, batch.watermarks, clocks)

    def advance(self, state: JoinState, clocks: JoinClocks) -> tuple[pl.DataFrame, StreamsState]:
        """Moves the clocks, and joins the rows that they release."""
        assert isinstance(state, StreamsState)
        assert isinstance(clocks, StreamsClocks)
        releases = self.rules.by_clocks(state, clocks)
        if not releases.evaluations.size:
            return pl.DataFrame(schema=self.plan.pane_schema), state.after(releases.tables, clocks)
        watermarks = {
            side: np.array([MIN_INSTANT if clock.watermark is None else clock.watermark])
            for side, clock in clocks.sides.items()
        }
        emitted, after = self._join(state, releases, Turns(watermarks, watermarks), clocks)
        return vstack_frames([*emitted]), after

    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` may lie behind the rows that are still to be released; None: any."""
        sizes = {side: window.size for side, window in self.match.windows.items()}
        known: dict[str, list[int | None]] = {"later": [0], LEFT: [sizes[LEFT]], RIGHT: [sizes[RIGHT]]}
        behind = known.get(str(self.spec.timestamp), [*sizes.values()])
        return None if None in behind else highest(behind)

    def next_due(self, state: JoinState) -> int | None:
        """Returns the first watermark that completes the window of a row that waits."""
        assert isinstance(state, StreamsState)
        return lowest(least.complete for least in state.clocks.waiting.values())

    def _join(
        self, state: StreamsState, releases: Releases, watermarks: Turns, clocks: StreamsClocks
    ) -> tuple[Iterator[pl.DataFrame], StreamsState]:
        """Joins released rows. Returns what is emitted, and the state after the step."""
        clocks = replace(clocks, waiting=releases.waiting)
        emitted, after_join = self.join.add(state, releases.batch(state, watermarks, clocks))
        after = replace(state, next_release=releases.first + releases.evaluations.size)
        return emitted, after.after({**after_join.tables, **releases.tables}, clocks)
