"""What operators that pair rows of two sides have in common: the steps of a batch, and the state after it.

It tests rows for replays and lateness. What is done with the applied rows is left to the operator.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import TIME
from panewise.engine.ingest.output import Output
from panewise.engine.join.batch.arrival import Arrived, arrived
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.state import JoinState
from panewise.engine.join.two_sides import TwoSidedOperator
from panewise.engine.kernels.frames import output_key
from panewise.engine.store.stored_table import sealed_if_long
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT


class PairingEngine(TwoSidedOperator):
    """An operator that emits pairs of rows of two sides."""

    spec: JoinOperator
    plan: JoinPlan
    state: JoinState

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

    @abstractmethod
    def horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table."""

    @abstractmethod
    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which something is emitted or expires."""

    @abstractmethod
    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows (semantics 40.4)."""

    def shown(self, stored: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Returns stored rows of the sides, each as the window [t, t + 1), with the keys of the left side.

        Without event times the windows have no bounds. The last column names the side: `input`, or `__input`
        if a key has that name.
        """
        names = self.spec.keys
        of_side = "__input" if "input" in names else "input"
        rows = []
        for side, waiting in stored.items():
            port = self.plan.ports[side]
            keys = zip(port.keys, names, strict=True) if names else ()
            shown = [output_key(mine, port.stored[mine]).alias(name) for mine, name in keys]
            # A column, and no literal: without keys a select of literals alone has a row.
            time = pl.when(pl.lit(bool(port.entry.time_columns))).then(pl.col(TIME))
            rows.append(waiting.select(*shown, time.alias("window_start"), pl.lit(side).alias(of_side)))
        start = pl.col("window_start")
        end = pl.when(start < MAX_INSTANT).then(start + 1).otherwise(start)
        columns = {"window_end": end, "pending": pl.lit(1, dtype=pl.Int64), "closed": pl.lit(False)}
        both = pl.concat(rows).with_columns(value.alias(name) for name, value in columns.items())
        both = both.select(pl.exclude(of_side), of_side)
        return both.sort(["window_end", "window_start", *names], nulls_last=False, maintain_order=True)

    @abstractmethod
    def _joined(self, batch: Arrived) -> Iterator[pl.DataFrame]:
        """Joins the rows of a batch, moves the clocks, and returns what is emitted: a piece at least."""

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

    def _set(self, state: JoinState) -> None:
        """Replaces the state, and expires its tables by its clocks.

        Rows are sealed in runs only after that. So rows that expire in the step in which they arrive are not.
        """
        horizons = self.horizons(state.clocks)
        expired = {name: table.expired(horizons[name]) for name, table in state.tables.items()}
        self.state = state.with_tables({name: sealed_if_long(table) for name, table in expired.items()})
