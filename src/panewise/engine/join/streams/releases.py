"""When the rows of a side are released (semantics 37.15, 37.16).

A row is released when its release time is reached, when its window is complete, or when the input of its side
ends. Its release time and the end of its window are known when it arrives, and are stored with it.

Evaluations are numbered. In a batch, number 2n is the evaluation after the rows of turn n,
and 2n + 1 the one after its watermarks have moved. A move of the clocks has the number 0.

Invariant: the state has for each side lower bounds of the release times and window ends of the rows that
wait. No waiting row is read until one of these is reached or the input ends; then all of them are read.

Cost: linear in the new rows and in the rows read, besides a sort of the released rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import COMPLETE, END, NUMBER, RELEASE, TIME
from panewise.engine.join.batch.join_batch import JoinBatch, Turns, turns_of
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan, SidePort, with_keys
from panewise.engine.join.streams.clocks import LeastWaiting, StreamsClocks, StreamsState, waiting_name
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import Mask, take_rows, vstack_frames
from panewise.engine.kernels.sorting import order
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.spec import Every, Hopping, JoinWindow, Tumbling
from panewise.spec.operators.join.columns import OTHER
from panewise.spec.operators.join.streams import UpdatePolicy, WindowedStreams

_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Releases:
    """The rows that a step releases.

    Attributes:
        rows: by side the released rows in the order of their release, with the columns of the table of
            released rows. Their numbers continue those of the rows released before.
        evaluations: the evaluation that releases each row, in the order of the numbers of both sides.
        tables: the tables of rows that wait, after the step.
        waiting: by side the least event time, release time and end of a window of the rows that wait after
            the step.
        first: the number of the first released row.
    """

    rows: Mapping[str, pl.DataFrame]
    evaluations: Instants
    tables: Mapping[str, StoredTable]
    waiting: Mapping[str, LeastWaiting]
    first: int

    def batch(self, state: StreamsState, watermarks: Turns, clocks: JoinClocks) -> JoinBatch:
        """Returns a batch in which the released rows arrive, each with the watermarks at its release.

        `watermarks` are those of the turns of the step, and `clocks` those after the step.
        """
        turns, moved = self.evaluations // 2, self.evaluations % 2 == 1
        each = {
            side: np.where(moved, watermarks.after[side][turns], watermarks.before[side][turns])
            for side in self.rows
        }
        return JoinBatch(
            applied=self.rows,
            late={},
            counts={},
            marks=state.marks,
            horizons=Turns(each, each),
            watermarks=Turns(each, each),
            first_number=self.first,
            next_number=self.first + len(self.evaluations),
            clocks_before=state.clocks,
            clocks=clocks,
        )


def waiting_shape(port: SidePort) -> Shape:
    """Returns the columns of a table of rows that wait."""
    return Shape({**port.stored, RELEASE: pl.Int64(), COMPLETE: pl.Int64()}, [NUMBER], [NUMBER])


def none_waiting(port: SidePort) -> StoredTable:
    """Returns a table of rows that wait, without rows."""
    return StoredTable.nothing(waiting_shape(port))


@dataclass(frozen=True)
class ReleaseRules:
    """What releases the rows of both sides."""

    plan: JoinPlan
    match: WindowedStreams

    @cached_property
    def _shapes(self) -> dict[str, Shape]:
        """The columns of the tables of rows that wait, by side."""
        return {side: waiting_shape(port) for side, port in self.plan.ports.items()}

    def by_batch(self, state: StreamsState, batch: JoinBatch) -> Releases:
        """Returns the rows that a batch releases: rows of its own, and rows whose windows it completes."""
        steps = {}
        for side in self.plan.ports:
            new, after = self._arriving(side, state, batch), batch.watermarks.after[side]
            complete = state.clocks.waiting[side].complete
            read = complete is not None and complete <= int(after[-1])
            old = self._waiting(state, side, read=read)
            turns = turns_of(self.plan, new[NUMBER], batch.first_number)
            due = _reached(new[RELEASE], state.clocks.processing_time)
            rows = vstack_frames([old, new])
            at_once = np.concatenate([np.zeros(old.height, np.bool_), due])
            evaluations = np.where(
                at_once, np.concatenate([np.zeros(old.height, np.int64), 2 * turns]), _completed(rows, after)
            )
            steps[side] = _SideStep(read, old, new, rows, evaluations)
        return self._released(state, steps)

    def by_clocks(self, state: StreamsState, clocks: StreamsClocks) -> Releases:
        """Returns what a move of the clocks releases."""
        steps = {}
        for side, clock in clocks.sides.items():
            watermark, least = (
                MIN_INSTANT if clock.watermark is None else clock.watermark,
                clocks.waiting[side],
            )
            due = least.release is not None and least.release <= clocks.processing_time
            complete = least.complete is not None and least.complete <= watermark
            read = clock.ended or due or complete
            old = self._waiting(state, side, read=read)
            released = _reached(old[RELEASE], clocks.processing_time) | _reached(old[COMPLETE], watermark)
            evaluations = np.where(released | clock.ended, 0, _NEVER)
            steps[side] = _SideStep(read, old, old.clear(), old, evaluations)
        return self._released(state, steps)

    def _waiting(self, state: StreamsState, side: str, *, read: bool) -> pl.DataFrame:
        table = state.tables[waiting_name(side)]
        return table.all() if read else table.shape.no_rows

    def _arriving(self, side: str, state: StreamsState, batch: JoinBatch) -> pl.DataFrame:
        """Returns the applied rows of a side with the columns of its table of rows that wait."""
        port, window = self.plan.ports[side], self.match.windows[side]
        shape = self._shapes[side]
        if side not in batch.applied or batch.applied[side].is_empty():
            return shape.no_rows
        rows = with_keys(port, batch.applied[side])
        complete = _first_ends(window, rows[TIME].to_numpy())
        before = batch.watermarks.before[side][turns_of(self.plan, rows[NUMBER], batch.first_number)]
        late = (pl.Series(before) >= complete).fill_null(value=False)
        early_at, late_at = (
            _release(policy, state.clocks.processing_time) for policy in (window.early, window.late)
        )
        own = [
            pl.when(late)
            .then(pl.lit(late_at, pl.Int64))
            .otherwise(pl.lit(early_at, pl.Int64))
            .alias(RELEASE),
            pl.when(late).then(None).otherwise(complete).alias(COMPLETE),
            pl.col(TIME).alias(END),
        ]
        return rows.with_columns(own).select(*shape.schema)

    def _released(self, state: StreamsState, steps: Mapping[str, "_SideStep"]) -> Releases:
        """Numbers the released rows: by evaluation, then those of the first side first, then by arrival."""
        first = self.match.first_side
        sides = (first, OTHER[first])
        chosen = {side: np.flatnonzero(steps[side].evaluations != _NEVER) for side in sides}
        at = np.concatenate([steps[side].evaluations[chosen[side]] for side in sides])
        rank = np.concatenate([np.full(len(chosen[side]), n) for n, side in enumerate(sides)])
        arrived = np.concatenate([steps[side].rows[NUMBER].to_numpy()[chosen[side]] for side in sides])
        places = order([at, rank, arrived])
        numbers = np.empty(len(at), dtype=np.int64)
        numbers[places] = np.arange(len(at)) + state.next_release
        rows = {}
        for n, side in enumerate(sides):
            mine = numbers[rank == n]
            by_number = np.argsort(mine)
            taken = take_rows(steps[side].rows, chosen[side][by_number])
            taken = taken.select(*self.plan.ports[side].stored)
            rows[side] = taken.with_columns(pl.Series(NUMBER, mine[by_number], dtype=pl.Int64))
        tables = {waiting_name(side): step.table(state, side) for side, step in steps.items()}
        waiting = {side: step.waiting(state, side) for side, step in steps.items()}
        return Releases(rows, at[places], tables, waiting, state.next_release)


@dataclass(frozen=True)
class _SideStep:
    """The rows of a side in one step.

    Attributes:
        read: whether the rows that waited before the step were read; if not, none of them is released.
        old: these rows.
        new: the rows that arrive.
        rows: both.
        evaluations: the evaluation that releases each of them, `_NEVER` if none does.
    """

    read: bool
    old: pl.DataFrame
    new: pl.DataFrame
    rows: pl.DataFrame
    evaluations: Instants

    def table(self, state: StreamsState, side: str) -> StoredTable:
        """Returns the table of the rows that wait after the step."""
        released, table = self.evaluations != _NEVER, state.tables[waiting_name(side)]
        put = self.new.filter(pl.Series(~released[self.old.height :]))
        deleted = self.old.filter(pl.Series(released[: self.old.height]))
        return sealed_if_long(table.changed(put, deleted))

    def waiting(self, state: StreamsState, side: str) -> LeastWaiting:
        """Returns the least event time, release time and end of a window of these rows."""
        rows = self.rows.filter(pl.Series(self.evaluations == _NEVER))
        least = LeastWaiting.of_rows(rows)
        return least if self.read else least.least_with(state.clocks.waiting[side])


def _reached(instants: pl.Series, now: int) -> Mask:
    """Returns whether each instant is reached; null never is."""
    return (instants <= now).fill_null(value=False).to_numpy()


def _completed(rows: pl.DataFrame, after: Instants) -> Instants:
    """Returns the evaluation in which the watermark completes the window of each row, `_NEVER` if none does.

    `after` has the watermarks after each turn. A row whose window was complete when it arrived has none.
    """
    complete = rows[COMPLETE]
    turns = np.searchsorted(after, complete.fill_null(MAX_INSTANT).to_numpy())
    never = (turns == len(after)) | complete.is_null().to_numpy()
    return np.where(never, _NEVER, 2 * turns + 1)


def _release(policy: UpdatePolicy | None, now: int) -> int | None:
    """Returns the processing time at which an update policy releases a row that arrives now, or None."""
    if not isinstance(policy, Every):
        return None if policy is None else now
    after = now + 1  # a row that arrives at a boundary is released at the next one
    at = after + (policy.offset.us - after) % policy.period.us
    return at if at <= MAX_INSTANT else None


def _first_ends(window: JoinWindow, times: Instants) -> pl.Series:
    """Returns the end of the first window that contains each event time; null if no watermark reaches it.

    Ends lie a hop apart, so the end is the first one after the event time.
    """
    if window.size is None or window.hop is None:
        return pl.Series(values=[None] * len(times), dtype=pl.Int64)
    assert isinstance(window.window, (Tumbling, Hopping))
    hop, base = window.hop, (window.window.origin + window.size) % window.hop
    until = hop - (times % hop - base) % hop
    reached = times <= MAX_INSTANT - until
    ends = pl.Series(np.where(reached, times + until, 0))
    return pl.select(pl.when(pl.Series(reached)).then(ends)).to_series()
