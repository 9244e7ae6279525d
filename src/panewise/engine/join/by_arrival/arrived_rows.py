"""The windows of rows by arrival, one for each key of a side (semantics 37.4, 37.5, 37.7).

A window always contains the rows of its key from a first one on, in the order of their numbers. So its first
row determines it:

- by count it is the n-th row from the end;
- by time it is the first row that has not expired;
- by delta each row is stored with the number of the first row of the window that it was inserted into.

By delta an arriving row evicts rows from the start of the window while their values are more than the delta
below its own. The row with the highest value so far, M, has evicted the most, and only a higher value evicts
it. So the window begins with the first row whose value is near enough to M. That is also the first row up to
which the running maximum is near enough. The running maximum never decreases, so a binary search finds it.

Cost: the insertion of a batch sorts its rows. By delta, or if it matters whether rows had partners, it also
reads the rows in the windows of its keys. A look-up reads the rows that it returns, by time also the rows of
the batch that arrived later.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.columns import DELETES, END, NUMBER, PEAK, SINCE
from panewise.engine.join.batch.join_batch import JoinBatch
from panewise.engine.join.plan import SidePort
from panewise.engine.join.search.lookups import Lookup
from panewise.engine.join.search.rows_of_keys import RowsOfKeys, SortedKeys
from panewise.engine.kernels.bisection import bisect_left, first_not
from panewise.engine.kernels.differences import compared, rises_by_more
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import Mask, distinct, filter_rows, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places, codes, order
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.run import Shape
from panewise.spec.operators.join.last_rows import LastRows, RowWindow
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.match import Match
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy

EVICTOR = "__evictor"  # the number of the row that evicted a row


@dataclass(frozen=True)
class ArrivalWindow:
    """What the window of each key of a side contains.

    Attributes:
        latest: how many rows, 0 for none; None for any number.
        age: how long after its arrival a row stays, in processing time; None for any time.
        delta: the policy by delta; None for another.
        deletes: the column in which null deletes the rows of the key; None for none.
    """

    latest: int | None = None
    age: int | None = None
    delta: DeltaPolicy | None = None
    deletes: str | None = None

    @classmethod
    def from_match(cls, match: Match, side: str) -> "ArrivalWindow":
        """Returns the window of a side."""
        if isinstance(match, Latest):
            age = None if match.ttl is None else match.ttl.us - 1
            return cls(latest=1, age=age, deletes=match.deletes_by_side[side])
        assert isinstance(match, LastRows)
        return cls._of_policy(match.windows[side])

    @classmethod
    def _of_policy(cls, window: RowWindow | None) -> "ArrivalWindow":
        """Returns the window of a policy; None contains no rows."""
        match window:
            case None:
                return cls(latest=0)
            case CountPolicy(n=n):
                return cls(latest=n)
            case TimePolicy(duration=duration):
                return cls(age=duration.us)
            case DeltaPolicy():
                return cls(delta=window)


@dataclass(frozen=True)
class Inserted:
    """Rows that were inserted into the windows of a side.

    Attributes:
        before: the table before.
        table: the table after.
        rows: the rows, as the table stores them.
        evicted: the rows of the windows, old and new, that they evict, with ``__evictor``.
    """

    before: LatestByKey
    table: LatestByKey
    rows: pl.DataFrame
    evicted: pl.DataFrame


@dataclass(frozen=True)
class ArrivedRows:
    """How the rows of the windows of a side are stored and found.

    Attributes:
        port: the side.
        window: what the windows contain.
        remembers: whether it matters if a row had a partner, and when it is evicted.
    """

    port: SidePort
    window: ArrivalWindow
    remembers: bool

    @property
    def contains_rows(self) -> bool:
        """Whether the windows contain rows at all."""
        return self.window.latest != 0

    @cached_property
    def shape(self) -> Shape:
        """The columns of the table. Rows that only expire are in the order in which they do."""
        window, schema = self.window, dict(self.port.stored)
        if window.delta is not None:
            schema |= {PEAK: compared(self.port.schema[window.delta.column]), SINCE: pl.Int64()}
        if window.deletes is not None:
            schema[DELETES] = pl.Boolean()
        timed = window.latest is None and window.age is not None
        return Shape(schema, [END if timed else NUMBER, NUMBER], self.port.keys)

    def nothing(self) -> LatestByKey:
        """Returns the table without rows."""
        table = LatestByKey.nothing(self.shape)
        since = SINCE if self.window.delta is not None else None
        deletes = None if self.window.deletes is None else DELETES
        # Every look-up comes after all rows of the runs, so all of them are settled.
        return replace(table, settled=MAX_INSTANT, latest=self.window.latest, since=since, deletes=deletes)

    def arriving(self, rows: pl.DataFrame | None, now: int) -> pl.DataFrame:
        """Returns applied rows with the columns of the table; no rows for None.

        ``__end`` is the last processing time at which a row is in its window, the last instant if there is
        none. ``__deletes`` says whether the row deletes others. ``__peak`` is its own value, ``__since`` its
        own number.
        """
        schema, delta = self.shape.schema, self.window.delta
        if rows is None:
            return pl.DataFrame(schema=schema)
        age = MAX_INSTANT if self.window.age is None else self.window.age
        added = [pl.lit(saturating_add(now, age), dtype=pl.Int64).alias(END)]
        if delta is not None:
            value = rows[delta.column]
            value = value.to_physical() if value.dtype.is_temporal() else value
            added += [pl.lit(value.cast(schema[PEAK])).alias(PEAK), pl.col(NUMBER).alias(SINCE)]
        if self.window.deletes is not None:
            added.append(pl.col(self.window.deletes).is_null().alias(DELETES))
        return rows.with_columns(added).select(*schema)

    def without_deletes(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows that do not delete others."""
        return rows if self.window.deletes is None else filter_rows(rows, ~rows[DELETES])

    def inserted(self, table: LatestByKey, new: pl.DataFrame) -> Inserted:
        """Inserts the rows of a batch, which are in the order of their numbers."""
        none = new.clear().with_columns(pl.lit(0, dtype=pl.Int64).alias(EVICTOR))
        evicts = self.window.delta is not None or (self.remembers and self.window.latest is not None)
        if new.is_empty() or not evicts:
            return Inserted(table, table.put(new), new, none)
        old = self.current(table, distinct(new, self.port.keys))
        both = vstack_frames([old, new])
        code, numbers = codes(both, self.port.keys), both[NUMBER].to_numpy()
        places = order([code, numbers])
        both, groups = take_rows(both, places), _Groups.from_codes(code[places])
        if self.window.delta is not None:
            both = _with_firsts(both, groups, self.window.delta, places >= old.height)
        evictors = self._evictors(both, groups)
        inserted = filter_rows(both, pl.Series(places >= old.height)).sort(NUMBER)
        evicted = both.with_columns(pl.Series(EVICTOR, evictors)).filter(pl.col(EVICTOR) >= 0)
        return Inserted(table, table.put(inserted), inserted, self.without_deletes(evicted))

    def current(self, table: LatestByKey, keys: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows in the windows of keys, which are given once each."""
        wanted, until = SortedKeys.from_rows(keys, self.port.keys), np.full(keys.height, MAX_INSTANT)
        rows = self._lookup(table, wanted, until).read()
        return take_rows(rows.rows, rows.at)

    def all(self, table: LatestByKey) -> pl.DataFrame:
        """Returns the rows in all windows."""
        return self.inside(table, table.all())

    def inside(self, table: LatestByKey, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns those rows of the table that are still in their windows."""
        if rows.is_empty() or (self.window.latest is None and self.window.delta is None):
            return rows
        numbers = self.current(table, distinct(rows, self.port.keys))[NUMBER]
        return rows.filter(pl.col(NUMBER).is_in(numbers.implode()))

    def lookups(
        self, inserted: Inserted, keys: SortedKeys, rows: pl.DataFrame, batch: JoinBatch
    ) -> Iterator[Lookup]:
        """Yields look-ups for new rows of the other side, each of which sees the windows as before it."""
        yield self._lookup(inserted.table, keys, rows[NUMBER].to_numpy() - 1)

    def _lookup(self, table: LatestByKey, keys: SortedKeys, until: Instants) -> Lookup:
        """Returns the look-up of each key in its window when only rows up to a number had been inserted."""
        inside = partial(self._inside, table, until)
        if self.window.latest is not None:
            parts = keys.slices(table, np.full_like(until, MIN_INSTANT), until)
            return Lookup(table, keys, parts, self.window.latest, inside)
        first, last = np.full_like(until, MAX_INSTANT), until
        if self.window.delta is not None:
            newest = keys.last(table, until, 1)
            first[newest.which] = newest.column(SINCE)
        else:
            after = MIN_INSTANT if table.horizon is None else min(table.horizon, MAX_INSTANT - 1) + 1
            first, last = np.full_like(until, after), first
        return Lookup(table, keys, keys.slices(table, first, last), None, inside)

    def _inside(self, table: LatestByKey, until: Instants, rows: RowsOfKeys) -> RowsOfKeys:
        if self.window.latest is None and self.window.delta is None:
            rows = rows.chosen(rows.column(NUMBER) <= until[rows.which])
        if table.horizon is not None:
            rows = rows.chosen(rows.column(END) > table.horizon)
        if self.window.deletes is None:
            return rows
        return rows.chosen(~rows.rows[DELETES].to_numpy()[rows.at])

    def _evictors(self, rows: pl.DataFrame, groups: "_Groups") -> Instants:
        numbers = rows[NUMBER].to_numpy()
        if self.window.latest is not None:
            at = np.arange(len(numbers)) + self.window.latest
        else:
            since = rows[SINCE].to_numpy()
            at = bisect_left(since, groups.starts, groups.ends, numbers, past_equal=True)
        evicted = at < groups.ends
        return np.where(evicted, numbers[np.minimum(at, len(numbers) - 1)], -1)


@dataclass(frozen=True)
class _Groups:
    number: Places
    starts: Places
    ends: Places

    @classmethod
    def from_codes(cls, code: Instants) -> "_Groups":
        new = np.append(True, code[1:] != code[:-1])
        number = np.cumsum(new) - 1
        starts = np.flatnonzero(new)
        ends = np.append(starts[1:], len(code))
        return cls(number, starts[number], ends[number])


def _with_firsts(rows: pl.DataFrame, groups: _Groups, delta: DeltaPolicy, new: Mask) -> pl.DataFrame:
    """Returns the rows with the highest values up to them and, of new rows, the first row of the window."""
    over = pl.Series("__group", groups.number)
    peaks = rows.select(pl.col(PEAK).cum_max().over(over)).to_series()
    which = np.flatnonzero(new)

    def too_low(which_new: Places, at: Places) -> Mask:
        highest, earlier = peaks.gather(which[which_new]), peaks.gather(at)
        return rises_by_more(highest, earlier, delta.size)

    first = first_not(groups.starts[which], which, too_low)
    numbers, since = rows[NUMBER].to_numpy(), rows[SINCE].to_numpy().copy()
    since[which] = numbers[first]
    return rows.with_columns(peaks.alias(PEAK), pl.Series(SINCE, since))
