"""Interval joins: a row waits for partners until the horizon of the other side has passed it.

Each side has a table of the rows that can still get a partner. Where it matters whether a row had one, a
second table has the numbers of the stored rows that got their first one in a later batch. So no stored row
is ever changed. Where rows without a partner are emitted when they expire, the rows that had none when they
arrived are also in a queue, in the order in which they expire. So a step reads only the rows that are due.
Apart from merges, it writes the rows that arrive, and the numbers of the stored rows that got their first
partner.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

import polars as pl

from panewise.engine.columns import END, MATCHED, NUMBER, TIME, TOMBSTONE
from panewise.engine.join.arrival import Arrived
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.emission import EXPIRED, UNMATCHED, Emission, by_time
from panewise.engine.join.expiry import expiry_turns
from panewise.engine.join.matching import Matching
from panewise.engine.join.outcome import (
    FIRST,
    Outcome,
    first_partners,
    matches_name,
    matches_of,
    no_matches,
    remembered_sides,
    without_partner,
)
from panewise.engine.join.plan import JoinPlan, as_stored, ending_after, with_keys
from panewise.engine.join.state import JoinState
from panewise.engine.kernels.frames import filter_rows, ordered, without
from panewise.engine.store.rows_by_key import RowsByKey
from panewise.engine.store.run import MemoryLibrary, Shape
from panewise.engine.store.stored_table import StoredTable, sealed_if_long
from panewise.engine.store.time_queue import TimeQueue
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.match import Interval

_UNMATCHED: Final = "unmatched"


class IntervalJoin:
    """The method of a join with an interval: :class:`panewise.engine.join.method.Method`."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan, self.spec = plan, plan.spec
        match = self.spec.match
        assert isinstance(match, Interval)
        first, last = match.first, match.last
        # How far after a row of a side the first and the last row lie that match it, in microseconds (37.1).
        self.reach = {LEFT: (first, last), RIGHT: (-last, -first)}
        self.remembers = remembered_sides(self.spec)
        # The sides whose rows are emitted if they expire without a partner.
        self.awaits = self.spec.outer_sides if self.spec.unmatched == "final" else ()
        self.rows = {side: self._shape(side) for side in plan.ports}

    def _shape(self, side: str) -> Shape:
        port = self.plan.ports[side]
        matched = {MATCHED: pl.Boolean()} if side in self.remembers else {}
        return Shape({**port.stored, **matched}, [TIME, NUMBER], port.keys)

    def tables(self) -> dict[str, StoredTable]:
        """Returns the tables of rows, those of the numbers of matched rows, and the queues."""
        tables: dict[str, StoredTable] = {
            side: RowsByKey.nothing(shape, MemoryLibrary()) for side, shape in self.rows.items()
        }
        for side in self.remembers:
            tables[matches_name(side)] = no_matches()
        for side in self.awaits:
            queue = Shape(dict(self.plan.ports[side].alone), [END, NUMBER], [])
            tables[f"{side} {_UNMATCHED}"] = TimeQueue.nothing(queue, MemoryLibrary())
        return tables

    def horizons(self, clocks: JoinClocks) -> dict[str, int | None]:
        """Returns the horizons: all tables of a side have what the horizon of the other side has passed."""
        of_side = {side: clocks.passed(self.spec, OTHER[side]) for side in self.plan.ports}
        matches = {matches_name(side): of_side[side] for side in self.remembers}
        return of_side | matches | {f"{side} {_UNMATCHED}": of_side[side] for side in self.awaits}

    def joined(
        self, state: JoinState, batch: Arrived
    ) -> tuple[Iterator[pl.DataFrame], Mapping[str, StoredTable]]:
        """Joins the applied rows of a batch."""
        emission, joined = Emission(self.plan), _Joined.of(self, state, batch)
        joined.emit(emission)
        tables = joined.stored(state)
        joined.expire(emission, state.with_tables(tables))
        return emission.pieces(), tables

    def moved(self, state: JoinState, clocks: JoinClocks) -> pl.DataFrame:
        """Returns the rows that can get no partner any more."""
        found = {side: self.expiring(state, side, clocks) for side in self.awaits}
        rows, _ = by_time(self.plan, found.items())
        return rows

    def waiting(self, state: JoinState) -> dict[str, pl.DataFrame]:
        """Returns the stored rows. With semi and anti a left row that had a partner gets no other."""
        rows = {side: rows_of(state, side).all() for side in self.plan.ports}
        if self.spec.how in ("semi", "anti"):
            matched = matches_of(state, LEFT).all()[NUMBER]
            rows[LEFT] = rows[LEFT].filter(~pl.col(NUMBER).is_in(matched.implode()))
        return rows

    def furthest_behind(self) -> int:
        """Returns how far the event time of an emitted row may lie behind the lower horizon."""
        last = {side: max(0, reach[1]) for side, reach in self.reach.items()}
        pairs = {**last, "earlier": max(last.values())}
        alone = (LEFT,) if self.spec.how == "semi" else self.spec.outer_sides
        return max([pairs.get(self.spec.timestamp or "later", 0), *(last[side] for side in alone)])

    def next_due(self, state: JoinState) -> int | None:
        """Returns the first watermark at which a row expires that had no partner when it arrived."""
        firsts = []
        for side in self.awaits:
            table = queue_of(state, side)
            first = table.next_end(table.horizon)
            if first is not None:
                firsts.append(first + 1 + self.spec.sides[OTHER[side]].allowed_lateness.us)
        return min(firsts, default=None)

    def expiring(self, state: JoinState, side: str, clocks: JoinClocks) -> pl.DataFrame:
        """Returns the stored rows without a partner that expire while the clocks of the state move to these.

        They are in the order of time and arrival. They have the columns of the queue.
        """
        before, after = (one.passed(self.spec, OTHER[side]) for one in (state.clocks, clocks))
        queue = queue_of(state, side)
        if after is None or after == before:
            return pl.DataFrame(schema=queue.shape.schema)
        return ordered(without_partner(state, side, queue.between(before, after)), [TIME, NUMBER])


def rows_of(state: JoinState, side: str) -> RowsByKey:
    """Returns the table of the rows of a side."""
    return cast(RowsByKey, state.tables[side])


def queue_of(state: JoinState, side: str) -> TimeQueue:
    """Returns the queue of the stored rows of a side that had no partner when they arrived."""
    return cast(TimeQueue, state.tables[f"{side} {_UNMATCHED}"])


@dataclass(frozen=True)
class _Joined(Outcome):
    """A batch after it was matched.

    Attributes:
        method: the method.
        keyed: by side the applied rows whose keys are not null.
    """

    method: IntervalJoin
    keyed: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, method: IntervalJoin, state: JoinState, batch: Arrived) -> "_Joined":
        """Matches the rows of a batch."""
        plan = method.plan
        rows = {
            side: as_stored(plan.ports[side], batch.applied.get(side), shape.schema, method.reach[side][1])
            for side, shape in method.rows.items()
        }
        keyed = {side: with_keys(plan.ports[side], one) for side, one in rows.items()}
        matching = Matching.of(method, {side: rows_of(state, side) for side in rows}, keyed)
        pieces = matching if matching.long else [*matching]
        shapes = {side: method.rows[side] for side in method.remembers}
        partnered = first_partners(state, shapes, pieces, batch, plan.spec)
        return cls(plan, batch, rows, pieces, partnered, method, keyed)

    def emit(self, emission: Emission) -> None:
        """Emits retractions, pairs, and the rows that are emitted without a partner as they arrive."""
        self.emit_pairs(emission)
        if self.plan.spec.unmatched == "early":
            self.emit_early(emission)
        else:
            sides = self.plan.spec.outer_sides
            self.emit_single(emission, UNMATCHED, {side: self._never(side) for side in sides}, NUMBER)

    def expire(self, emission: Emission, state: JoinState) -> None:
        """Emits the stored rows without a partner that expire by the horizons of the batch.

        `state` is the state after the batch, with the horizons before it.
        """
        before, after = {}, {}
        for side in self.method.awaits:
            due = self.method.expiring(state, side, self.batch.clocks)
            turns, at_once = expiry_turns(due, self.batch, OTHER[side])
            due = due.with_columns(pl.Series(FIRST, turns + self.batch.first_number))
            before[side], after[side] = (due.filter(pl.Series(mask)) for mask in (at_once, ~at_once))
        self.emit_single(emission, UNMATCHED, before, FIRST)
        self.emit_single(emission, EXPIRED, after, FIRST)

    def stored(self, state: JoinState) -> dict[str, StoredTable]:
        """Returns the tables with the rows of the batch, and with which rows got a partner."""
        tables = dict(state.tables)
        for side, one in self.keyed.items():
            rows = rows_of(state, side)
            new = self._to_store(side, one, rows.horizon)
            tables[side] = sealed_if_long(rows.put(new))
            if side in self.method.awaits:
                alone = filter_rows(new, ~new[MATCHED])
                tables[f"{side} {_UNMATCHED}"] = sealed_if_long(queue_of(state, side).put(alone))
        for side in self.method.remembers:
            table = matches_of(state, side)
            matched = self.partnered[side].filter(pl.col(NUMBER) < self.batch.first_number)
            if matched.height:
                none = table.newest.clear().drop(TOMBSTONE)
                changed = table.changed(matched.select(*table.shape.schema), none)
                tables[matches_name(side)] = sealed_if_long(changed)
        return tables

    def _to_store(self, side: str, rows: pl.DataFrame, horizon: int | None) -> pl.DataFrame:
        """Returns the rows that can still get a partner, marked where they have had one."""
        rows = ending_after(rows, horizon)
        if side not in self.partnered or rows.is_empty():
            return rows
        have = rows[NUMBER].is_in(self.partnered[side][NUMBER].implode())
        if self.plan.spec.how in ("semi", "anti"):
            return filter_rows(rows, ~have)
        return rows.with_columns(have.alias(MATCHED))

    def _never(self, side: str) -> pl.DataFrame:
        """Returns the rows without a partner that can get none after the batch, and are not stored."""
        rows, horizon = without(self.rows[side], self.partnered[side], [NUMBER]), self._horizon(side)
        keyless = without(rows, self.keyed[side], [NUMBER])
        if horizon is None:
            return keyless
        return pl.concat([keyless, without(rows.filter(pl.col(END) <= horizon), keyless, [NUMBER])])

    def _horizon(self, side: str) -> int | None:
        return self.batch.clocks_before.passed(self.plan.spec, OTHER[side])
