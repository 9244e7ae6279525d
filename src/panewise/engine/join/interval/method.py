"""Interval joins: a row waits until the other side's horizon passes the last instant at which it can match.

Each side has a table of the rows that can still get a partner. Where it matters whether a row had one, a
second table has the numbers of the stored rows that got their first one in a later batch. So no stored row
is ever changed. Where rows without a partner are emitted when they expire, the rows that had none when they
arrived are also in a queue, in the order in which they expire. So a step reads only the rows that are due.
Apart from merges, it writes the new rows that can still match, their entries in the queue, and the numbers of
the stored rows that got their first partner. Rows of a retained side can also be evicted by number (37.1).

Invariant: a row is stored as long as a row of the other side that is not late may match it. So all pairs of a
new row are among the stored rows and those of its batch. Cost: a look-up of each new row in each run of the
other side, and a comparison with each row in its interval.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, MATCHED, NUMBER, ORDINAL, TIME
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
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.interval.late_rows import furthest_behind_with_late_rows
from panewise.engine.join.interval.retained_candidates import candidates_by_arrival
from panewise.engine.join.interval.retention import (
    Counted,
    RetainedRows,
    Retention,
    counts_name,
    no_counts,
    queue_for,
    within_count,
)
from panewise.engine.join.plan import JoinPlan, as_stored, ending_after, last_match, with_keys
from panewise.engine.join.search.pair_search import Matching
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.small_frames import filter_rows, ordered, vstack_frames, without
from panewise.engine.progress.clocks import highest
from panewise.engine.tables.rows_by_key import RowsByKey
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable
from panewise.spec import UNLIMITED, JoinOperator
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.interval import Interval

_UNMATCHED: Final = "unmatched"


def table_names(spec: JoinOperator) -> tuple[str, ...]:
    """Returns the names of the tables of rows, of matched rows, of the queues, and of counts."""
    assert isinstance(spec.match, Interval)
    matches, counts = map(matches_name, remembered_sides(spec)), map(counts_name, _counted(spec.match))
    return (LEFT, RIGHT, *matches, *map(_unmatched_name, _sides_that_wait(spec)), *counts)


def _unmatched_name(side: str) -> str:
    return f"{side} {_UNMATCHED}"


def _counted(match: Interval) -> tuple[str, ...]:
    """Returns the sides whose rows are retained up to a number."""
    return match.retained if match.retain_rows is not None else ()


def _sides_that_wait(spec: JoinOperator) -> tuple[str, ...]:
    """Returns the sides whose rows are emitted if they expire without a partner."""
    return spec.outer_sides if spec.unmatched == "final" else ()


class IntervalJoin:
    """The method of a join with an interval: :class:`panewise.engine.join.method.Method`."""

    def __init__(self, plan: JoinPlan) -> None:
        self.plan, self.spec = plan, plan.spec
        match = self.spec.match
        assert isinstance(match, Interval)
        self.match, first, last = match, match.first, match.last
        # How far after a row of a side the first and the last row lie that match it, in microseconds (37.1).
        # None: any distance.
        back = (None if last is None else -last, None if first is None else -first)
        self.reach = {LEFT: (first, last), RIGHT: back}
        self.counted, self.remembers = _counted(match), remembered_sides(self.spec)
        self.sides_that_wait = _sides_that_wait(self.spec)
        self.rows = {side: self._shape(side) for side in plan.ports}
        self.ends = {side: last_match(match.waits[side]) for side in plan.ports}

    def _shape(self, side: str) -> Shape:
        port = self.plan.ports[side]
        matched = {MATCHED: pl.Boolean()} if side in self.remembers else {}
        ordinal = {ORDINAL: pl.Int64()} if side in self.counted else {}
        return Shape({**port.stored, **matched, **ordinal}, [TIME, NUMBER], port.keys)

    def tables(self) -> dict[str, StoredTable]:
        """Returns the tables of rows, those of matched rows, the queues, and the counts of retained rows."""
        tables: dict[str, StoredTable] = {side: RowsByKey.nothing(shape) for side, shape in self.rows.items()}
        for side in self.counted:
            nothing = RetainedRows.nothing(self.rows[side])
            tables[side] = replace(nothing, latest=self.match.retain_rows or 1)
        for side in self.remembers:
            tables[matches_name(side)] = no_matches()
        for side in self.sides_that_wait:
            port, count = self.plan.ports[side], self.match.retain_rows if side in self.counted else None
            tables[_unmatched_name(side)] = queue_for(port, count)
        return tables | {counts_name(side): no_counts(self.plan.ports[side]) for side in self.counted}

    def table_horizons(self, clocks: JoinClocks) -> dict[str, int | None]:
        """Returns the horizon of each table: the last instant that the other side's horizon has passed."""
        of_side = {side: clocks.passed(self.spec, OTHER[side]) for side in self.plan.ports}
        matches = {matches_name(side): of_side[side] for side in self.remembers}
        counts = {counts_name(side): of_side[side] for side in self.counted}
        return (
            of_side
            | matches
            | {_unmatched_name(side): of_side[side] for side in self.sides_that_wait}
            | counts
        )

    def add(self, state: JoinState, batch: JoinBatch) -> tuple[Iterator[pl.DataFrame], JoinState]:
        """Joins the applied rows of a batch."""
        emission, outcome = JoinEmission(self.plan), IntervalOutcome.from_batch(self, state, batch)
        outcome.emit(emission)
        tables = outcome.stored(state)
        outcome.emit_final(emission, state, state.with_tables(tables))
        return emission.pieces(), state.after({**tables, **outcome.counts(state)}, batch.clocks)

    def advance(self, state: JoinState, clocks: JoinClocks) -> tuple[pl.DataFrame, JoinState]:
        """Returns the rows without a partner that expire while the clocks move to these."""
        expiring = {side: self.expiring(state, side, clocks) for side in self.sides_that_wait}
        rows, _ = by_time(self.plan, expiring.items())
        return rows, state.after({}, clocks)

    def furthest_behind(self) -> int | None:
        """Returns how far the event time of an emitted row may lie behind the lower horizon; None: any."""
        if self.match.late == "join":
            return furthest_behind_with_late_rows(self.spec, self.match)
        lengths = self.match.waits
        of_pairs = {LEFT: [LEFT], RIGHT: [RIGHT], "earlier": [LEFT, RIGHT]}
        alone = (LEFT,) if self.spec.how == "semi" else self.spec.outer_sides
        behind = [lengths[side] for side in (*of_pairs.get(self.spec.timestamp or "later", []), *alone)]
        return None if None in behind else highest([0, *behind])

    def next_due(self, state: JoinState) -> int | None:
        """Returns the first watermark at which a row expires that had no partner when it arrived."""
        firsts = []
        for side in self.sides_that_wait:
            table = state.queue(_unmatched_name(side))
            first = table.next_end(table.horizon)
            if first is not None and first < MAX_INSTANT:
                firsts.append(first + 1 + self.spec.sides[OTHER[side]].allowed_lateness.us)
        return min(firsts, default=None)

    def expiring(self, state: JoinState, side: str, clocks: JoinClocks) -> pl.DataFrame:
        """Returns the stored rows without a partner that expire while the clocks of the state move to these.

        They are in the order of time and arrival. They have the columns of the queue. Rows that are evicted
        as of the counts of the state are not among them.
        """
        before, after = (at.passed(self.spec, OTHER[side]) for at in (state.clocks, clocks))
        queue = state.queue(_unmatched_name(side))
        if after is None or after == before:
            return queue.shape.no_rows
        due = self._retained(state, side, queue.between(before, after))
        return ordered(without_partner(state, side, due), [TIME, NUMBER])

    def _retained(self, state: JoinState, side: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the stored rows of a side that are not evicted by number."""
        if side not in self.counted:
            return rows
        return within_count(state.latest(counts_name(side)), rows, self.match.retain_rows or 1)


@dataclass(frozen=True)
class IntervalOutcome(Outcome):
    """A batch after it was matched.

    Attributes:
        keyed: by side the applied rows whose keys are not null.
        retention: the retention of the sides that have no last instant.
        evicted: by side the rows that rows of the batch evict (37.1), where it matters whether a row had a
            partner.
    """

    method: IntervalJoin
    keyed: Mapping[str, pl.DataFrame]
    retention: Retention
    evicted: Mapping[str, pl.DataFrame]

    @classmethod
    def from_batch(cls, method: IntervalJoin, state: JoinState, batch: JoinBatch) -> "IntervalOutcome":
        """Matches the rows of a batch."""
        plan = method.plan
        rows = {
            side: as_stored(batch.applied.get(side), shape.schema, method.ends[side])
            for side, shape in method.rows.items()
        }
        keyed = {side: with_keys(plan.ports[side], of_side) for side, of_side in rows.items()}
        counted = {
            side: Counted.from_rows(state.latest(counts_name(side)), plan, side, keyed, batch)
            for side in method.counted
        }
        keyed |= {side: rows_counted.rows for side, rows_counted in counted.items()}
        match = method.match
        # A row that is not behind the horizon of its side matches no row that has expired.
        sides = tuple(plan.ports) if match.late == "join" else match.retained
        retention = Retention(plan, batch, sides, match.retain_rows, counted)
        chosen = retention.of_pairs if sides and match.retain_for != UNLIMITED else None
        stored = {side: state.rows(side) for side in rows}
        matching = Matching.prepare(method, stored, keyed, chosen)
        if counted and matching.long:
            candidates = [*candidates_by_arrival(method, retention, stored, matching.new)]
            matching = replace(matching, candidates=candidates, by_arrival=True)
        pieces = matching if matching.long else [*matching]
        shapes = {side: method.rows[side] for side in method.remembers}
        partnered = first_partners(state, shapes, pieces, batch, plan.spec)
        evicted = {
            side: retention.evicted(side, state.rows(side)) for side in method.remembers if side in counted
        }
        return cls(plan, batch, rows, pieces, partnered, method, keyed, retention, evicted)

    def emit(self, emission: JoinEmission) -> None:
        """Emits retractions and pairs, and with "early" the rows that have no partner as they arrive."""
        self.emit_pairs(emission)
        if self.plan.spec.unmatched == "early":
            self.emit_early(emission)

    def emit_final(self, emission: JoinEmission, before: JoinState, after: JoinState) -> None:
        """Emits rows without a partner: those that can get none, and those that expire in the batch.

        `before` is the state before the batch. `after` has the new tables, but the horizons and the counts
        from before the batch. A row that expires before its eviction is emitted when it expires.
        """
        by_rows, later = {}, {}
        for side in self.method.sides_that_wait:
            due = self.method.expiring(after, side, self.batch.clocks)
            due = without(due, self.evicted[side], [NUMBER]) if side in self.evicted else due
            turns, at_once = self.batch.expiry_turns(due, OTHER[side])
            due = due.with_columns(pl.Series(FIRST, turns + self.batch.first_number))
            never = self._never(side)
            single = [never.with_columns(never[NUMBER].alias(FIRST)), due.filter(pl.Series(at_once))]
            if side in self.evicted:
                alone = without(self.evicted[side], self.partnered[side], [NUMBER])
                single.append(without_partner(before, side, alone))
            names = [*self.plan.ports[side].alone, FIRST]
            by_rows[side] = vstack_frames([rows.select(names) for rows in single])
            later[side] = due.filter(pl.Series(~at_once))
        self.emit_single(emission, UNMATCHED, by_rows, FIRST)
        self.emit_single(emission, EXPIRED, later, FIRST)

    def stored(self, state: JoinState) -> dict[str, StoredTable]:
        """Returns the tables after the batch, with the counts before it.

        They have the rows of the batch, and which of the rows that are not evicted got a partner.
        """
        tables = dict(state.tables)
        for side, of_side in self.keyed.items():
            rows = state.rows(side)
            new = self._to_store(side, of_side, rows.horizon)
            tables[side] = rows.put(new)
            if side in self.method.sides_that_wait:
                alone = filter_rows(new, ~new[MATCHED])
                tables[_unmatched_name(side)] = state.queue(_unmatched_name(side)).put(alone)
        for side in self.method.remembers:
            tables[matches_name(side)] = self._matches(state, side)
        return tables

    def _matches(self, state: JoinState, side: str) -> StoredTable:
        """Returns the matches with the stored rows that got a partner, and without the evicted ones.

        The counts identify evicted rows, so their matches are not needed. Without `retain_for` they would
        stay until the end of the input.
        """
        stored = pl.col(NUMBER) < self.batch.first_number
        evicted = self.evicted[side].filter(stored) if side in self.evicted else None
        return changed_matches(state, side, self.partnered[side].filter(stored), evicted)

    def counts(self, state: JoinState) -> dict[str, StoredTable]:
        """Returns the tables of counts after the batch."""
        counted = self.retention.counted.items()
        return {counts_name(side): state.latest(counts_name(side)).put(rows.counts) for side, rows in counted}

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
