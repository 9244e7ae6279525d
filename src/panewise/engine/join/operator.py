"""The join operator (semantics 27, 28, 36 to 41).

It keeps the clocks of both sides, and tests rows for replays and lateness. What it does with the applied rows
is the method of its match.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.columns import TIME
from panewise.engine.ingest.output import Output
from panewise.engine.join.arrival import Arrived, arrived
from panewise.engine.join.as_of import AsOfJoin
from panewise.engine.join.by_arrival import ArrivalJoin
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.interval import IntervalJoin
from panewise.engine.join.method import Method
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.state import JoinState
from panewise.engine.join.two_sides import TwoSidedOperator
from panewise.engine.kernels.keys import output_key
from panewise.engine.protocol import Schemas
from panewise.engine.store.stored_table import sealed_if_long
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.match import AsOf, Interval, LastRows


class JoinEngine(TwoSidedOperator):
    """A join on Polars frames.

    Args:
        spec: the specification.
        schemas: the types of the columns of both sides.

    Raises:
        SpecError: if a column is missing or has a type that the specification cannot use, or if two emitted
            columns have one name.
    """

    spec: JoinOperator
    plan: JoinPlan
    state: JoinState

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        self.spec, self.plan = spec, JoinPlan.of(spec, schemas)
        self.method = method_of(self.plan)
        self.state = JoinState(self.method.tables())
        self.changed = False  # whether the tables have changed since the operator was made

    def add_together(
        self, valid: Mapping[str, pl.DataFrame], latest: Mapping[str, Mapping[str, int]]
    ) -> Iterator[Output]:
        """Adds valid rows of both sides as one batch, and moves the watermarks that rows drive (36.7).

        `latest` has the highest event times of the valid rows of all shards. There is an output for each side
        of the batch; if there are many pairs, more outputs with the rest of them follow.
        """
        highest = {side: max(of.values()) for side, of in latest.items() if of}
        batch = arrived(self.plan, self.state, valid, highest)
        return self._outputs(batch, self._joined(batch))

    def horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table."""
        return self.method.horizons(clocks)

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which something is emitted; None: nothing is."""
        return self.method.next_due(self.state)

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows (semantics 40.4)."""
        horizons = [self.state.clocks.horizon(self.spec, side) for side in self.plan.ports]
        lowest = min((MIN_INSTANT if one is None else one for one in horizons), default=MIN_INSTANT)
        if lowest == MAX_INSTANT:
            return MAX_INSTANT
        behind = self.method.furthest_behind()
        return None if None in horizons or behind is None else saturating_add(lowest, -behind)

    def live(self) -> pl.DataFrame:
        """Returns the rows that wait for a partner, of AsOf left rows only, each as the window [t, t + 1)."""
        return self.shown(self.method.waiting(self.state))

    def shown(self, stored: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Returns stored rows of the sides, each as the window [t, t + 1), with the keys of the left side."""
        names = self.spec.keys
        rows = []
        for side, waiting in stored.items():
            port = self.plan.ports[side]
            keys = zip(port.keys, names, strict=True) if names else ()
            shown = [output_key(mine, port.stored[mine]).alias(name) for mine, name in keys]
            rows.append(waiting.select(*shown, pl.col(TIME).alias("window_start")))
        start = pl.col("window_start")
        end = pl.when(start < MAX_INSTANT).then(start + 1).otherwise(start)
        columns = {"window_end": end, "pending": pl.lit(1, dtype=pl.Int64), "closed": pl.lit(False)}
        both = pl.concat(rows).with_columns(value.alias(name) for name, value in columns.items())
        return both.sort(["window_end", "window_start", *names], nulls_last=False, maintain_order=True)

    def _joined(self, batch: Arrived) -> Iterator[pl.DataFrame]:
        """Joins the rows of a batch, moves the clocks, and returns what is emitted."""
        emitted, tables = self.method.joined(self.state, batch)
        first = next(emitted)
        self.changed |= first.height > 0 or any(rows.height for rows in batch.applied.values())
        state = replace(self.state.with_tables(tables), marks=batch.marks, next_number=batch.next_number)
        self._set(replace(state, clocks=batch.clocks))
        return chain([first], emitted)

    def _outputs(self, batch: Arrived, emitted: Iterator[pl.DataFrame]) -> Iterator[Output]:
        """Yields what a batch emits, and the late rows and counts of its sides."""
        panes = next(emitted)
        for side, late in batch.late.items():
            yield replace(self._nothing(side), panes=panes, late=late, counts=batch.counts[side])
            panes = panes.clear()
        port = next(iter(batch.late), LEFT)
        for more in chain([panes], emitted):
            if more.height:
                yield replace(self._nothing(port), panes=more)

    def _moved(self, clocks: JoinClocks) -> Output:
        """Moves the clocks, and emits what is due."""
        panes = self.method.moved(self.state, clocks)
        # What was emitted must not be emitted again after a restart, whatever moves the clocks.
        self.changed |= panes.height > 0
        self._set(replace(self.state, clocks=clocks))
        return replace(self._nothing(LEFT), panes=panes)

    def _set(self, state: JoinState) -> None:
        """Replaces the state, and expires its tables by its clocks.

        Rows are sealed in runs only after that. So rows that expire in the step in which they arrive are not.
        """
        horizons = self.horizons(state.clocks)
        expired = {name: table.expired(horizons[name]) for name, table in state.tables.items()}
        self.state = state.with_tables({name: sealed_if_long(table) for name, table in expired.items()})


def method_of(plan: JoinPlan) -> Method:
    """Returns the method of a join."""
    match = plan.spec.match
    if isinstance(match, Interval):
        return IntervalJoin(plan)
    by_time = isinstance(match, AsOf) or (isinstance(match, LastRows) and match.order == "event_time")
    return AsOfJoin(plan) if by_time else ArrivalJoin(plan)
