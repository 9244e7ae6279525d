"""The operator of S1's windowed stream join (semantics 37.14 to 37.19).

An applied row waits until its side releases it. A released row looks for partners among the released rows
of the other side, and is then one of its own side. So each pair is found once, by the row that is released
later.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias, cast

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.ingest.output import Output
from panewise.engine.join.batch.arrival import Arrived, Turns
from panewise.engine.join.batch.emission import pair_rows
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.pairing import PairingEngine
from panewise.engine.join.plan import JoinPlan, keys_of
from panewise.engine.join.search.candidate_slices import steps
from panewise.engine.join.search.found_pairs import pairs_of
from panewise.engine.join.search.matching import Pairs, with_condition
from panewise.engine.join.search.rows_of_keys import Found
from panewise.engine.join.state import JoinState
from panewise.engine.join.streams.clocks import StreamsClocks, StreamsState
from panewise.engine.join.streams.contents import (
    Lookup,
    least_retained,
    listed,
    nothing,
    ranges,
    stored,
)
from panewise.engine.join.streams.last_rows import LastRowsLookup, Range, last_of_keys
from panewise.engine.join.streams.releases import Gates, Releases, no_rows, waiting_name
from panewise.engine.kernels.frames import vstack_frames
from panewise.engine.kernels.instants import Instants
from panewise.engine.protocol import Schemas
from panewise.engine.store.rows_by_key import RowsByKey
from panewise.engine.store.stored_table import StoredTable
from panewise.spec import JoinOperator, WindowedStreams
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT

Search: TypeAlias = Lookup | LastRowsLookup
FEW = 4  # into so many searches the rows of a side are divided at most


class StreamsEngine(PairingEngine):
    """A windowed stream join on Polars frames.

    Args:
        spec: the specification.
        schemas: the types of the columns of both sides.

    Raises:
        SpecError: as :class:`panewise.engine.join.operator.JoinEngine` does.
    """

    state: StreamsState

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        self.spec, self.plan = spec, JoinPlan.of(spec, schemas)
        match = spec.match
        assert isinstance(match, WindowedStreams)
        self.match, self.gates = match, Gates(self.plan, match)
        ports = self.plan.ports
        tables: dict[str, StoredTable] = {
            side: nothing(port, match.windows[side]) for side, port in ports.items()
        }
        tables |= {waiting_name(side): no_rows(port) for side, port in ports.items()}
        self.state = StreamsState(tables)
        self.changed = False

    def horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table. Rows that wait do not expire."""
        assert isinstance(clocks, StreamsClocks)
        found = {side: clocks.table_horizon(self.spec, side) for side in self.plan.ports}
        return found | {waiting_name(side): None for side in self.plan.ports}

    def next_due(self) -> int | None:
        """Returns the first watermark that completes the window of a row that waits."""
        ends = [one.complete for one in self.state.clocks.waiting.values()]
        return min((end for end in ends if end is not None), default=None)

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows (semantics 40.4)."""
        clocks = self.state.clocks
        if all(clocks.none_to_come(self.spec, side) for side in self.plan.ports):
            return MAX_INSTANT
        lowest, behind = [clocks.lowest(self.spec, side) for side in OTHER], self._furthest_behind()
        known = [one for one in lowest if one is not None]
        return None if len(known) < len(lowest) or behind is None else saturating_add(min(known), -behind)

    def live(self) -> pl.DataFrame:
        """Returns the rows that wait and those that can match, each as the window [t, t + 1)."""
        return self.shown({side: self._stored(side) for side in self.plan.ports})

    def _stored(self, side: str) -> pl.DataFrame:
        port, clocks = self.plan.ports[side], self.state.clocks
        rows = cast(RowsByKey, self.state.tables[side]).all()
        rows = listed(rows, self.match.windows[side], port.keys, clocks.listed_from(self.spec, side))
        waiting = self.state.tables[waiting_name(side)].all()
        return pl.concat([one.select(*port.keys, TIME) for one in (rows, waiting)])

    def _furthest_behind(self) -> int | None:
        """Returns how far `join_time` may lie behind the rows that are still to be released; None: any."""
        sizes = {side: one.size for side, one in self.match.windows.items()}
        of: dict[str, list[int | None]] = {"later": [0], LEFT: [sizes[LEFT]], RIGHT: [sizes[RIGHT]]}
        found = of.get(str(self.spec.timestamp), [*sizes.values()])
        known = [one for one in found if one is not None]
        return max(known) if len(known) == len(found) else None

    def _joined(self, batch: Arrived) -> Iterator[pl.DataFrame]:
        """Releases rows of a batch and rows that wait, moves the clocks, and returns the pairs."""
        releases = self.gates.by_batch(self.state, batch)
        emitted = self._pieces(self.state, releases, batch.watermarks)
        first = next(emitted, pl.DataFrame(schema=self.plan.pane_schema))
        self.changed |= first.height > 0 or any(rows.height for rows in batch.applied.values())
        state = replace(self.state, marks=batch.marks, next_number=batch.next_number)
        self._finish_step(state, releases, batch.clocks)
        return chain([first], emitted)

    def _moved(self, clocks: JoinClocks) -> Output:
        """Moves the clocks, and emits the pairs of the rows that they release."""
        assert isinstance(clocks, StreamsClocks)
        releases = self.gates.by_clocks(self.state, clocks)
        marks = {
            side: np.array([MIN_INSTANT if one.watermark is None else one.watermark])
            for side, one in clocks.sides.items()
        }
        none = pl.DataFrame(schema=self.plan.pane_schema)
        panes = vstack_frames([none, *self._pieces(self.state, releases, Turns(marks, marks))])
        self._finish_step(self.state, releases, clocks)
        return replace(self._nothing(LEFT), panes=panes)

    def _finish_step(self, state: StreamsState, releases: Releases, clocks: JoinClocks) -> None:
        """Stores what was released and what waits, and moves the clocks."""
        assert isinstance(clocks, StreamsClocks)
        tables = {
            side: stored(state.tables[side], rows) for side, rows in releases.rows.items() if rows.height
        }
        state = replace(state, next_release=releases.next_release)
        clocks = replace(clocks, waiting=releases.waiting)
        self._set(replace(state.with_tables({**tables, **releases.tables}), clocks=clocks))

    def _pieces(self, state: JoinState, releases: Releases, watermarks: Turns) -> Iterator[pl.DataFrame]:
        """Yields the pairs of released rows in the order of their release, in pieces. None is empty.

        The rows that may match are found now, as the tables of the state change afterwards.
        """
        lookups = [one for side in releases.rows for one in self._lookups(state, side, releases, watermarks)]
        counts = np.zeros(releases.next_release - releases.first, dtype=np.int64)
        for lookup in lookups:
            counts[lookup.rows[NUMBER].to_numpy() - releases.first] = lookup.counts
        return self._emitted(releases, lookups, np.cumsum(counts))

    def _lookups(
        self, state: JoinState, side: str, releases: Releases, watermarks: Turns
    ) -> Iterator[Search]:
        """Yields the searches of the released rows of a side among those of the other side.

        If the other side has a retention by size, only the last rows of each key are read, and the rows that
        find the same rows are searched together, unless each row is released alone.
        """
        other, rows = OTHER[side], releases.rows[side]
        table, new = cast(RowsByKey, state.tables[other]), releases.rows[other]
        retained = self._retained_from(other, releases.positions[side], watermarks)
        windows = self.match.windows[side], self.match.windows[other]
        before = np.searchsorted(new[NUMBER].to_numpy(), rows[NUMBER].to_numpy())
        limits = np.unique(before)
        count = windows[1].retention_rows
        if count is None:
            yield Lookup.of(self.plan, side, windows, table.put(new), rows, retained)
            return
        if len(limits) > FEW:
            keys = keys_of(self.plan, side, rows)
            others = last_of_keys(table, keys, new, count)
            first, last = ranges(rows, *windows)
            within = Range(np.maximum(first, retained), last, count)
            yield LastRowsLookup.of(side, rows, keys, others, within)
            return
        for limit in limits.tolist():
            mine = before == limit
            some = rows.filter(pl.Series(mine))
            yield Lookup.of(
                self.plan, side, windows, table.put(new[:limit]), some, retained[mine], together=True
            )

    def _emitted(
        self, releases: Releases, lookups: Sequence[Search], ends: Instants
    ) -> Iterator[pl.DataFrame]:
        """Yields the pieces. `ends` has the number of candidates up to each released row."""
        for low, high in steps(ends):
            if ends[high - 1] > (ends[low - 1] if low else 0):
                first, last = low + releases.first, high - 1 + releases.first
                for pairs in self._pairs(lookups, first, last):
                    if len(pairs):
                        yield pair_rows(self.plan, pairs)

    def _pairs(self, lookups: Sequence[Search], first: int, last: int) -> Iterator[Pairs]:
        """Yields the pairs of the rows with these numbers: all at once, or those of one row in pieces."""
        mine = [(one, one.rows[NUMBER].is_between(first, last).to_numpy()) for one in lookups]
        found = [(one, one.found(chosen, cut=first == last)) for one, chosen in mine if chosen.any()]
        for pieces in zip(*(pieces for _, pieces in found), strict=True):
            yield self._joined_rows([(one, it) for (one, _), it in zip(found, pieces, strict=True)])

    def _joined_rows(self, found: Sequence[tuple[Search, Found]]) -> Pairs:
        """Returns the pairs of what rows have found (semantics 40.3)."""
        nothing = {side: pl.DataFrame(schema=port.stored) for side, port in self.plan.ports.items()}
        pairs = pairs_of(nothing, [(lookup.side, lookup.rows, one) for lookup, one in found])
        return with_condition(self.plan, pairs).in_order()

    def _retained_from(self, side: str, positions: Instants, watermarks: Turns) -> Instants:
        """Returns the least event time in the retention of a side in each of these evaluations."""
        turns, moved = positions // 2, positions % 2 == 1
        marks = np.where(moved, watermarks.after[side][turns], watermarks.before[side][turns])
        return least_retained(self.match.windows[side], marks)
