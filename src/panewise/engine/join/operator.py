"""The join operator (semantics 27, 28, 36 to 41).

It keeps the clocks of both sides, and tests rows for replays and lateness. What it does with the applied rows
is the method of its match.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, cast

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.columns import TIME
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.uncombined import UncombinedOperator
from panewise.engine.join.arrival import Arrived, arrived
from panewise.engine.join.as_of import AsOfJoin
from panewise.engine.join.by_arrival import ArrivalJoin
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.interval import IntervalJoin
from panewise.engine.join.method import Method
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.state import JoinState
from panewise.engine.kernels.keys import output_key
from panewise.engine.protocol import Schemas
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.match import AsOf, Interval, LastRows


class JoinEngine(UncombinedOperator):
    """A join on Polars frames.

    Args:
        spec: the specification.
        schemas: the types of the columns of both sides.

    Raises:
        SpecError: if a column is missing or has a type that the specification cannot use, or if two emitted
            columns have one name.
    """

    plan: JoinPlan
    state: JoinState

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        self.spec, self.plan = spec, JoinPlan.of(spec, schemas)
        self.method = method_of(self.plan)
        self.state = JoinState(self.method.tables())
        self.changed = False  # whether the tables have changed since the operator was made

    @property
    def clocks_are_own(self) -> bool:
        """Whether rows drive a watermark."""
        return any(port.row_driven_inputs is not None for port in self.plan.ports.values())

    def header(self) -> dict[str, Any]:
        """Returns what the state has besides tables, as JSON values."""
        return self.state.header()

    def with_header(self, header: Mapping[str, Any]) -> JoinState:
        """Returns the state with the values of a header."""
        return self.state.with_header(self.plan, header)

    def marks(self, port: str = LEFT) -> Marks:
        """Returns the replay marks of a side."""
        return self.state.marks[port]

    def raise_marks(self, marks: Marks, port: str = LEFT) -> None:
        """Replaces the replay marks of a side by those of the rows that all shards have received."""
        self.state = replace(self.state, marks={**self.state.marks, port: marks})

    def add(self, rows: pl.DataFrame, port: str = LEFT) -> Output:
        """Adds a batch of rows of one side."""
        (output,) = self.add_batch({port: rows})
        return output

    def add_batch(self, rows: Mapping[str, pl.DataFrame]) -> list[Output]:
        """Adds a batch with rows of one side or of both. Returns an output for each side in it."""
        now = self.state.clocks.processing_time
        validated = {side: self.plan.ports[side].validate(one, now) for side, one in rows.items()}
        valid = {side: one.valid for side, one in validated.items()}
        latest = {side: {"all": cast(int, one[TIME].max())} for side, one in valid.items() if one.height}
        found: dict[str, list[Output]] = {side: [] for side in rows}
        for output in self.add_together(valid, latest):
            found[output.port].append(output)
        outputs = []
        for side, of_side in found.items():
            output, invalid = Output.joined(of_side), validated[side].invalid
            counts = output.counts + Counts(rows_in=invalid.height, invalid=invalid.height)
            columns = list(self.plan.ports[side].invalid_schema)
            outputs.append(replace(output, invalid=invalid.select(columns), counts=counts))
        return outputs

    def add_valid(self, valid: pl.DataFrame, port: str = LEFT) -> Output:
        """Adds rows of one side that its port found valid. Watermarks do not move."""
        return Output.joined([*self.add_together({port: valid}, {})])

    def advance_inputs(self, latest: Mapping[str, int], port: str = LEFT) -> Output:
        """Moves the watermark that the rows of a side drive."""
        return self._moved(self.state.clocks.moved_by_rows(self.spec, {port: max(latest.values())}))

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

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Moves the clocks. `source` is the side that reports the watermark; None: both do."""
        return self._moved(self.state.clocks.moved(self.spec, processing_time, watermark, source))

    def finish(self, port: str | None = None) -> Output:
        """Ends the input of a side, or of both."""
        return self._moved(self.state.clocks.ended(port))

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
        names = self.spec.keys
        rows = []
        for side, waiting in self.method.waiting(self.state).items():
            port = self.plan.ports[side]
            keys = zip(port.keys, names, strict=True) if names else ()
            shown = [output_key(mine, port.stored[mine]).alias(name) for mine, name in keys]
            rows.append(waiting.select(*shown, pl.col(TIME).alias("window_start")))
        start = pl.col("window_start")
        end = pl.when(start < MAX_INSTANT).then(start + 1).otherwise(start)
        columns = {"window_end": end, "pending": pl.lit(1, dtype=pl.Int64), "closed": pl.lit(False)}
        both = pl.concat(rows).with_columns(value.alias(name) for name, value in columns.items())
        return both.sort(["window_end", "window_start", *names], nulls_last=False, maintain_order=True)

    def _nothing(self, side: str) -> Output:
        port = self.plan.ports[side]
        nothing = Output.nothing(self.plan.pane_schema, port.late_schema, port.invalid_schema)
        return replace(nothing, port=side)

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
        """Replaces the state, and expires its tables by its clocks."""
        horizons = self.method.horizons(state.clocks)
        self.state = state.with_tables(
            {name: table.expired(horizons[name]) for name, table in state.tables.items()}
        )


def method_of(plan: JoinPlan) -> Method:
    """Returns the method of a join."""
    match = plan.spec.match
    if isinstance(match, Interval):
        return IntervalJoin(plan)
    by_time = isinstance(match, AsOf) or (isinstance(match, LastRows) and match.order == "event_time")
    return AsOfJoin(plan) if by_time else ArrivalJoin(plan)
