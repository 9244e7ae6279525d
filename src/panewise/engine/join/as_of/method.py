"""As-of joins: a left row waits until no right row can come that would be its partner (semantics 37.2, 37.3).

Joins with the last rows by event time are as-of joins with several partners of a left row (semantics 37.6).

The left rows that wait are in a queue in the order of the horizon that decides them. The right rows are
looked up by key and time, when left rows are decided.

Invariant: a left row is in the queue as long as a right row may come that would be its partner. So whatever
arrives after its decision changes nothing that was emitted. Cost: each left row is looked up once. A right
row is stored until no left row that is still to be decided can need it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.join.as_of.partners import Candidates, last_rows, partners_of
from panewise.engine.join.batch.emission import EXPIRED, UNMATCHED, JoinEmission, left_rows_with_partners
from panewise.engine.join.batch.join_batch import JoinBatch, turns_of
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan, as_stored, ending_after, last_match, with_keys
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.instants import Instants, lowest
from panewise.engine.kernels.small_frames import filter_rows, take_rows, vstack_frames, without
from panewise.engine.kernels.sorting import Places, order
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.tables.time_queue import TimeQueue
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import LEFT, ONE_SIDED, RIGHT


class AsOfJoin:
    """The method of a join as of a time: :class:`panewise.engine.join.method.Method`.

    `count` is the number of right rows that are partners of a left one, up to the one that the match says
    (semantics 37.6); None for one. `deciding` are the tables whose first end may decide a left row.
    """

    deciding: ClassVar[tuple[str, ...]] = (LEFT,)

    def __init__(self, plan: JoinPlan, match: AsOf, count: int | None = None) -> None:
        self.plan, self.spec, self.match, self.count = plan, plan.spec, match, count
        left, right = plan.ports[LEFT], plan.ports[RIGHT]
        self.queue = Shape(dict(left.stored), [END, NUMBER], [])
        self.rows = Shape(dict(right.stored), [TIME, NUMBER], right.keys)
        self.ends = {LEFT: last_match(match.waits), RIGHT: last_match(match.reach[1])}

    def tables(self) -> dict[str, StoredTable]:
        """Returns the queue of left rows, and the table of right rows."""
        return {
            LEFT: TimeQueue.nothing(self.queue),
            RIGHT: replace(LatestByKey.nothing(self.rows), latest=self.count or 1),
        }

    def table_horizons(self, clocks: JoinClocks) -> dict[str, int | None]:
        """Returns the horizons: a left row expires when it is decided, a right row when no left row needs it.

        Left rows that wait are at the right horizon less what they wait for, or later. Left rows that may
        come are at the left horizon or later.
        """
        left, right = (clocks.passed(self.spec, side) for side in (LEFT, RIGHT))
        return {LEFT: right, RIGHT: self._settled(left, right)}

    def _settled(self, left: int | None, right: int | None) -> int | None:
        """Returns the instant up to which all left rows are decided."""
        if left is None or right is None:
            return None
        return min(left, right if right == MAX_INSTANT else saturating_add(right, -self.match.waits))

    def add(self, state: JoinState, batch: JoinBatch) -> tuple[Iterator[pl.DataFrame], JoinState]:
        """Joins the applied rows of a batch."""
        rows, keyed, arrived = self._arrived(batch)
        queue, right = state.queue(LEFT), state.latest(RIGHT)
        waiting = ending_after(keyed, queue.horizon)
        queue, right = queue.put(waiting), right.put(ending_after(arrived, right.horizon))
        decided = without(rows, waiting, [NUMBER])  # when they arrive
        due = self._due(queue, state.clocks, batch.clocks)
        turns, early = batch.expiry_turns(due, RIGHT)
        at_once = vstack_frames([decided, filter_rows(due, pl.Series(early))])
        own = turns_of(self.plan, decided[NUMBER], batch.first_number)
        emission = JoinEmission(self.plan)
        self._emit(emission, UNMATCHED, at_once, np.concatenate([own, turns[early]]), right)
        self._emit(emission, EXPIRED, filter_rows(due, pl.Series(~early)), turns[~early], right)
        tables = {LEFT: queue, RIGHT: self._settled_until(right, batch.clocks)}
        return emission.pieces(), state.after(tables, batch.clocks)

    def advance(self, state: JoinState, clocks: JoinClocks) -> tuple[pl.DataFrame, JoinState]:
        """Returns the left rows that are decided. No table changes."""
        emission = JoinEmission(self.plan)
        due = self._due(state.queue(LEFT), state.clocks, clocks)
        turns = np.zeros(due.height, dtype=np.int64)
        self._emit(emission, EXPIRED, due, turns, state.latest(RIGHT))
        return emission.rows(), state.after({}, clocks)

    def furthest_behind(self) -> int | None:
        """Returns how far the event time of an emitted row may lie behind the lower horizon."""
        if self.spec.timestamp not in (RIGHT, "earlier"):
            return max(self.match.waits, 0)
        if self.match.tolerance is None:
            return None
        return self.match.tolerance.us * (2 if self.match.strategy == "nearest" else 1)

    def next_due(self, state: JoinState) -> int | None:
        """Returns the first watermark at which a left row can be decided."""
        tables = [state.tables[name] for name in self.deciding]
        first = lowest(table.next_end(table.horizon) for table in tables)
        return None if first is None else first + 1 + self.spec.right.allowed_lateness.us

    def _arrived(self, batch: JoinBatch) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Returns the left rows of a batch, and those with keys, left and right, as the tables store them."""
        rows = as_stored(batch.applied.get(LEFT), self.queue.schema, self.ends[LEFT])
        right = as_stored(batch.applied.get(RIGHT), self.rows.schema, self.ends[RIGHT])
        return rows, with_keys(self.plan.ports[LEFT], rows), with_keys(self.plan.ports[RIGHT], right)

    def _settled_until(self, right: LatestByKey, clocks: JoinClocks) -> LatestByKey:
        """Returns the table of right rows, which are looked up from these clocks on."""
        # With a condition an earlier row can be the partner although a later one was in time.
        every = self.spec.condition is not None and self.count is None
        return right.settled_until(None if every else self.table_horizons(clocks)[RIGHT])

    def _due(self, queue: TimeQueue, before: JoinClocks, after: JoinClocks) -> pl.DataFrame:
        low, high = (clocks.passed(self.spec, RIGHT) for clocks in (before, after))
        if high is None or low == high:
            return self.queue.no_rows
        return queue.between(low, high)

    def _emit(
        self, emission: JoinEmission, part: int, rows: pl.DataFrame, turns: Instants, right: LatestByKey
    ) -> None:
        if rows.is_empty():
            return
        if self.count is None:
            self._add(emission, part, rows, turns, partners_of(self.plan, self.match, rows, right))
            return
        which, partners = self._last_rows(rows, right, self.count)
        self._add(emission, part, take_rows(rows, which), turns[which], partners)

    def _add(
        self, emission: JoinEmission, part: int, rows: pl.DataFrame, turns: Instants, partners: Candidates
    ) -> None:
        """Adds decided rows and their partners in the order of time, then arrival, if the join emits them."""
        if rows.is_empty():
            return
        places = order([rows[TIME].to_numpy(), rows[NUMBER].to_numpy()])
        rows, turns = take_rows(rows, places), turns[places]
        partners = replace(partners, at=partners.at[places])
        has = partners.at >= 0
        if self.spec.how in ("inner", "semi", "anti"):
            chosen = has if self.spec.how != "anti" else ~has
            rows, turns = filter_rows(rows, pl.Series(chosen)), turns[chosen]
            partners = partners.chosen(chosen)
        emission.add(part, turns, left_rows_with_partners(self.plan, rows, partners.rows, partners.at))

    def _last_rows(self, rows: pl.DataFrame, right: LatestByKey, count: int) -> tuple[Places, Candidates]:
        """Returns the places of left rows, each once for each partner, and these; once if it has none."""
        pairs = last_rows(self.plan, rows, right, count)
        which = np.concatenate([pairs.at[LEFT], np.setdiff1d(np.arange(rows.height), pairs.at[LEFT])])
        at = np.concatenate([pairs.at[RIGHT], np.full(len(which) - len(pairs), -1, dtype=np.intp)])
        if self.spec.how in ONE_SIDED:
            which, firsts = np.unique(which, return_index=True)
            return which, Candidates(pairs.rows[RIGHT], at[firsts])
        places = np.argsort(which, kind="stable")
        return which[places], Candidates(pairs.rows[RIGHT], at[places])
