"""Joins of windows of rows by arrival: a row is paired when it arrives, then inserted (semantics 37.4, 37.5).

The latest rows (37.7) are windows of one row on both sides, in which rows may also delete others.

The rows of a batch are inserted first, all of them. Then each row looks up what the window of the other side
contained when it arrived: rows are numbered, so that is the window up to its number. Only then are evicted
rows removed, and the others stored.

Cost: linear in the rows of the batch and in the candidates of the pairs, besides the insertion
(:mod:`panewise.engine.join.by_arrival.arrived_rows`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import NUMBER
from panewise.engine.join.batch.emission import (
    EXPIRED,
    FIRST,
    UNMATCHED,
    JoinEmission,
    Outcome,
    by_time,
    changed_matches,
    first_partners,
    matches_name,
    no_matches,
    remembered_sides,
    without_partner,
)
from panewise.engine.join.batch.join_batch import JoinBatch
from panewise.engine.join.by_arrival.arrived_rows import EVICTOR, ArrivalWindow, ArrivedRows, Inserted
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan, has_null_key, with_keys
from panewise.engine.join.search.lookups import looked_up_pairs
from panewise.engine.join.search.rows_of_keys import SortedKeys
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import without
from panewise.engine.tables.stored_table import StoredTable
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, OTHER

_AT_ONCE, _ENDED = "__at_once", "__ended"
_NEVER: Final = np.iinfo(np.int64).max


def horizon_of_windows(
    clocks: JoinClocks, spec: JoinOperator, side: str, window: ArrivalWindow
) -> int | None:
    """Returns the horizon of the rows in the windows of a side.

    It is the last processing time that has passed or, if no row of the other side can come, the end of time.
    None if no row expires.
    """
    if clocks.horizon(spec, OTHER[side]) == MAX_INSTANT:
        return MAX_INSTANT
    return clocks.processing_time - 1 if window.age is not None else None


class ArrivalJoin:
    """The method of a join of windows by arrival: :class:`panewise.engine.join.method.Method`.

    `windows` are the windows by side, None for those of the match.
    """

    def __init__(self, plan: JoinPlan, windows: Mapping[str, ArrivedRows] | None = None) -> None:
        self.plan, self.spec = plan, plan.spec
        self.remembers = remembered_sides(self.spec)
        self.windows = windows or {
            side: ArrivedRows(port, ArrivalWindow.from_match(self.spec.match, side), side in self.remembers)
            for side, port in plan.ports.items()
        }

    @property
    def remembered(self) -> tuple[str, ...]:
        """The sides of which it is stored whether rows had a partner."""
        return tuple(side for side in self.remembers if self.windows[side].contains_rows)

    def tables(self) -> dict[str, StoredTable]:
        """Returns the tables of rows, and of the numbers of matched rows."""
        tables: dict[str, StoredTable] = {side: window.nothing() for side, window in self.windows.items()}
        return tables | {matches_name(side): no_matches() for side in self.remembered}

    def table_horizons(self, clocks: JoinClocks) -> dict[str, int | None]:
        """Returns the horizons: processing times, or the end of time if no row of the other side can come."""
        horizons = {side: self._horizon(clocks, side) for side in self.windows}
        return horizons | {matches_name(side): horizons[side] for side in self.remembered}

    def add(self, state: JoinState, batch: JoinBatch) -> tuple[Iterator[pl.DataFrame], JoinState]:
        """Joins the applied rows of a batch."""
        emission, outcome = JoinEmission(self.plan), ArrivalOutcome.from_batch(self, state, batch)
        outcome.emit_pairs(emission)
        if self.spec.unmatched == "early":
            outcome.emit_early(emission)
        elif self.spec.unmatched == "final":
            outcome.emit_final(emission)
        return emission.pieces(), state.after(outcome.stored(), batch.clocks)

    def advance(self, state: JoinState, clocks: JoinClocks) -> tuple[pl.DataFrame, JoinState]:
        """Returns the rows that were in a window and can get no partner any more."""
        expiring = {}
        if self.spec.unmatched == "final":
            expiring = {side: self._expiring(state, side, clocks) for side in self._outer()}
        rows, _ = by_time(self.plan, expiring.items())
        return rows, state.after({}, clocks)

    def furthest_behind(self) -> int | None:
        """Returns how far the event time of an emitted row may lie behind the lower horizon; None: any.

        A row that arrives is not behind the horizon of its side. Rows in windows are of any age.
        """
        arrives = {side for side in OTHER if self.windows[OTHER[side]].contains_rows}
        alone = {LEFT} if self.spec.how == "semi" else set(self.spec.outer_sides)
        if any(self.windows[side].contains_rows for side in alone):
            return None
        timestamp = self.spec.timestamp
        return 0 if timestamp in (None, "later") or arrives == {timestamp} else None

    def next_due(self, state: JoinState) -> int | None:
        """Returns None: no row waits for a watermark."""
        return None

    def _horizon(self, clocks: JoinClocks, side: str) -> int | None:
        return horizon_of_windows(clocks, self.spec, side, self.windows[side].window)

    def _outer(self) -> tuple[str, ...]:
        return tuple(side for side in self.spec.outer_sides if self.windows[side].contains_rows)

    def _expiring(self, state: JoinState, side: str, clocks: JoinClocks) -> pl.DataFrame:
        """Returns the rows without a partner that leave their windows because the clocks move."""
        before, after = (self._horizon(at, side) for at in (state.clocks, clocks))
        table = state.latest(side)
        if after is None or after == before:
            return table.shape.no_rows
        due = self.windows[side].inside(table, table.due(before, after))
        return without_partner(state, side, due)


@dataclass(frozen=True)
class ArrivalOutcome(Outcome):
    """A batch after it was matched.

    `state` is that before the batch. `inserted` has by side the rows that were inserted into windows, and the
    rows that they evicted.
    """

    method: ArrivalJoin
    state: JoinState
    inserted: Mapping[str, Inserted]

    @classmethod
    def from_batch(cls, method: ArrivalJoin, state: JoinState, batch: JoinBatch) -> "ArrivalOutcome":
        """Matches the rows of a batch."""
        plan, now = method.plan, state.clocks.processing_time
        windows = method.windows.items()
        arriving = {side: window.arriving(batch.applied.get(side), now) for side, window in windows}
        rows = {side: window.without_deletes(arriving[side]) for side, window in windows}
        keyed = {side: with_keys(plan.ports[side], new_rows) for side, new_rows in rows.items()}
        inserted = {
            side: window.inserted(state.latest(side), with_keys(plan.ports[side], arriving[side]))
            for side, window in windows
            if window.contains_rows
        }
        lookups = [
            (OTHER[side], lookup)
            for side, into in inserted.items()
            if (new := keyed[OTHER[side]]).height
            for lookup in method.windows[side].lookups(
                into, SortedKeys.from_rows(new, plan.ports[OTHER[side]].keys), new, batch
            )
        ]
        pieces = looked_up_pairs(plan, keyed, lookups, range(batch.first_number, batch.next_number))
        shapes = {side: method.windows[side].shape for side in method.remembers}
        partnered = first_partners(state, shapes, pieces, batch, plan.spec)
        return cls(plan, batch, rows, pieces, partnered, method, state, inserted)

    def emit_final(self, emission: JoinEmission) -> None:
        """Emits the rows without a partner that can get none after their arrival, or leave their windows."""
        leaving = {side: self._leaving(side) for side in self.plan.spec.outer_sides}
        for part, at in ((UNMATCHED, _AT_ONCE), (EXPIRED, _ENDED)):
            first = (pl.col(at) + self.batch.first_number).alias(FIRST)
            ends = pl.col(at) < _NEVER
            due = {side: rows.filter(ends).with_columns(first) for side, rows in leaving.items()}
            self.emit_single(emission, part, due, FIRST)

    def stored(self) -> dict[str, StoredTable]:
        """Returns the tables with the rows of the batch, and with which rows got a partner."""
        tables: dict[str, StoredTable] = {side: into.table for side, into in self.inserted.items()}
        for side in self.method.remembered:
            evicted = self.inserted[side].evicted
            tables[matches_name(side)] = changed_matches(self.state, side, self.partnered[side], evicted)
        return tables

    def _leaving(self, side: str) -> pl.DataFrame:
        """Returns the rows of a side without a partner, with the turn in which they can get none any more.

        The turn is in the column `_AT_ONCE` if rows cause it, and in `_ENDED` if the horizon of the other
        side does, which moves after the rows. Only the earlier of the two is set. The other column has
        `_NEVER`.
        """
        horizon, window = self.batch.horizons, self.method.windows[side]
        ended = np.append(np.flatnonzero(horizon.after[OTHER[side]] == MAX_INSTANT), _NEVER)[0]
        rows = self._candidates(side, ended=bool(ended < _NEVER))
        new = (rows[NUMBER] >= self.batch.first_number).to_numpy()
        turns = np.where(new, self.turns(rows[NUMBER]), 0)
        last = has_null_key(window.port, rows) | (horizon.before[OTHER[side]][turns] == MAX_INSTANT)
        if not window.contains_rows:
            last = np.ones_like(last)
        last &= new
        at_once = np.where(last, turns, self._evicted_at(side, rows))
        by_rows = last | (at_once <= ended)
        return rows.with_columns(
            pl.Series(_AT_ONCE, np.where(by_rows, at_once, _NEVER)),
            pl.Series(_ENDED, np.where(by_rows, _NEVER, ended)),
        )

    def _candidates(self, side: str, *, ended: bool) -> pl.DataFrame:
        """Returns the new rows without a partner, and the old ones that may leave their windows."""
        rows = [without(self.rows[side], self.partnered[side], [NUMBER])]
        if side in self.inserted:
            window, first = self.method.windows[side], self.batch.first_number
            evicted = self.inserted[side].evicted.filter(pl.col(NUMBER) < first)[rows[0].columns]
            old = window.all(self.state.latest(side)) if ended else evicted
            old = without_partner(self.state, side, old)
            rows.append(without(old, self.partnered[side], [NUMBER]))
        return pl.concat(rows)

    def _evicted_at(self, side: str, rows: pl.DataFrame) -> Instants:
        if side not in self.inserted or rows.is_empty():
            return np.full(rows.height, _NEVER)
        evictors = self.inserted[side].evicted.select(NUMBER, EVICTOR)
        evicted_by = rows.select(NUMBER).join(evictors, on=NUMBER, how="left", maintain_order="left")[EVICTOR]
        turns = self.turns(evicted_by.fill_null(self.batch.first_number))
        return np.where(evicted_by.is_null().to_numpy(), _NEVER, turns)
