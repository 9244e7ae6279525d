"""The operator of policy windows: takes readings of the clock and batches, and emits events (semantics 10).

Rows are validated and ordered, and replays are removed, as in every operator. Then tuples are processed one
by one in Python, because each may change the partitions that the next one finds.

Invariant: between steps the table has all partitions, each with the first processing time at which something
is due in it. So a reading of the clock finds the partitions that are due, and reads no others. Cost: a step
reads and writes the partitions of its tuples, or those that are due; all of them if a policy or a marker
concerns all. It then costs constant time for each tuple that is inserted or evicted
(:mod:`panewise.engine.policy.partitions`), and what its panes cost (:mod:`panewise.engine.policy.events`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import polars as pl

from panewise.engine.columns import END, ONE_KEY, PLACE, REASON, TUPLES
from panewise.engine.ingest import arrival
from panewise.engine.ingest.input_state import SingleInput, UncombinedOperator
from panewise.engine.ingest.late_output import NO_WINDOWS, late_columns
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.ingest.validate import all_valid
from panewise.engine.policy import events
from panewise.engine.policy.listeners import ListenerLog
from panewise.engine.policy.partitions import Partitions
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.pool import Tuples, comparable
from panewise.engine.policy.state import PolicyState
from panewise.engine.policy.validate import is_marker, split
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.spec import StreamWindow
from panewise.spec.operators.panes import BOUNDS
from panewise.spec.operators.policy.events import counts_all
from panewise.spec.operators.policy.policies import DeltaPolicy

_Policies = Callable[[Partitions], None]


class PolicyEngine(UncombinedOperator, SingleInput[PolicyPlan, PolicyState]):
    """An operator of policy windows on Polars frames."""

    def __init__(self, spec: StreamWindow, schema: Mapping[str, pl.DataType]) -> None:
        plan = PolicyPlan(spec, schema)
        partitions = StoredTable.nothing(plan.shape)
        super().__init__(spec, plan, PolicyState(partitions=partitions, clocks=Clocks.initial(spec.tuples)))

    @property
    def partitions(self) -> Self:
        """The operations on partitions: the operator itself has the methods."""
        return self

    def horizons(self, clocks: Clocks) -> dict[str, int | None]:
        """Returns that no partition expires by the clocks."""
        return dict.fromkeys(self.state.tables)

    def next_due(self) -> None:
        """Returns None: nothing waits for a watermark."""
        return

    def output_watermark(self) -> None:
        """Returns None: events have no event time."""
        return

    def _added(self, valid: pl.DataFrame) -> Output:
        """Adds rows that may be replays. Invalid rows in the output have their place."""
        ordered = arrival.in_order(self.plan.entry, arrival.placed(valid))
        fresh = self.state.marks.without_replays(self.plan.entry, ordered)
        self.raise_marks(self.state.marks.after(self.plan.entry, ordered))
        output, replays = self._added_rows(fresh), ordered.height - fresh.height
        return replace(output, counts=output.counts + Counts(rows_in=replays, replays=replays))

    def advance(
        self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None
    ) -> Output:
        """Reads the clock, and raises the events that are due. A watermark is ignored."""
        if processing_time is None:
            return self._nothing
        now = max(self.state.clocks.processing_time, processing_time)
        return self._tick(replace(self.state.clocks, processing_time=now))

    def finish(self, port: str | None = None) -> Output:
        """Ends the input: every partition is purged, and raises FINAL."""
        if self.state.clocks.finished:
            return self._nothing
        output = self._run_on_all(self._with_only_partition(Partitions.finish))
        self.state = replace(self.state, clocks=replace(self.state.clocks, finished=True))
        return output

    def evict(self, partition: Mapping[str, Any]) -> Output:
        """Evicts the partition with these values of `partition_by`, if it exists (semantics 10.23)."""
        stored = self.state.partitions.find(self.plan.named(partition))
        tuples = self._tuples(self._choices(stored), self._no_rows())

        def evict_partition(partitions: Partitions) -> None:
            for number in tuples.numbers_of(self.plan, stored):
                partitions.evict(number)

        return self._run(tuples, evict_partition)

    def live(self) -> pl.DataFrame:
        """Returns the stored partitions.

        The columns are the keys, window_start and window_end (null), pending (how many tuples), and closed.
        """
        keys = self.plan.output_keys if self.plan.spec.partition_by else []
        bounds = [pl.lit(None, dtype=pl.Int64).alias(name) for name in BOUNDS]
        pending = pl.col(TUPLES).list.len().cast(pl.Int64).alias("pending")
        output = self.state.partitions.all().select(*keys, *bounds, pending, pl.lit(False).alias("closed"))
        return output.sort(self.plan.spec.partition_by, nulls_last=False) if keys else output

    def _added_rows(self, rows: pl.DataFrame) -> Output:
        if self.state.clocks.finished:
            own_columns = {REASON: pl.lit("finished"), **NO_WINDOWS}
            late = rows.select(late_columns(self.plan.late_schema, own_columns, self.state.clocks))
            invalid = all_valid(rows)[1].select(*self.plan.invalid_schema, PLACE)
            counts = Counts(rows_in=rows.height, late=rows.height)
            return replace(self._nothing, late=late, invalid=invalid, counts=counts)
        accepted, refused = split(self.plan, rows)
        output = self._inserted(accepted)
        counts = Counts(rows_in=rows.height, applied=accepted.height, invalid=refused.height)
        return replace(output, invalid=refused.select(*self.plan.invalid_schema, PLACE), counts=counts)

    def _inserted(self, rows: pl.DataFrame) -> Output:
        """Processes rows, which are markers or tuples, one after another.

        All partitions are read if there is a marker, or if a limit counts partitions or tuples.
        """
        if rows.is_empty():
            return self._nothing
        markers = rows.select(pl.repeat(False, pl.len()) | is_marker(self.plan)).to_series()
        new_tuples = rows.filter(~markers)
        values = self._compared(new_tuples)
        everything = markers.any() or counts_all(self.plan.spec.partition_eviction)
        keys = new_tuples.select(self.plan.output_keys).unique(maintain_order=True)
        stored = self.state.partitions.all() if everything else self.state.partitions.find(keys)
        tuples = self._tuples(stored, new_tuples)

        def process(partitions: Partitions) -> None:
            following = iter(zip(tuples.numbers, values, strict=True))
            for marker in markers.to_list():
                if marker:
                    partitions.marker()
                else:
                    partitions.insert(*next(following))

        return self._run(tuples, self._with_only_partition(process) if markers.any() else process)

    def _compared(self, tuples: pl.DataFrame) -> list[Any]:
        """Returns for each tuple the value that the trigger compares, None if it compares none."""
        trigger = self.plan.spec.trigger
        if isinstance(trigger, DeltaPolicy):
            return comparable(tuples[trigger.column]).to_list()
        return [None] * tuples.height

    def _tick(self, clocks: Clocks) -> Output:
        self.state = replace(self.state, clocks=clocks)
        if clocks.finished:
            return self._nothing
        overdue = self._overdue()
        if not self.plan.spec.partition_by and overdue.is_empty() and self.state.partitions.all().is_empty():
            return self._run_on_all(self._with_only_partition(Partitions.due))
        return self._nothing if overdue.is_empty() else self._run_on(self._choices(overdue), Partitions.due)

    def _choices(self, stored: pl.DataFrame) -> pl.DataFrame:
        """Returns the partitions to load: all if a listener may evict any of them, else those affected."""
        spec = self.plan.spec
        all_matter = spec.listener and counts_all(spec.partition_eviction) and stored.height
        return self.state.partitions.all() if all_matter else stored

    def _overdue(self) -> pl.DataFrame:
        """Returns the stored partitions in which something is due at the last reading of the clock."""
        now = self.state.clocks.processing_time
        return self.state.partitions.select(pl.col(END) <= now, lambda run: run.low <= now)

    def _with_only_partition(self, policies: _Policies) -> _Policies:
        """Returns the policies, preceded by the creation of the only partition of an operator without keys.

        The number of this partition is 0. With keys, the policies are returned as they are.
        """
        if self.plan.spec.partition_by:
            return policies

        def begin_and(partitions: Partitions) -> None:
            if not partitions.live:
                partitions.begin(0)
            policies(partitions)

        return begin_and

    def _run_on_all(self, policies: _Policies) -> Output:
        return self._run_on(self.state.partitions.all(), policies)

    def _no_rows(self) -> pl.DataFrame:
        one_key = {key: pl.Int8() for key in self.plan.keys if key == ONE_KEY}
        return pl.DataFrame(schema={**one_key, **self.plan.schema})

    def _tuples(self, stored: pl.DataFrame, rows: pl.DataFrame) -> Tuples:
        return Tuples.from_stored(self.plan, stored, rows, self.state.clocks.processing_time)

    def _run_on(self, stored: pl.DataFrame, policies: _Policies) -> Output:
        return self._run(self._tuples(stored, self._no_rows()), policies)

    def _run(self, tuples: Tuples, policies: _Policies) -> Output:
        """Runs the policies, stores the partitions that remain, and returns the panes of the events."""
        plan, now = self.plan, self.state.clocks.processing_time
        log = events.log_of(plan, tuples, now)
        partitions = Partitions(plan.spec, tuples.values(plan), log, now, self.state.tally)
        tuples.into(partitions)
        policies(partitions)
        panes = events.panes_of(plan, log, tuples, now)
        listeners = log.states if isinstance(log, ListenerLog) else {}
        self._store(tuples.put(plan, partitions, listeners), tuples.removed(plan, partitions))
        self.state = replace(self.state, tally=partitions.tally)
        return replace(self._nothing, panes=panes)

    def _store(self, put: pl.DataFrame, removed: pl.DataFrame) -> None:
        partitions = self.state.partitions.changed(put, removed)
        self.changed = self.changed or partitions is not self.state.partitions
        self.state = replace(self.state, partitions=sealed_if_long(partitions))
