"""The rows that an interval without a bound retains (semantics 37.1).

A retained row expires by event time. Without `retain_for` that is at the end of the other side's input.

By number, each stored row has its place among the applied rows of its key and side. Places begin at 0, and
again at 0 once all earlier rows of the key have expired. A table has the number of rows of each key. So a row
is retained while the place of the next row of its key is at most `retain_rows` above its own.

Cost: a look-up of its count for each key of a batch, and a sort of the batch by key and arrival. For the rows
that a batch evicts, the places of all stored rows of its keys are read, and the other columns only of these
rows. Rows that are no longer retained are removed when runs are merged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, NUMBER, ORDINAL, ROW_COUNT
from panewise.engine.join.batch.emission import FIRST
from panewise.engine.join.batch.join_batch import JoinBatch, turns_of
from panewise.engine.join.plan import JoinPlan, SidePort
from panewise.engine.join.search.candidate_slices import PIECE
from panewise.engine.join.search.pair_search import Pairs
from panewise.engine.join.search.rows_of_keys import SortedKeys
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import (
    Mask,
    equal_columns,
    expand_ranges,
    filter_rows,
    take_rows,
    vstack_frames,
)
from panewise.engine.kernels.sorting import Places, codes, order
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.rows_by_key import RowsByKey
from panewise.engine.tables.run import Shape
from panewise.engine.tables.time_queue import TimeQueue
from panewise.spec.operators.join.columns import OTHER

_CODE, _AFTER, _LOW = "__code", "__after", "__low"


@dataclass(frozen=True)
class RetainedRows(RowsByKey):
    """A table whose runs have only rows that may be among the last `latest` of their key.

    Attributes:
        latest: how many rows of a key are retained.
    """

    latest: int = 1

    def _merging(self, rows: pl.DataFrame, *, bottom: bool) -> pl.DataFrame:
        return _last_of_keys(rows, self.shape.by, self.latest)


@dataclass(frozen=True)
class RetainedQueue(TimeQueue):
    """A queue whose runs have only rows that may be among the last `latest` of their key.

    Attributes:
        keys: the columns of the key.
        latest: how many rows of a key are retained.
    """

    keys: tuple[str, ...] = ()
    latest: int = 1

    def _merging(self, rows: pl.DataFrame, *, bottom: bool) -> pl.DataFrame:
        return _last_of_keys(rows, self.keys, self.latest)


def _last_of_keys(rows: pl.DataFrame, keys: Sequence[str], count: int) -> pl.DataFrame:
    """Returns the rows that may be among the last `count` of their key: there may be later ones elsewhere."""
    if rows.is_empty():
        return rows
    code, ordinals = codes(rows, list(keys)), rows[ORDINAL].to_numpy()
    highest = np.full(int(code.max()) + 1, -1)
    np.maximum.at(highest, code, ordinals)
    return filter_rows(rows, pl.Series(ordinals > highest[code] - count))


def queue_for(port: SidePort, count: int | None) -> TimeQueue:
    """Returns an empty queue for rows of a side. `count` of a key are retained; None for any number."""
    if count is None:
        return TimeQueue.nothing(Shape(dict(port.alone), [END, NUMBER], []))
    keys = {name: port.stored[name] for name in port.keys}
    shape = Shape({**keys, **port.alone, ORDINAL: pl.Int64()}, [END, NUMBER], [])
    return replace(RetainedQueue.nothing(shape), keys=tuple(keys), latest=count)


def counts_name(side: str) -> str:
    """Returns the name of the table with the number of applied rows of each key of a side."""
    return f"{side} counts"


def no_counts(port: SidePort) -> LatestByKey:
    """Returns the table of these counts without rows."""
    own = {ROW_COUNT: pl.Int64(), NUMBER: pl.Int64(), END: pl.Int64()}
    shape = Shape({name: port.stored[name] for name in port.keys} | own, [NUMBER, NUMBER], port.keys)
    # Every look-up comes after all rows of the runs, so all of them are settled.
    return replace(LatestByKey.nothing(shape), settled=MAX_INSTANT)


def within_count(table: LatestByKey, rows: pl.DataFrame, count: int) -> pl.DataFrame:
    """Returns those stored rows that are among the last `count` of their key."""
    if rows.is_empty():
        return rows
    counts, _ = _known(table, rows)
    return filter_rows(rows, pl.Series(rows[ORDINAL].to_numpy() >= counts - count))


@dataclass(frozen=True)
class Counted:
    """The rows of a batch, counted by key.

    Attributes:
        rows: the rows of the side without null keys, with their places.
        seen: for each new row of the other side, by its place in the batch, how many rows of its key on this
            side arrived before it; -1 for other rows.
        counts: the new rows of the table of counts.
    """

    rows: pl.DataFrame
    seen: Instants
    counts: pl.DataFrame

    @classmethod
    def from_rows(
        cls,
        table: LatestByKey,
        plan: JoinPlan,
        side: str,
        keyed: Mapping[str, pl.DataFrame],
        batch: JoinBatch,
    ) -> Self:
        """Counts the applied rows of a side. `keyed` are those of both sides."""
        mine, others = keyed[side], keyed[OTHER[side]]
        names = table.shape.by
        renamed = dict(zip(plan.ports[OTHER[side]].keys, names, strict=True))
        both = vstack_frames([mine.select(names), others.select(*renamed).rename(renamed)]).rechunk()
        numbers = np.concatenate([mine[NUMBER].to_numpy(), others[NUMBER].to_numpy()])
        before, ends = _known(table, both)
        code = codes(both, list(names)) if both.height else np.empty(0, dtype=np.int64)
        own = np.arange(both.height) < mine.height
        seen = before + _earlier(code, numbers, own)
        rows = mine.with_columns(pl.Series(ORDINAL, seen[own], dtype=pl.Int64))
        of_others = np.full(batch.next_number - batch.first_number, -1)
        of_others[numbers[~own] - batch.first_number] = seen[~own]
        last = rows.with_columns(pl.Series(_CODE, code[own]), pl.Series(_AFTER, ends[own]))
        end = pl.max_horizontal(pl.col(END).max(), pl.col(_AFTER).max()).over(_CODE)
        last = last.with_columns(end.alias(END), (pl.col(ORDINAL) + 1).alias(ROW_COUNT))
        last = last.filter(pl.col(NUMBER) == pl.col(NUMBER).max().over(_CODE))
        return cls(rows, of_others, last.select(*table.shape.schema))


def _known(table: LatestByKey, keys: pl.DataFrame) -> tuple[Instants, Instants]:
    """Returns the stored number of rows of each key, and when it expires."""
    known = SortedKeys.from_rows(keys, table.shape.by).last(table, np.full(keys.height, MAX_INSTANT), 1)
    counts, ends = np.zeros(keys.height, dtype=np.int64), np.full(keys.height, MIN_INSTANT)
    counts[known.which], ends[known.which] = known.column(ROW_COUNT), known.column(END)
    expired = np.zeros_like(counts, dtype=np.bool_) if table.horizon is None else ends <= table.horizon
    return np.where(expired, 0, counts), ends


def _earlier(code: Instants, numbers: Instants, own: Mask) -> Instants:
    places: Places = order([code, numbers])
    ours, sorted_codes = own[places].astype(np.int64), code[places]
    total = np.cumsum(ours) - ours
    starts = np.flatnonzero(np.append(True, sorted_codes[1:] != sorted_codes[:-1])[: len(code)])
    group = np.searchsorted(starts, np.arange(len(code)), side="right") - 1
    earlier = np.empty(len(code), dtype=np.int64)
    earlier[places] = total - total[starts][group] if len(code) else total
    return earlier


@dataclass(frozen=True)
class Retention:
    """The retention of a batch.

    Attributes:
        sides: the sides whose rows match a later row only if they have not expired.
        count: how many rows of a key; None for any number.
        counted: by side the rows of the batch, if their number is limited.
    """

    plan: JoinPlan
    batch: JoinBatch
    sides: tuple[str, ...]
    count: int | None
    counted: Mapping[str, Counted]

    def of_pairs(self, pairs: Pairs) -> Pairs:
        """Returns the pairs whose earlier row was retained when the later one arrived."""
        keeps = np.ones(len(pairs), dtype=np.bool_)
        for side in self.sides:
            mine, others = pairs.numbers(side), pairs.numbers(OTHER[side])
            place = np.maximum(others - self.batch.first_number, 0)
            turns = turns_of(self.plan, pl.Series(place), 0)
            retained = pairs.values(side, END) >= self.batch.horizons.before[OTHER[side]][turns]
            if self.count is not None:
                retained &= pairs.values(side, ORDINAL) >= self.counted[side].seen[place] - self.count
            keeps &= retained | (mine > others)
        return pairs if keeps.all() else pairs.chosen(np.flatnonzero(keeps))

    def seen(self, side: str, numbers: pl.Series) -> Instants:
        """Returns how many rows of its key on a side arrived before each new row of the other side."""
        seen: Instants = self.counted[side].seen[numbers.to_numpy() - self.batch.first_number]
        return seen

    def evicted(self, side: str, table: RowsByKey) -> pl.DataFrame:
        """Returns the old and new rows that rows of the batch evict. `FIRST` is the number of that row.

        They may have had a partner. Rows that have expired by then are not among them.
        """
        assert self.count is not None
        new, keys = self.counted[side].rows, list(table.shape.by)
        if new.is_empty():
            return new.with_columns(pl.col(NUMBER).alias(FIRST))
        old = placed_with(table, new.with_columns(pl.col(ORDINAL) - self.count))
        if table.horizon is not None:
            old = filter_rows(old, old[END] > table.horizon)
        both = vstack_frames([old, new.select(old.columns)]).rechunk()
        both = both.with_columns(pl.Series(_CODE, codes(both, keys)))
        evictors = both[old.height :].select(_CODE, pl.col(ORDINAL) - self.count, pl.col(NUMBER).alias(FIRST))
        both = both.join(evictors, on=[_CODE, ORDINAL], how="inner", maintain_order="left")
        turns = turns_of(self.plan, both[FIRST], self.batch.first_number)
        expires, at_once = self.batch.expiry_turns(both, OTHER[side])
        return filter_rows(both, pl.Series(~at_once & (turns <= expires))).drop(_CODE)


def placed_with(table: RowsByKey, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the stored rows of each key from the lowest to the highest place of its `rows`.

    Only the places are read of the other rows of the keys.
    """
    keys = list(table.shape.by)
    coded = rows.with_columns(pl.Series(_CODE, codes(rows, keys)))
    full = coded.filter(pl.col(ORDINAL).max().over(_CODE) >= 0)
    wanted = full.group_by(_CODE).agg(
        *(pl.col(name).first() for name in keys), pl.col(ORDINAL).min().alias(_LOW), pl.col(ORDINAL).max()
    )
    sought, ends = SortedKeys.from_rows(wanted, keys), np.full(wanted.height, MAX_INSTANT)
    low, high = (wanted[name].to_numpy()[sought.places] for name in (_LOW, ORDINAL))
    placed = [table.shape.no_rows]
    for part in sought.slices(table, np.full_like(ends, MIN_INSTANT), ends):
        places = part.rows[ORDINAL].to_numpy()
        for piece in part.cut(PIECE):
            at = expand_ranges(piece.starts, piece.lengths)
            which = np.repeat(np.arange(wanted.height), piece.lengths)
            inside = np.flatnonzero((places[at] >= low[which]) & (places[at] <= high[which]))
            at, which = at[inside], which[inside]
            same = equal_columns(sought.rows, which, keys, part.rows, at, keys)
            placed.append(take_rows(part.rows[list(table.shape.schema)], at[same]))
    return vstack_frames(placed)
