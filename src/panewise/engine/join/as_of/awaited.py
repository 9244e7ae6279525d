"""As-of joins in which a left row waits for a later right row, however long that takes (semantics 37.23).

A left row at l with the nearest known right row at a distance of d is decided when the right horizon is above
l + d. So it waits in up to two tables:

- in the queue, until the right horizon has passed l. No right row at or before l can come then;
- in the table of overdue rows, by key. A row leaves it when a right row of its key passes that is after it,
  or when the horizon passes l + d. A queue of the right rows to pass and one of these checks find it then.

So a step reads the overdue rows only of keys of which a right row passes, and those that are due themselves.

Invariant: the instant l + d of an overdue row is never too early. A nearer right row lowers d, and passes
before that instant, so the row is then read again. Cost: a look-up each time that a row is read: once when it
is overdue, and for each move of the clocks in which a right row of its key passes.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.join.as_of.method import AsOfJoin
from panewise.engine.join.as_of.partners import Candidates, distance, partners_of, without_partners
from panewise.engine.join.batch.emission import EXPIRED, UNMATCHED, JoinEmission
from panewise.engine.join.batch.join_batch import JoinBatch, turns_of
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan, ending_after, keys_of, last_match
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import filter_rows, vstack_frames, without
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.tables.time_queue import TimeQueue
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import LEFT, RIGHT

OVERDUE: Final = "left overdue"
_CHECKS, _PASSING = "left checks", "right passing"


class AwaitedAsOfJoin(AsOfJoin):
    """The method of an as-of join whose left rows wait for their partner."""

    deciding = (LEFT, _CHECKS, _PASSING)

    def __init__(self, plan: JoinPlan, match: AsOf) -> None:
        super().__init__(plan, match)
        left, right = plan.ports[LEFT], plan.ports[RIGHT]
        instants = {NUMBER: pl.Int64(), END: pl.Int64()}
        keys = {side.name: {name: side.stored[name] for name in side.keys} for side in (left, right)}
        self.overdue = Shape(dict(left.stored), [*left.keys, NUMBER], left.keys)
        self.checks = Shape(keys[LEFT] | instants, [END, NUMBER], [])
        self.passing = Shape(keys[RIGHT] | instants, [END, NUMBER], [])
        self.ends[LEFT] = last_match(0)

    def tables(self) -> dict[str, StoredTable]:
        """Returns the tables of an as-of join, the overdue rows, their checks, and the right rows to pass."""
        right = LatestByKey.nothing(self.rows)
        # An overdue row may need the last right row before it although there is one at its own time.
        before = self.match.strategy == "nearest" and not self.match.allow_exact_matches
        return {
            **super().tables(),
            RIGHT: replace(right, before=before),
            OVERDUE: StoredTable.nothing(self.overdue),
            _CHECKS: TimeQueue.nothing(self.checks),
            _PASSING: TimeQueue.nothing(self.passing),
        }

    def table_horizons(self, clocks: JoinClocks) -> dict[str, int | None]:
        """Returns the horizons: all rows but the stored right ones expire when the right horizon passes."""
        passed = clocks.passed(self.spec, RIGHT)
        return {**super().table_horizons(clocks), **dict.fromkeys((OVERDUE, _CHECKS, _PASSING), passed)}

    def add(self, state: JoinState, batch: JoinBatch) -> tuple[Iterator[pl.DataFrame], JoinState]:
        """Joins the applied rows of a batch."""
        stored, overdue, alone = self._taken(state, batch)
        rows, candidates, after = self._decided(stored, overdue, batch.clocks)
        turns, early = batch.expiry_turns(rows, RIGHT)
        own = turns_of(self.plan, alone[NUMBER], batch.first_number)
        emission, right = JoinEmission(self.plan), stored.latest(RIGHT)
        at_once = vstack_frames([alone, filter_rows(rows, pl.Series(early))])
        partners = np.concatenate([np.full(alone.height, -1, dtype=np.intp), candidates.at[early]])
        turns_at_once = np.concatenate([own, turns[early]])
        self._add(emission, UNMATCHED, at_once, turns_at_once, replace(candidates, at=partners))
        later = filter_rows(rows, pl.Series(~early))
        self._add(emission, EXPIRED, later, turns[~early], candidates.chosen(~early))
        right = self._settled_until(right, batch.clocks)
        return emission.pieces(), after.after({RIGHT: right}, batch.clocks)

    def advance(self, state: JoinState, clocks: JoinClocks) -> tuple[pl.DataFrame, JoinState]:
        """Returns the left rows that are decided, and the state after the move."""
        none, emission = self.queue.no_rows, JoinEmission(self.plan)
        rows, partners, after = self._decided(state, none, clocks)
        self._add(emission, EXPIRED, rows, np.zeros(rows.height, dtype=np.int64), partners)
        return emission.rows(), after.after({}, clocks)

    def furthest_behind(self) -> int | None:
        """Returns 0 if the later row of each emitted pair has not been passed; else None, any distance."""
        of_later = self.match.strategy == "forward" and self.spec.timestamp in (RIGHT, "later")
        return 0 if of_later and self.spec.how == "inner" else None

    def _taken(self, state: JoinState, batch: JoinBatch) -> tuple[JoinState, pl.DataFrame, pl.DataFrame]:
        """Stores the rows of a batch, but not the left rows that are decided or overdue when they arrive.

        Returns the state, the left rows that are overdue, and those with a null key.
        """
        rows, keyed, arrived = self._arrived(batch)
        queue, stored = state.queue(LEFT), state.latest(RIGHT)
        waiting = ending_after(keyed, queue.horizon)
        passing = arrived.with_columns(pl.col(TIME).alias(END)).select(*self.passing.schema)
        tables = {
            LEFT: queue.put(waiting),
            RIGHT: stored.put(ending_after(arrived, stored.horizon)),
            _PASSING: state.queue(_PASSING).put(passing),
        }
        return state.with_tables(tables), without(keyed, waiting, [NUMBER]), without(rows, keyed, [NUMBER])

    def _decided(
        self, state: JoinState, overdue: pl.DataFrame, clocks: JoinClocks
    ) -> tuple[pl.DataFrame, Candidates, JoinState]:
        """Returns the left rows that are decided, their partners, and the state without these rows.

        `overdue` are rows of the batch that the right horizon has passed already.
        """
        low, high = (each.passed(self.spec, RIGHT) for each in (state.clocks, clocks))
        none, right = overdue.clear(), state.latest(RIGHT)
        if high is None:
            return none, without_partners(0, right), state
        first, again = overdue, none
        if low != high:
            first = vstack_frames([overdue, state.queue(LEFT).between(low, high)])
            again = self._affected(state, low, high)
        rows, partners = self._with_ends(vstack_frames([first, again]), right)
        due, new = rows[END].to_numpy() <= high, np.arange(rows.height) < first.height
        waiting, removed = filter_rows(rows, pl.Series(new & ~due)), filter_rows(again, pl.Series(due[~new]))
        decided = filter_rows(rows, pl.Series(due))
        return decided, partners.chosen(due), self._after(state, waiting, removed)

    def _affected(self, state: JoinState, low: int | None, high: int) -> pl.DataFrame:
        """Returns the overdue rows that may be decided while the right horizon moves from `low` to `high`."""
        table, left = state.tables[OVERDUE], self.plan.ports[LEFT]
        if high == MAX_INSTANT:
            return table.all().select(*self.queue.schema)
        passing, due = (state.queue(name).between(low, high) for name in (_PASSING, _CHECKS))
        affected = [self.overdue.no_rows]
        if passing.height:
            affected.append(table.of_keys(keys_of(self.plan, RIGHT, passing), left.keys))
        if due.height:
            affected.append(table.find(due.select(*left.keys, NUMBER)))
        rows = vstack_frames(affected)
        return rows.unique(NUMBER, keep="first", maintain_order=True).select(*self.queue.schema)

    def _with_ends(self, rows: pl.DataFrame, right: LatestByKey) -> tuple[pl.DataFrame, Candidates]:
        """Returns left rows with the last instant up to which a better right row can come, saturating.

        Also returns their partners so far.
        """
        if rows.is_empty():
            return rows, without_partners(0, right)
        partners = partners_of(self.plan, self.match, rows, right)
        ends, has = np.full(rows.height, MAX_INSTANT), partners.at >= 0
        times = rows[TIME].to_numpy()[has]
        ends[has] = _after(times, partners.rows[TIME].to_numpy()[partners.at[has]])
        return rows.with_columns(pl.Series(END, ends, dtype=pl.Int64)), partners

    def _after(self, state: JoinState, waiting: pl.DataFrame, decided: pl.DataFrame) -> JoinState:
        """Returns the state with overdue rows that wait, and without stored ones that are decided."""
        if waiting.is_empty() and decided.is_empty():
            return state
        checks = state.queue(_CHECKS)
        # A right row that is after a left row decides it when it passes. So there is nothing else to check.
        if self.match.strategy == "nearest":
            checks = checks.put(filter_rows(waiting, waiting[END] < MAX_INSTANT))
        overdue = state.tables[OVERDUE].changed(waiting, decided)
        return state.with_tables({OVERDUE: overdue, _CHECKS: checks})


def _after(times: Instants, partners: Instants) -> Instants:
    """Returns the instants that are as far after left rows as their right rows are from them, saturating."""
    far, room = distance(times, partners), distance(times, np.full_like(times, MAX_INSTANT))
    return np.where(far >= room, MAX_INSTANT, times + np.minimum(far, room).view(np.int64))
