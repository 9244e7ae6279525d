"""The window operator: a step takes clock readings or a batch of rows, emits outputs, and moves its state.

A batch is processed in this order: validation, arrival order, replays, lateness, windows, partials, merging
with the stored windows, triggers. The operator knows no runtime and reads no clock.

Invariant: the state is an immutable value, which a step replaces as a whole. A step costs as much as its rows
and the windows that it reads. These are the windows of the rows and, when the clocks move, those that are
due.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self, TypeVar

import polars as pl

from panewise.engine.columns import ARRIVAL_NUMBER, CLOSED, END, ORDER, PENDING, PLACE, REASON, ROWS, TIME
from panewise.engine.ingest import arrival
from panewise.engine.ingest.input_state import SingleInput
from panewise.engine.ingest.late_output import late_schema
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.kernels.small_frames import join_frames, vstack_frames, without
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import latest_of
from panewise.engine.protocol import EvaluatedPanes
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.engine.windowing import firing, key_watermarks, panes, row_numbering, window_limit
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows import intake
from panewise.engine.windows.intake import Intake
from panewise.engine.windows.session_merge import apply_to_sessions
from panewise.engine.windows.sliding import changes as sliding_changes
from panewise.engine.windows.sliding.completion import completed, completed_of_keys, unmade
from panewise.engine.windows.sliding.intake import apply_to_sliding
from panewise.engine.windows.sliding.slices import BLOCKS, SLICES, Slices
from panewise.engine.windows.state import WindowOperatorState
from panewise.families import INPUT
from panewise.spec import RowInputs, WindowOperator, merging

T = TypeVar("T")
_RANK = "__rank"


class WindowEngine(SingleInput[WindowPlan, WindowOperatorState]):
    """A window operator over Polars frames."""

    partitions = None

    def __init__(
        self, spec: WindowOperator, schema: Mapping[str, pl.DataType], plan: WindowPlan | None = None
    ) -> None:
        plan = plan or WindowPlan(spec, schema)
        state = WindowOperatorState(windows=StoredTable.nothing(plan.shape), clocks=Clocks.initial(spec))
        if plan.sliding:
            names = (SLICES, BLOCKS)
            state = state.with_tables({name: StoredTable.nothing(plan.slice_shape) for name in names})
        super().__init__(spec, plan, state)
        self._no_gaps = pl.DataFrame(
            schema={**self.plan.schema, REASON: pl.String(), PLACE: pl.UInt32()}
        )  # what `_in_gaps` returns for no rows
        self._late_columns = late_schema({ORDER: pl.UInt32(), **self.plan.schema})
        self._no_late = pl.DataFrame(schema=self._late_columns)
        self._effects: list[Intake] | None = None  # of the step that is recorded
        self._evaluations: list[EvaluatedPanes] | None = None

    def restart(self, state: WindowOperatorState) -> None:
        """Replaces the state. `changed` is then about the steps that follow."""
        self.state, self.changed = state, False

    def recorded(self, work: Callable[[], T]) -> tuple[T, list[Intake]]:
        """Does a step; returns what it returns, and its effects on windows in their order."""
        effects = self._effects = list[Intake]()
        try:
            return work(), effects
        finally:
            self._effects = None

    def evaluated(self, step: Callable[[], T]) -> tuple[T, list[EvaluatedPanes]]:
        """Does a step; returns what it returns, and its evaluations in their order."""
        evaluations = self._evaluations = list[EvaluatedPanes]()
        try:
            return step(), evaluations
        finally:
            self._evaluations = None

    def _record(self, emitted: Iterable[pl.DataFrame]) -> None:
        """Records evaluations at the present clocks if the evaluations of this step are requested."""
        if self._evaluations is not None:
            self._evaluations += [EvaluatedPanes(self.state.clocks, panes) for panes in emitted]

    @property
    def _row_driven(self) -> RowInputs | None:
        """The inputs whose watermarks a batch drives. If they move after each row, nothing is left to do."""
        return None if self.plan.advances_per_row else self.plan.row_driven_inputs

    def _added_then_advanced(self, valid: pl.DataFrame) -> Output:
        """Adds a row, then moves the watermark of its input."""
        assert self.plan.row_driven_inputs is not None
        output, inputs = self._arrived(valid), self.plan.row_driven_inputs
        moved = self.state.clocks.moved_by_rows(inputs, latest_of(inputs, valid))
        return replace(output, panes=pl.concat([output.panes, self._tick(moved).panes]))

    def _added(self, valid: pl.DataFrame) -> Output:
        """Adds rows. Invalid rows in the output have their place.

        Where rows drive the watermarks of inputs and ``evaluate="record"``, each row is a batch of its own,
        whatever its key, and the watermark moves after it.
        """
        if not self.plan.advances_per_row or valid.is_empty():
            return self._arrived(valid)
        ordered = arrival.in_order(self.plan.spec, arrival.placed(valid))
        return Output.merged([self._added_then_advanced(row) for row in ordered.iter_slices(1)])

    def _arrived(self, valid: pl.DataFrame) -> Output:
        """Orders rows, removes replays, and applies the others."""
        placed = arrival.placed(valid)
        ordered = arrival.in_order(self.plan.spec, placed) if self._order_matters(valid) else placed
        fresh = self.state.marks.without_replays(self.plan.spec, ordered)
        self.raise_marks(self.state.marks.after(self.plan.spec, ordered))
        numbered, replays = fresh.with_row_index(ORDER), ordered.height - fresh.height
        if self.plan.in_arrival_order:
            numbered = numbered.with_columns(
                (pl.col(ORDER).cast(pl.Int64) + self.state.received).alias(ARRIVAL_NUMBER)
            )
            self.state = replace(self.state, received=self.state.received + fresh.height)
        output = self._evaluated(numbered)
        late = output.late.sort(ORDER) if output.late.height > 1 else output.late
        late = late.select(*self.plan.late_schema) if late.height else self._nothing.late
        return replace(output, late=late, counts=output.counts + Counts(rows_in=replays, replays=replays))

    def _order_matters(self, valid: pl.DataFrame) -> bool:
        """Returns whether anything depends on the order of a batch's rows.

        Without this test, sorting would be a fifth of the work on sessions.
        """
        if self.plan.order_matters:
            return True
        # Windows end after their rows, so no row is late if none is before a horizon.
        horizons = (self.state.clocks.horizon(self.plan.spec), self.state.clocks.row_horizon(self.plan.spec))
        earliest = valid[TIME].min()
        return isinstance(earliest, int) and any(
            horizon is not None and earliest < horizon for horizon in horizons
        )

    @property
    def combined_input(self) -> Self:
        """The operations on partials: the operator itself has them."""
        return self

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds partials per key and ``__slice`` of valid rows, which :meth:`WindowPlan.combine` returned."""
        if partials.is_empty():
            return self._nothing
        effect = intake.apply_partials(
            self.plan, self.state.windows, partials, self.state.clocks, self._late_columns
        )
        output = self._settle(effect, int(partials[ROWS].sum()))
        self._record([output.panes])
        return replace(output, combined_late=effect.reasons)

    def late_partials(self, partials: pl.DataFrame) -> tuple[int, int]:
        """Returns how many rows of partials are late, and how many are late for some of their windows."""
        return intake.late_partials(self.plan, self.state.windows, partials, self.state.clocks)

    def horizons(self, clocks: Clocks) -> dict[str, int | None]:
        """Returns for each table the horizon at these clocks: windows that end up to it have expired."""
        return dict.fromkeys(self.state.tables, clocks.horizon(self.plan.spec))

    def output_watermark(self) -> int | None:
        """Returns the watermark. Panes on time have ends up to it, later ones have ends above it."""
        return self.state.clocks.instant_watermark

    def next_due(self) -> int | None:
        """Returns :func:`panewise.engine.windowing.firing.next_due` for the present state."""
        return firing.next_due(self.plan, self.state.windows, self.state.clocks, self.state.slices)

    def live(self) -> pl.DataFrame:
        """Returns the live windows: keys, window_start, window_end, pending, closed."""
        spec = self.plan.spec
        keys, bounds = panes.identity(spec, self.plan.schema)
        windows = key_watermarks.only_windows(self.plan, self.state.windows.all())
        if self.plan.made_when_complete:
            not_made = unmade(self.plan, self.state.sliced, self.state.clocks, self._key_watermarks())
            windows = pl.concat([windows.select(not_made.columns), not_made])
        output = windows.select(
            *keys, *bounds, pl.col(PENDING).alias("pending"), pl.col(CLOSED).alias("closed")
        )
        return output.sort(["window_end", "window_start", *spec.keys], nulls_last=False)

    def _evaluated(self, rows: pl.DataFrame) -> Output:
        """Applies rows as one batch or, with `evaluate="record"`, each as if it came alone."""
        if self.plan.spec.evaluate == "batch":
            output = self._batch(rows)
            self._record([output.panes])
            return output
        output = self._each(rows)
        if self._evaluations is not None and output.panes.height:
            self._record(output.panes.partition_by(ORDER, maintain_order=True, include_key=False))
        return replace(output, panes=output.panes.drop(ORDER))

    def _batch(self, rows: pl.DataFrame) -> Output:
        if self.plan.by_key and rows.height:
            return self._batch_by_key(rows)
        if rows.is_empty():
            return replace(self._nothing, late=self._no_late, invalid=self._no_gaps)
        effect = self._apply_over_all_keys(rows) if self.plan.by_row_number else self._apply(rows)
        return replace(self._settle(effect, rows.height), late=effect.late, invalid=self._no_gaps)

    def _in_gaps(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns rows in gaps between windows as invalid rows, with their place."""
        return rows.select(*self.plan.schema, pl.lit("gap", dtype=pl.String).alias(REASON), PLACE)

    def _apply(self, rows: pl.DataFrame) -> Intake:
        """Applies rows to windows of the kind of the specification. Nothing is evaluated or stored yet."""
        if self.plan.sliding:
            return apply_to_sliding(
                self.plan, self.state.windows, self.state.sliced, rows, self.state.clocks, self._late_columns
            )
        apply = apply_to_sessions if merging(self.plan.spec.window) else intake.apply_rows
        return apply(self.plan, self.state.windows, rows, self.state.clocks, self._late_columns)

    def _batch_by_key(self, rows: pl.DataFrame) -> Output:
        """Applies rows with the watermarks of their keys, moves these, and evaluates (semantics 12.8).

        A watermark that moves concerns all windows of its key. So these are evaluated together with the
        windows that got rows.
        """
        plan = self.plan
        keys, places = row_numbering.keys_and_places(plan, rows)
        mine = self.state.windows.of_keys(keys, plan.keys)
        before, gaps, moved = key_watermarks.watermarks_of(mine, plan.keys), rows.clear(), pl.DataFrame()
        if plan.by_row_number:
            numbered = row_numbering.of_keys(plan, rows, keys, places, before)
            effect, gaps, moved = self._apply(numbered.rows), numbered.gaps, numbered.moved
        else:
            effect = self._apply(key_watermarks.with_watermarks(rows, before, plan.keys))
            moved = key_watermarks.moved(plan, rows, before)
        others = key_watermarks.others(plan, mine, moved, effect.affected, effect.replaced)
        affected, slices = pl.concat([effect.affected, others]), effect.slices
        if slices is not None:
            complete_windows, slices = completed_of_keys(plan, slices, before, moved, self.state.clocks)
            affected = pl.concat([affected, complete_windows])
        affected = key_watermarks.refreshed(plan, affected, moved)
        output = self._settle(
            replace(effect, affected=affected, slices=slices, replaced=pl.concat([effect.replaced, others])),
            rows.height,
        )
        self._store(key_watermarks.written(plan, moved))
        return replace(
            output,
            late=effect.late,
            invalid=self._in_gaps(gaps),
            counts=output.counts + Counts(invalid=gaps.height),
        )

    def _apply_over_all_keys(self, rows: pl.DataFrame) -> Intake:
        """Applies rows that are numbered over all keys (semantics 9.6).

        Rows of other keys can complete sessions. These are evaluated together with the sessions that got
        rows.
        """
        plan, clocks = self.plan, self.state.clocks
        received = clocks.watermark or 0
        effect = self._apply(row_numbering.of_all(rows, received))
        moved = replace(clocks, watermark=received + rows.height)
        # Each row moves the one watermark, which may complete sessions of any key.
        due = firing.due(plan, clocks, moved)
        others = self.state.windows.select(due.test, due.may)
        for known in (effect.affected, effect.replaced):
            others = others.join(known, on=plan.identity, how="anti", nulls_equal=True, maintain_order="left")
        self.state = replace(
            self.state, windows=self.state.windows.expired(moved.horizon(plan.spec)), clocks=moved
        )
        return replace(
            effect,
            affected=pl.concat([effect.affected, others]),
            replaced=pl.concat([effect.replaced, others]),
        )

    def _each(self, rows: pl.DataFrame) -> Output:
        """Processes each row as if it came alone (semantics 18.1).

        Keys do not affect one another, so the n-th rows of all keys are one batch. The panes carry the place
        of the row after which they were emitted.
        """
        # Rows that are numbered over all keys do affect one another (semantics 9.7).
        by = [] if self.plan.by_row_number and not self.plan.by_key else self.plan.keys
        rank = pl.int_range(pl.len())
        ranked = rows.with_columns((rank.over(by) if by else rank).alias(_RANK))
        turns = ranked.sort(_RANK, maintain_order=True).partition_by(
            _RANK, maintain_order=True, include_key=False
        )
        if not turns:
            output = self._batch(rows)
            return replace(output, panes=output.panes.with_columns(pl.lit(0, dtype=pl.UInt32).alias(ORDER)))
        outputs = [self._batch(turn) for turn in turns]
        placed = [self._with_place(output.panes, turn) for output, turn in zip(outputs, turns, strict=True)]
        panes_in_order = pl.concat(placed).sort(ORDER, maintain_order=True)
        return replace(Output.merged(outputs), panes=panes_in_order)

    def _with_place(self, emitted: pl.DataFrame, turn: pl.DataFrame) -> pl.DataFrame:
        """Adds to each pane the place of the row that caused it: the row of its key, or the only row."""
        keys = list(self.plan.spec.keys) if turn.height > 1 else []
        places = turn.select(*keys, ORDER)
        return join_frames(emitted, places, keys) if keys else emitted.join(places, how="cross")

    def _settle(self, effect: Intake, rows_in: int) -> Output:
        plan, now = self.plan, self.state.clocks.processing_time
        if self._effects is not None:
            self._effects.append(effect)
        effect, early = self._limited(effect)
        result = firing.evaluate(plan, effect.affected, self.state.clocks, early)
        self._store(result.stored, vstack_frames([effect.replaced, result.expired]))
        self._store_slices(effect.slices)
        emitted = plan.panes.emitted(result.emitted, now)
        if plan.retracting and not effect.merged_away.is_empty():
            emitted = pl.concat([plan.panes.retractions(effect.merged_away, now), emitted])
        counts = Counts(rows_in, effect.applied, 0, effect.late_count, 0, effect.partially_late)
        return replace(self._nothing, panes=emitted, counts=counts)

    def _limited(self, effect: Intake) -> tuple[Intake, pl.DataFrame | None]:
        """Returns the effect with the windows that are beyond the limit of their key, and these (15.24)."""
        if effect.of_keys is None:
            return effect, None
        identity = self.plan.identity
        mine = effect.affected.select(identity)
        others = without(effect.of_keys, mine, identity)
        early = window_limit.beyond(self.plan, pl.concat([mine, others.select(identity)]))
        more = join_frames(others, early, identity, "semi").select(effect.affected.columns)
        affected, replaced = pl.concat([effect.affected, more]), pl.concat([effect.replaced, more])
        return replace(effect, affected=affected, replaced=replaced), early

    def _tick(self, clocks: Clocks) -> Output:
        plan, due = self.plan, firing.due(self.plan, self.state.clocks, clocks)
        horizon = clocks.horizon(plan.spec)
        affected = plan.no_windows
        if not due.by_ends or self.state.windows.may_end_in(due.ends):
            affected = self.state.windows.select(due.test, due.may)
        if plan.sliding:
            more, slices = completed(plan, self.state.sliced, self.state.clocks, clocks, self._key_watermarks)
            affected = pl.concat([affected, more])
            if self._effects is not None:
                self._effects.append(Intake.of_clocks(more))
            self._store_slices(slices.expired(horizon))
        self.state = replace(self.state, clocks=clocks)
        return replace(self._nothing, panes=self._evaluated_at(clocks, affected))

    def _evaluated_at(
        self, clocks: Clocks, affected: pl.DataFrame, early: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """Evaluates stored windows, removes those that have expired, and returns the panes."""
        plan, emitted = self.plan, self._nothing.panes
        self.state = replace(self.state, windows=self.state.windows.expired(clocks.horizon(plan.spec)))
        if not affected.is_empty():
            result = firing.evaluate(plan, affected, clocks, early)
            self._store(result.stored, result.expired)
            emitted = plan.panes.emitted(result.emitted, clocks.processing_time)
        self._record([emitted])
        return emitted

    def evaluate_all(self) -> Output:
        """Evaluates all windows once, at the present clocks (semantics 47.4).

        A change of the specification may let any of them fire. Those that would not change are only read.
        """
        plan, clocks = self.plan, self.state.clocks
        self._follow_change()
        affected = self.state.windows.select(firing.may_change(plan, clocks), lambda run: True)
        if plan.sliding:
            self._store_slices(self.state.sliced.expired(clocks.horizon(plan.spec)))
        if plan.spec.max_windows is None:
            return replace(self._nothing, panes=self._evaluated_at(clocks, affected))
        every = self.state.windows.all()
        early = window_limit.beyond(plan, every.filter(~clocks.expired(plan.spec, pl.col(END))))
        others = without(join_frames(every, early, plan.identity, "semi"), affected, plan.identity)
        affected = pl.concat([affected, others.select(affected.columns)])
        return replace(self._nothing, panes=self._evaluated_at(clocks, affected, early))

    def _follow_change(self) -> None:
        """After a change, stores the partials and windows that sliding windows lack in the table (47.18)."""
        plan, state = self.plan, self.state
        if state.rebuilds:
            windows = key_watermarks.only_windows(plan, state.windows.all())
            self._store(sliding_changes.rebuilt(plan, windows, state.sliced))
        if state.makes:
            missing = sliding_changes.incomplete_windows(
                plan, state.sliced, state.clocks, self._key_watermarks()
            )
            self._store(missing)
        self.state = replace(self.state, rebuilds=False, makes=False)

    def with_header(self, header: Mapping[str, Any]) -> WindowOperatorState:
        """Returns the state with the values of a header. It may have closed windows of another trigger."""
        state = super().with_header(header)
        if state.closes and not self.plan.can_close:
            self.plan = self.plan.with_closed_windows()
        return state

    def _key_watermarks(self) -> pl.DataFrame:
        """Returns the watermarks of all keys, if each key has its own; else an empty table."""
        if not self.plan.by_key:
            return self.plan.no_windows
        return key_watermarks.watermarks_of(self.state.windows.all(), self.plan.keys)

    def _store_slices(self, slices: Slices | None) -> None:
        if slices is not None:
            known, tables = self.state.tables, slices.tables
            self.changed |= any(table.newest is not known[name].newest for name, table in tables.items())
            sealed = {name: sealed_if_long(table) for name, table in tables.items()}
            self.state = replace(self.state.with_tables(sealed), in_blocks=slices.in_blocks)

    def put_windows(self, rows: pl.DataFrame, removed: pl.DataFrame, clocks: Clocks) -> None:
        """Puts windows that were changed outside of a step into the table, and replaces the clocks."""
        self._store(rows, removed)
        self.state = replace(self.state, clocks=clocks)

    def _store(self, put: pl.DataFrame, removed: pl.DataFrame | None = None) -> None:
        windows = self.state.windows.changed(put, removed)
        self.changed = self.changed or windows is not self.state.windows
        self.state = replace(self.state, windows=sealed_if_long(windows))
