"""Interval joins: a row waits for partners until the horizon of the other side has passed it.

Each side has a table of the rows that can still get a partner. Where it matters whether a row had one, a
second table has the numbers of the stored rows that got one after their arrival. So no stored row is ever
changed, and a step writes as much as arrives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import polars as pl

from panewise.engine.columns import END, MATCHED, NUMBER, TIME, TOMBSTONE
from panewise.engine.join.arrival import Arrived, Instants
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.emission import (
    EXPIRED,
    PAIRED,
    RETRACTED,
    UNMATCHED,
    Emission,
    by_time,
    pair_rows,
    single_rows,
)
from panewise.engine.join.expiry import expiry_turns
from panewise.engine.join.matching import Pairs, pairs
from panewise.engine.join.plan import JoinPlan, as_stored, with_keys
from panewise.engine.join.state import JoinState
from panewise.engine.kernels.frames import filter_rows, ordered, without
from panewise.engine.store.rows_by_key import RowsByKey
from panewise.engine.store.run import MemoryLibrary, Shape
from panewise.engine.store.stored_table import StoredTable, sealed_if_long
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.match import Interval

FIRST: Final = "__first"  # the number of the later row of a row's first pair
_MATCHES: Final = "matches"


class IntervalJoin:
    """The method of a join with an interval: :class:`panewise.engine.join.method.Method`."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan, self.spec = plan, plan.spec
        match = self.spec.match
        assert isinstance(match, Interval)
        first, last = match.first, match.last
        # How far after a row of a side the first and the last row lie that match it, in microseconds (37.1).
        self.reach = {LEFT: (first, last), RIGHT: (-last, -first)}
        one_sided = (LEFT,) if self.spec.how == "semi" else ()
        # The sides for which it matters whether a stored row had a partner.
        self.remembers = (*self.spec.outer_sides, *one_sided)
        self.rows = {side: self._shape(side) for side in plan.ports}

    def _shape(self, side: str) -> Shape:
        port = self.plan.ports[side]
        matched = {MATCHED: pl.Boolean()} if side in self.remembers else {}
        return Shape({**port.stored, **matched}, [TIME, NUMBER], port.keys)

    def tables(self) -> dict[str, StoredTable]:
        """Returns the tables of rows, and of the numbers of matched rows."""
        tables: dict[str, StoredTable] = {
            side: RowsByKey.nothing(shape, MemoryLibrary()) for side, shape in self.rows.items()
        }
        matches = Shape({NUMBER: pl.Int64(), END: pl.Int64()}, [NUMBER], [NUMBER])
        for side in self.remembers:
            tables[f"{side} {_MATCHES}"] = StoredTable.nothing(matches, MemoryLibrary())
        return tables

    def horizons(self, clocks: JoinClocks) -> dict[str, int | None]:
        """Returns the horizons: all tables of a side have what the horizon of the other side has passed."""
        of_side = {side: clocks.passed(self.spec, OTHER[side]) for side in self.plan.ports}
        return of_side | {f"{side} {_MATCHES}": of_side[side] for side in self.remembers}

    def joined(self, state: JoinState, batch: Arrived) -> tuple[pl.DataFrame, Mapping[str, StoredTable]]:
        """Joins the applied rows of a batch."""
        emission, joined = Emission(self.plan), _Joined.of(self, state, batch)
        joined.emit(emission)
        tables = joined.stored(state)
        joined.expire(emission, state.with_tables(tables))
        return emission.rows(), tables

    def moved(self, state: JoinState, clocks: JoinClocks) -> pl.DataFrame:
        """Returns the rows that can get no partner any more."""
        found = {}
        if self.spec.unmatched == "final":
            found = {side: self.expiring(state, side, clocks) for side in self.spec.outer_sides}
        rows, _ = by_time(self.plan, found.items())
        return rows

    def waiting(self, state: JoinState) -> dict[str, pl.DataFrame]:
        """Returns the stored rows. With semi and anti a left row that had a partner gets no other."""
        rows = {side: rows_of(state, side).all() for side in self.plan.ports}
        if self.spec.how in ("semi", "anti"):
            matched = state.tables[f"{LEFT} {_MATCHES}"].all()[NUMBER]
            rows[LEFT] = rows[LEFT].filter(~pl.col(NUMBER).is_in(matched.implode()))
        return rows

    def furthest_behind(self) -> int:
        """Returns how far the event time of an emitted row may lie behind the lower horizon."""
        last = {side: max(0, reach[1]) for side, reach in self.reach.items()}
        pairs = {**last, "earlier": max(last.values())}
        alone = (LEFT,) if self.spec.how == "semi" else self.spec.outer_sides
        return max([pairs.get(self.spec.timestamp or "later", 0), *(last[side] for side in alone)])

    def next_due(self, state: JoinState) -> int | None:
        """Returns the first watermark at which a row expires that is emitted then."""
        firsts = []
        for side in self.spec.outer_sides:
            table = state.tables[side]
            first = table.next_end(table.horizon)
            if first is not None:
                firsts.append(first + 1 + self.spec.sides[OTHER[side]].allowed_lateness.us)
        return min(firsts, default=None)

    def expiring(self, state: JoinState, side: str, clocks: JoinClocks) -> pl.DataFrame:
        """Returns the stored rows without a partner that expire while the clocks of the state move to these.

        They are in the order of time and arrival.
        """
        before, after = (one.passed(self.spec, OTHER[side]) for one in (state.clocks, clocks))
        table = rows_of(state, side)
        if after is None or after == before:
            return pl.DataFrame(schema=table.shape.schema)
        due = table.due(before, after)
        due = due.filter(~pl.col(MATCHED))
        found = matches_of(state, side).find(due.select(NUMBER)) if due.height else due
        return ordered(without(due, found, [NUMBER]) if found.height else due, [TIME, NUMBER])

    def first_partners(self, state: JoinState, side: str, found: Pairs, first_number: int) -> pl.DataFrame:
        """Returns the rows of a side that have their first partner among these pairs, in their order.

        They have the columns of the side's table, and `FIRST`. `first_number` is the first number of the
        batch.
        """
        _, places = np.unique(found.at[side], return_index=True)
        firsts = found.chosen(np.sort(places))
        rows = firsts.taken(side, self.rows[side].schema).with_columns(pl.Series(FIRST, firsts.later))
        rows = rows.filter(~pl.col(MATCHED))
        stored = rows.filter(pl.col(NUMBER) < first_number)
        if stored.is_empty():
            return rows
        return without(rows, matches_of(state, side).find(stored.select(NUMBER)), [NUMBER])


def rows_of(state: JoinState, side: str) -> RowsByKey:
    """Returns the table of the rows of a side."""
    return cast(RowsByKey, state.tables[side])


def matches_of(state: JoinState, side: str) -> StoredTable:
    """Returns the table with the numbers of the rows of a side that got a partner."""
    return state.tables[f"{side} {_MATCHES}"]


@dataclass(frozen=True)
class _Joined:
    """A batch after it was matched.

    Attributes:
        rows: by side the applied rows, as the tables store them.
        keyed: by side those of these rows whose keys are not null.
        pairs: the pairs, in the order of 40.3.
        partnered: by side the rows that got their first partner, for the sides for which that matters.
    """

    method: IntervalJoin
    batch: Arrived
    rows: Mapping[str, pl.DataFrame]
    keyed: Mapping[str, pl.DataFrame]
    pairs: Pairs
    partnered: Mapping[str, pl.DataFrame]

    @classmethod
    def of(cls, method: IntervalJoin, state: JoinState, batch: Arrived) -> "_Joined":
        """Matches the rows of a batch."""
        plan = method.plan
        rows = {
            side: as_stored(plan.ports[side], batch.applied.get(side), shape.schema, method.reach[side][1])
            for side, shape in method.rows.items()
        }
        keyed = {side: with_keys(plan.ports[side], one) for side, one in rows.items()}
        found = pairs(method, {side: rows_of(state, side) for side in rows}, keyed)
        partnered = {
            side: method.first_partners(state, side, found, batch.first_number) for side in method.remembers
        }
        return cls(method, batch, rows, keyed, found, partnered)

    def turns(self, numbers: pl.Series) -> Instants:
        """Returns the turn of the rows with these numbers."""
        if self.method.spec.evaluate == "batch":
            return np.zeros(len(numbers), dtype=np.int64)
        turns: Instants = numbers.to_numpy() - self.batch.first_number
        return turns

    def emit(self, emission: Emission) -> None:
        """Emits retractions, pairs, and the rows that are emitted without a partner as they arrive."""
        spec = self.method.spec
        if spec.unmatched == "early":
            self._single(
                emission, RETRACTED, {side: self._retracted(side) for side in spec.outer_sides}, FIRST, "-"
            )
        if spec.how == "semi":
            rows = self.partnered[LEFT]
            emission.add(PAIRED, self.turns(rows[FIRST]), single_rows(self.method.plan, LEFT, rows))
        elif spec.how != "anti":
            rows = pair_rows(self.method.plan, self.pairs)
            emission.add(PAIRED, self.turns(pl.Series(self.pairs.later)), rows)
        at_once = self._early if spec.unmatched == "early" else self._never
        self._single(emission, UNMATCHED, {side: at_once(side) for side in spec.outer_sides}, NUMBER)

    def expire(self, emission: Emission, state: JoinState) -> None:
        """Emits the stored rows without a partner that expire by the horizons of the batch.

        `state` is the state after the batch, with the horizons before it.
        """
        if self.method.spec.unmatched != "final":
            return
        before, after = {}, {}
        for side in self.method.spec.outer_sides:
            due = self.method.expiring(state, side, self.batch.clocks)
            turns, at_once = expiry_turns(due, self.batch, OTHER[side])
            due = due.with_columns(pl.Series(FIRST, turns + self.batch.first_number))
            before[side], after[side] = (due.filter(pl.Series(mask)) for mask in (at_once, ~at_once))
        self._single(emission, UNMATCHED, before, FIRST)
        self._single(emission, EXPIRED, after, FIRST)

    def stored(self, state: JoinState) -> dict[str, StoredTable]:
        """Returns the tables with the rows of the batch, and with which rows got a partner."""
        tables = dict(state.tables)
        for side, one in self.keyed.items():
            rows = rows_of(state, side)
            tables[side] = rows.put(self._to_store(side, one, rows.horizon)).sealed_if_long()
        for side in self.method.remembers:
            table = matches_of(state, side)
            matched = self.partnered[side].filter(pl.col(NUMBER) < self.batch.first_number)
            if matched.height:
                none = table.newest.clear().drop(TOMBSTONE)
                changed = table.changed(matched.select(*table.shape.schema), none)
                tables[f"{side} {_MATCHES}"] = sealed_if_long(changed)
        return tables

    def _to_store(self, side: str, rows: pl.DataFrame, horizon: int | None) -> pl.DataFrame:
        """Returns the rows that can still get a partner, marked where they have had one."""
        if horizon is not None:
            rows = filter_rows(rows, rows[END] > horizon)
        if side not in self.partnered or rows.is_empty():
            return rows
        have = rows[NUMBER].is_in(self.partnered[side][NUMBER].implode())
        if self.method.spec.how in ("semi", "anti"):
            return filter_rows(rows, ~have)
        return rows.with_columns(have.alias(MATCHED))

    def _retracted(self, side: str) -> pl.DataFrame:
        """Returns the rows that were emitted without a partner before they got one."""
        rows = self.partnered[side]
        emitted = pl.col(NUMBER) < self.batch.first_number
        if self.method.spec.evaluate == "record":
            emitted = emitted | (pl.col(FIRST) > pl.col(NUMBER))
        return rows.filter(emitted)

    def _early(self, side: str) -> pl.DataFrame:
        """Returns the rows that have no partner in the evaluation after their arrival."""
        partnered = self.partnered[side]
        if self.method.spec.evaluate == "record":
            partnered = partnered.filter(pl.col(FIRST) == pl.col(NUMBER))
        return without(self.rows[side], partnered, [NUMBER])

    def _never(self, side: str) -> pl.DataFrame:
        """Returns the rows without a partner that can get none after the batch, and are not stored."""
        rows, horizon = without(self.rows[side], self.partnered[side], [NUMBER]), self._horizon(side)
        keyless = without(rows, self.keyed[side], [NUMBER])
        if horizon is None:
            return keyless
        return pl.concat([keyless, without(rows.filter(pl.col(END) <= horizon), keyless, [NUMBER])])

    def _horizon(self, side: str) -> int | None:
        return self.batch.clocks_before.passed(self.method.spec, OTHER[side])

    def _single(
        self, emission: Emission, part: int, rows: Mapping[str, pl.DataFrame], turn: str, op: str = "+"
    ) -> None:
        """Emits rows without a partner. `turn` is the column with the number whose turn emits them."""
        emitted, numbers = by_time(self.method.plan, rows.items(), turn, op)
        emission.add(part, self.turns(numbers), emitted)
