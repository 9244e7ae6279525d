"""Windows by policies: a step takes a clock reading or a batch of rows, and gives events (semantics 10).

Rows are judged, ordered and freed of replays as those of any operator; then they are taken one by one, as each may move what the
next one finds. Only the partitions that a step concerns are read and written, except where policies look at all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from panewise.engine.columns import END, LATE_BY, MISSED_WINDOWS, ONE_KEY, PARTIAL, PLACE, REASON, TUPLES
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.policy import events
from panewise.engine.policy.listeners import Telling
from panewise.engine.policy.partitions import Partitions
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.pool import Tuples, bare, comparable
from panewise.engine.policy.validate import is_marker, split
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.run import MemoryLibrary
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windows.operator import Operator, State
from panewise.spec import StreamWindow
from panewise.spec.streamevent import counts_all
from panewise.spec.streampolicies import DeltaPolicy

_Work = Callable[[Partitions], None]


class PolicyOperator(Operator):
    """Windows by policies over Polars frames.

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
        self._nothing = Output.nothing(self.policies.pane_schema, self.plan.late_schema, self.plan.invalid_schema)

    @property
    def pane_schema(self) -> dict[str, pl.DataType]:
        """The columns of the events that come out."""
        return self.policies.pane_schema

    def advance(self, processing_time: int | None = None, watermark: int | None = None, source: str | None = None) -> Output:
        """The clock is read; there is no watermark."""
        if processing_time is None:
            return self._nothing
        now = max(self.state.clocks.processing_time, processing_time)
        self.state = replace(self.state, clocks=replace(self.state.clocks, processing_time=now))
        return self._due()

    def finish(self) -> Output:
        """Ends the input: every partition raises FINAL, and is gone."""
        if self.state.clocks.finished:
            return self._nothing
        output = self._all(self._begun(Partitions.finish))
        self.state = replace(self.state, clocks=replace(self.state.clocks, finished=True))
        return output

    def evict(self, partition: Mapping[str, Any]) -> Output:
        """A partition goes, named by the columns of `partition_by`; if there is none, nothing happens.

        Raises:
            InputError: if it is named by other columns or types, or there is no `partition_by` (semantics 10.23).
        """
        found = self.state.windows.find(self.policies.named(partition))
        tuples = self._tuples(self._choices(found), self._no_rows())

        def go(partitions: Partitions) -> None:
            for number in tuples.numbers_of(self.policies, found):
                partitions.evict(number)

        return self._worked(tuples, go)

    def drain(self) -> Output:
        """What is outstanding happens: there never is anything (semantics 10.21)."""
        return self._nothing

    def reset(self, before: State) -> Output:
        """Back to a state that was kept; processing time goes on, and what is due now happens."""
        self.state = replace(before, clocks=replace(before.clocks, processing_time=self.state.clocks.processing_time))
        self.changed = True
        return self._work(self._choices(self._overdue()), Partitions.due)

    def reset_to_initial(self) -> Output:
        """As before the first tuple; processing time goes on."""
        everything = self.state.windows.all()
        self._store(everything.clear(), bare(self.policies, everything))
        self.state = State(self.state.windows, self.state.clocks)
        return self._nothing

    def held(self) -> pl.DataFrame:
        """The partitions held: keys, window_start and window_end (null), pending (the number of tuples), closed."""
        keys = self.policies.shown_keys if self.policies.spec.partition_by else []
        bounds = [pl.lit(None, dtype=pl.Int64).alias(name) for name in ("window_start", "window_end")]
        pending = pl.col(TUPLES).list.len().cast(pl.Int64).alias("pending")
        shown = self.state.windows.all().select(*keys, *bounds, pending, pl.lit(False).alias("closed"))
        return shown.sort(self.policies.spec.partition_by, nulls_last=False) if keys else shown

    def _evaluated(self, rows: pl.DataFrame) -> Output:
        """Rows in the order of arrival, without replays."""
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
        made = {REASON: pl.lit("finished"), MISSED_WINDOWS: pl.lit([]), LATE_BY: pl.lit(None), PARTIAL: pl.lit(False)}
        late = rows.select(made.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in self._late_columns.items())
        invalid = rows.clear().with_columns(pl.lit(None, dtype=pl.String).alias(REASON)).select(self._placed_invalid)
        return replace(self._nothing, late=late, invalid=invalid, counts=Counts(rows_in=rows.height, late=rows.height))

    def _inserted(self, rows: pl.DataFrame) -> Output:
        if rows.is_empty():
            return self._nothing
        markers = rows.select(pl.repeat(False, pl.len()) | is_marker(self.policies)).to_series()
        came = rows.filter(~markers)
        trigger = self.policies.spec.trigger
        values = comparable(came[trigger.column]).to_list() if isinstance(trigger, DeltaPolicy) else [None] * came.height
        everything = markers.any() or counts_all(self.policies.spec.partition_eviction)
        windows = self.state.windows
        held = windows.all() if everything else windows.find(came.select(self.policies.shown_keys).unique(maintain_order=True))
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
        """What the clock makes happen, once it was read."""
        if self.state.clocks.finished:
            return self._nothing
        held = self._overdue()
        if not self.policies.spec.partition_by and held.is_empty() and self.state.windows.all().is_empty():
            return self._all(self._begun(Partitions.due))
        return self._nothing if held.is_empty() else self._work(self._choices(held), Partitions.due)

    def _choices(self, held: pl.DataFrame) -> pl.DataFrame:
        """Of partitions that something happens in those that must be known: with a listener that may choose among all, these."""
        spec = self.policies.spec
        return self.state.windows.all() if spec.listener and counts_all(spec.partition_eviction) and held.height else held

    def _overdue(self) -> pl.DataFrame:
        now = self.state.clocks.processing_time
        return self.state.windows.concerned(pl.col(END) <= now, lambda run: run.low <= now)

    def _begun(self, work: _Work) -> _Work:
        """The work, once the only partition of an operator without keys has begun. Its number is 0."""
        if self.policies.spec.partition_by:
            return work

        def begin_and(partitions: Partitions) -> None:
            if not partitions.living:
                partitions.begin(0)
            work(partitions)

        return begin_and

    def _all(self, work: _Work) -> Output:
        """Work on all partitions."""
        return self._work(self.state.windows.all(), work)

    def _no_rows(self) -> pl.DataFrame:
        return pl.DataFrame(schema={**{key: pl.Int8() for key in self.policies.keys if key == ONE_KEY}, **self.plan.schema})

    def _tuples(self, held: pl.DataFrame, rows: pl.DataFrame) -> Tuples:
        return Tuples.of(self.policies, held, rows, self.state.clocks.processing_time)

    def _work(self, held: pl.DataFrame, work: _Work) -> Output:
        """Work on partitions held, when no rows come."""
        return self._worked(self._tuples(held, self._no_rows()), work)

    def _worked(self, tuples: Tuples, work: _Work) -> Output:
        """Lets the policies work, tells what has happened, and stores what is left."""
        plan, now = self.policies, self.state.clocks.processing_time
        log = events.log_of(plan, tuples, now)
        partitions = Partitions(plan.spec, tuples.pool(plan), log, now, self.state.tally)
        tuples.into(partitions)
        work(partitions)
        panes = events.told(plan, log, tuples, now)
        listeners = log.states if isinstance(log, Telling) else {}
        self._store(tuples.put(plan, partitions, listeners), tuples.gone(plan, partitions))
        self.state = replace(self.state, tally=partitions.tally)
        return replace(self._nothing, panes=panes)
