"""The operator of joins (semantics 27, 28, 36 to 41). The method of its match does the joining."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.ingest.output import Output
from panewise.engine.join.batch.arrival import Arrived
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.match_engine import match_engine
from panewise.engine.join.method import Method
from panewise.engine.join.pairing import PairingEngine
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.state import JoinState
from panewise.engine.protocol import Schemas
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT


class JoinEngine(PairingEngine):
    """A join on Polars frames.

    Args:
        spec: the specification.
        schemas: the types of the columns of both sides.

    Raises:
        SpecError: if a column is missing or has a type that the specification cannot use, or if two emitted
            columns have one name.
    """

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        self.spec, self.plan = spec, JoinPlan.of(spec, schemas)
        self.method: Method = match_engine(spec.match).method(self.plan)
        self.state = JoinState(self.method.tables())
        self.changed = False  # whether the tables have changed since the operator was made

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

    def _joined(self, batch: Arrived) -> Iterator[pl.DataFrame]:
        """Joins the rows of a batch, moves the clocks, and returns what is emitted."""
        emitted, tables = self.method.joined(self.state, batch)
        first = next(emitted)
        self.changed |= first.height > 0 or any(rows.height for rows in batch.applied.values())
        state = replace(self.state.with_tables(tables), marks=batch.marks, next_number=batch.next_number)
        self._set(replace(state, clocks=batch.clocks))
        return chain([first], emitted)

    def _moved(self, clocks: JoinClocks) -> Output:
        """Moves the clocks, and emits what is due."""
        panes, tables = self.method.moved(self.state, clocks)
        # What was emitted must not be emitted again after a restart, whatever moves the clocks.
        self.changed |= panes.height > 0 or len(tables) > 0
        self._set(replace(self.state.with_tables(tables), clocks=clocks))
        return replace(self._nothing(LEFT), panes=panes)
