"""The operator of policy windows: takes readings of the clock and batches, and emits events (semantics 10).

Rows are validated and ordered, and replays are removed, as in every operator. Then tuples are processed one
by one, because each may change what the next one finds. A step reads and writes only the partitions that it
concerns, unless a policy or a marker concerns all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from panewise.engine.columns import END, LATE_BY, MISSED_WINDOWS, ONE_KEY, PARTIAL, PLACE, REASON, TUPLES
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.policy import events
from panewise.engine.policy.listeners import ListenerLog
from panewise.engine.policy.partitions import Partitions
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.pool import Tuples, bare, comparable
from panewise.engine.policy.validate import is_marker, split
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.run import MemoryLibrary
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windows.operator import Operator, State
from panewise.spec import StreamWindow
from panewise.spec.operators.policy.events import counts_all
from panewise.spec.operators.policy.policies import DeltaPolicy

_Work = Callable[[Partitions], None]


class PolicyOperator(Operator):
    """An operator of policy windows on Polars frames.

    Args:
        spec: the specification.
        schema: types of the input columns.

    Raises:
        SpecError: if a column is missing, or has a type that the specification cannot use.
    """

    def __init__(self, spec: StreamWindow, schema: Mapping[str, pl.DataType]) -> None:
        super().__init__(spec.intake, schema)
        self.spec, self.policies = spec, PolicyPlan(spec, schema)
        self.state = State(StoredTable.nothing(self.policies.shape, MemoryLibrary()), Clocks.of(spec.intake))
        self._nothing = Output.nothing(
            self.policies.pane_schema, self.plan.late_schema, self.plan.invalid_schema
        )

    @property
    def pane_schema(self) -> dict[str, pl.DataType]:
        """The columns of the panes, which are events."""
        return self.policies.pane_schema

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Reads the clock, and raises the events that are due. A watermark is ignored."""
        if processing_time is None:
            return self._nothing
        now = max(self.state.clocks.processing_time, processing_time)
        self.state = replace(self.state, clocks=replace(self.state.clocks, processing_time=now))
        return self._due()

    def finish(self) -> Output:
        """Ends the input: every partition is purged, and raises FINAL."""
        if self.state.clocks.finished:
            return self._nothing
        output = self._all(self._begun(Partitions.finish))
        self.state = replace(self.state, clocks=replace(self.state.clocks, finished=True))
        return output

    def evict(self, partition: Mapping[str, Any]) -> Output:
        """Evicts the partition with these values of `partition_by`, if it exists (semantics 10.23).

        Raises:
            InputError: if the columns or the types of the values are others, or there is no `partition_by`.
        """
        found = self.state.windows.find(self.policies.named(partition))
        tuples = self._tuples(self._choices(found), self._no_rows())

        def go(partitions: Partitions) -> None:
            for number in tuples.numbers_of(self.policies, found):
                partitions.evict(number)

        return self._worked(tuples, go)

    def drain(self) -> Output:
        """Completes outstanding work, of which there never is any (semantics 10.21)."""
        return self._nothing

    def reset(self, before: State) -> Output:
        """Returns to an earlier state (semantics 10.22).

        Processing time does not go back. Events that are due at it are raised.
        """
        self.state = replace(
            before, clocks=replace(before.clocks, processing_time=self.state.clocks.processing_time)
        )
        self.changed = True
        return self._work(self._choices(self._overdue()), Partitions.due)

    def reset_to_initial(self) -> Output:
        """Returns to the state before the first tuple, except for processing time (semantics 10.22)."""
        everything = self.state.windows.all()
        self._store(everything.clear(), bare(self.policies, everything))
        self.state = State(self.state.windows, self.state.clocks)
        return self._nothing

    def held(self) -> pl.DataFrame:
        """Returns the stored partitions.

        The columns are the keys, window_start and window_end (null), pending (how many tuples), and closed.
        """
        keys = self.policies.shown_keys if self.policies.spec.partition_by else []
        bounds = [pl.lit(None, dtype=pl.Int64).alias(name) for name in ("window_start", "window_end")]
        pending = pl.col(TUPLES).list.len().cast(pl.Int64).alias("pending")
        shown = self.state.windows.all().select(*keys, *bounds, pending, pl.lit(False).alias("closed"))
        return shown.sort(self.policies.spec.partition_by, nulls_last=False) if keys else shown

    def _evaluated(self, rows: pl.DataFrame) -> Output:
        """Processes rows, which are in arrival order and contain no replays."""
        if self.state.clocks.finished:
            return self._too_late(rows)
        taken, refused = split(self.policies, rows)
        output = self._inserted(taken)
        invalid = refused.select(self._placed_invalid)
        counts = Counts(rows_in=rows.height, applied=taken.height, invalid=refused.height)
        return replace(output, late=pl.DataFrame(schema=self._late_columns), invalid=invalid, counts=counts)

    @property
    def _placed_invalid(self) -> list[str]:
        return [*self.plan.invalid_schema, PLACE]

    def _too_late(self, rows: pl.DataFrame) -> Output:
        made = {
            REASON: pl.lit("finished"),
            MISSED_WINDOWS: pl.lit([]),
            LATE_BY: pl.lit(None),
            PARTIAL: pl.lit(False),
        }
        late = rows.select(
            made.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in self._late_columns.items()
        )
        invalid = (
            rows.clear()
            .with_columns(pl.lit(None, dtype=pl.String).alias(REASON))
            .select(self._placed_invalid)
        )
        return replace(
            self._nothing, late=late, invalid=invalid, counts=Counts(rows_in=rows.height, late=rows.height)
        )

    def _inserted(self, rows: pl.DataFrame) -> Output:
        if rows.is_empty():
            return self._nothing
        markers = rows.select(pl.repeat(False, pl.len()) | is_marker(self.policies)).to_series()
        came = rows.filter(~markers)
        trigger = self.policies.spec.trigger
        values = (
            comparable(came[trigger.column]).to_list()
            if isinstance(trigger, DeltaPolicy)
            else [None] * came.height
        )
        everything = markers.any() or counts_all(self.policies.spec.partition_eviction)
        windows = self.state.windows
        held = (
            windows.all()
            if everything
            else windows.find(came.select(self.policies.shown_keys).unique(maintain_order=True))
        )
        tuples = self._tuples(held, came)

        def take(partitions: Partitions) -> None:
            following = iter(zip(tuples.numbers, values, strict=True))
            for marks in markers.to_list():
                if marks:
                    partitions.marker()
                else:
                    partitions.insert(*next(following))

        return self._worked(tuples, self._begun(take) if markers.any() else take)

    def _due(self) -> Output:
        """Raises the events that are due at the last reading of the clock."""
        if self.state.clocks.finished:
            return self._nothing
        held = self._overdue()
        if not self.policies.spec.partition_by and held.is_empty() and self.state.windows.all().is_empty():
            return self._all(self._begun(Partitions.due))
        return self._nothing if held.is_empty() else self._work(self._choices(held), Partitions.due)

    def _choices(self, held: pl.DataFrame) -> pl.DataFrame:
        """Returns the partitions to load: all if a listener may evict any of them, else those affected."""
        spec = self.policies.spec
        return (
            self.state.windows.all()
            if spec.listener and counts_all(spec.partition_eviction) and held.height
            else held
        )

    def _overdue(self) -> pl.DataFrame:
        now = self.state.clocks.processing_time
        return self.state.windows.concerned(pl.col(END) <= now, lambda run: run.low <= now)

    def _begun(self, work: _Work) -> _Work:
        """Returns the work, with the creation of the only partition of an operator without keys before it.

        The number of this partition is 0. An operator with keys gets the work as it is.
        """
        if self.policies.spec.partition_by:
            return work

        def begin_and(partitions: Partitions) -> None:
            if not partitions.living:
                partitions.begin(0)
            work(partitions)

        return begin_and

    def _all(self, work: _Work) -> Output:
        """Does the work on all partitions."""
        return self._work(self.state.windows.all(), work)

    def _no_rows(self) -> pl.DataFrame:
        return pl.DataFrame(
            schema={**{key: pl.Int8() for key in self.policies.keys if key == ONE_KEY}, **self.plan.schema}
        )

    def _tuples(self, held: pl.DataFrame, rows: pl.DataFrame) -> Tuples:
        return Tuples.of(self.policies, held, rows, self.state.clocks.processing_time)

    def _work(self, held: pl.DataFrame, work: _Work) -> Output:
        """Does the work on stored partitions, without new rows."""
        return self._worked(self._tuples(held, self._no_rows()), work)

    def _worked(self, tuples: Tuples, work: _Work) -> Output:
        """Runs the policies, stores the partitions that are left, and returns the panes of the events."""
        plan, now = self.policies, self.state.clocks.processing_time
        log = events.log_of(plan, tuples, now)
        partitions = Partitions(plan.spec, tuples.pool(plan), log, now, self.state.tally)
        tuples.into(partitions)
        work(partitions)
        panes = events.told(plan, log, tuples, now)
        listeners = log.states if isinstance(log, ListenerLog) else {}
        self._store(tuples.put(plan, partitions, listeners), tuples.gone(plan, partitions))
        self.state = replace(self.state, tally=partitions.tally)
        return replace(self._nothing, panes=panes)
