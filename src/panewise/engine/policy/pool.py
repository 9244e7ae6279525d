"""The tuples and partitions of one step: read from the table and from new rows, and written to the table.

Partitions get numbers from 0 on in a step. Invariant: the pool is sorted by the number of the partition, then
by arrival. So the tuples of a partition are a range of places, and the policies work on numbers alone
(:mod:`panewise.engine.policy.partitions`). A step costs as much as the tuples of the partitions that it
reads.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import polars as pl

from panewise.engine.columns import (
    ACTED,
    ARRIVED,
    CHANGED,
    END,
    FED,
    FULL,
    LISTENER,
    ONE_KEY,
    REFERENCE,
    START,
    TUPLES,
    UNTRIGGERED,
    USED,
)
from panewise.engine.kernels.small_frames import expand_ranges, join_frames
from panewise.engine.kernels.sorting import Places
from panewise.engine.policy.partitions import Partition, Partitions, TupleValues
from panewise.engine.policy.plan import PolicyPlan, comparable_type
from panewise.spec.operators.policy.policies import DeltaPolicy

_NUMBER, _TUPLE, _AT = "__number", "__tuple", "__at"
# The columns of the table that store a field of a partition.
_FIELDS = {
    USED: "last_insertion",
    FED: "last_insertion_time",
    ACTED: "acted",
    UNTRIGGERED: "untriggered",
    FULL: "full",
    CHANGED: "changed",
    REFERENCE: "reference",
}


@dataclass(frozen=True)
class Tuples:
    """The pool of a step: tuples, partition by partition, the stored ones before the new ones.

    Attributes:
        keys: the key of each partition, with its number.
        stored: the rows of the table of the stored partitions, with their numbers.
        numbers: the number of the partition of each new row.
        tuples: by place, the tuple as a struct.
        arrived: by place, the processing time at which the tuple arrived; 0 if it is not stored.
        firsts: by partition, the place of its first tuple.
    """

    keys: pl.DataFrame
    stored: pl.DataFrame
    numbers: list[int]
    tuples: pl.Series
    arrived: pl.Series
    firsts: Places

    @classmethod
    def from_stored(cls, plan: PolicyPlan, stored: pl.DataFrame, rows: pl.DataFrame, now: int) -> "Tuples":
        """Returns the pool of the stored partitions `stored`, as rows of the table, and of new rows.

        As a key -0.0 is 0.0.
        """
        stored = stored.sort(USED)
        # The only partition of an operator without keys has a number even if it does not exist yet.
        only = pl.DataFrame({ONE_KEY: pl.Series([0] if plan.keys == [ONE_KEY] else [], dtype=pl.Int8)})
        named = rows.select(plan.output_keys)
        known = [stored.select(plan.keys), named, *([only] if plan.keys == [ONE_KEY] else [])]
        keys = pl.concat(known).unique(maintain_order=True).with_row_index(_NUMBER)
        stored = join_frames(stored, keys, plan.keys)
        numbers = join_frames(named, keys, plan.keys)[_NUMBER]
        before = stored.select(
            _NUMBER, pl.col(TUPLES).alias(_TUPLE), *([ARRIVED] if plan.times_tuples else [])
        )
        before = before.explode(before.columns[1:], empty_as_null=False)
        if not plan.times_tuples:
            before = before.with_columns(pl.lit(0, dtype=pl.Int64).alias(ARRIVED))
        after = rows.select(
            numbers, pl.struct(*plan.stored_columns).alias(_TUPLE), pl.lit(now, dtype=pl.Int64).alias(ARRIVED)
        )
        pool = pl.concat([before, after]).sort(_NUMBER, maintain_order=True)
        firsts = np.searchsorted(pool[_NUMBER].to_numpy(), np.arange(keys.height)).astype(np.intp)
        return cls(keys, stored, numbers.to_list(), pool[_TUPLE], pool[ARRIVED], firsts)

    def values(self, plan: PolicyPlan) -> TupleValues:
        """Returns the values that the policies read. New tuples of a partition follow its stored ones."""
        evict = plan.spec.evict
        values = []
        if isinstance(evict, DeltaPolicy):
            values = comparable(self.tuples.struct.field(evict.column)).to_list()
        following = self.firsts.copy()
        following[self.stored[_NUMBER].to_numpy()] += self.stored[TUPLES].list.len().to_numpy()
        return TupleValues(self.arrived.to_list() if plan.times_tuples else [], values, following.tolist())

    def into(self, partitions: Partitions) -> None:
        """Adds the stored partitions to those that the policies work on."""
        columns = {column: name for column, name in _FIELDS.items() if column in self.stored.columns}
        fields = self.stored.select(_NUMBER, pl.col(TUPLES).list.len(), *columns).rows()
        for number, length, *values in fields:
            low = int(self.firsts[number])
            own = dict(zip(columns.values(), values, strict=True))
            partitions.add_stored(Partition(number, low, low + length, **own))

    def numbers_of(self, plan: PolicyPlan, stored: pl.DataFrame) -> list[int]:
        """Returns the numbers of partitions that are given as rows of the table."""
        return self.keys.join(stored, on=plan.keys, how="semi", nulls_equal=True)[_NUMBER].to_list()

    def listeners(self) -> dict[int, str]:
        """Returns the stored states of listeners as JSON, by the numbers of their partitions."""
        states = self.stored.select(_NUMBER, LISTENER).drop_nulls()
        return dict(states.rows())

    def put(self, plan: PolicyPlan, partitions: Partitions, listeners: dict[int, str]) -> pl.DataFrame:
        """Returns the rows that the table stores for the partitions that exist after the step."""
        live = list(partitions.live.values())
        lows = np.array([partition.low for partition in live], dtype=np.intp)
        highs = np.array([partition.high for partition in live], dtype=np.intp)
        values: dict[str, Sequence[object] | pl.Series] = {
            START: [0] * len(live),
            END: [partitions.next_due(partition) for partition in live],
            TUPLES: stretches(self.tuples, lows, highs),
            LISTENER: [listeners.get(partition.number) for partition in live],
        }
        fields = list(map(asdict, live))
        values |= {column: [of[name] for of in fields] for column, name in _FIELDS.items()}
        if plan.times_tuples:
            values[ARRIVED] = stretches(self.arrived, lows, highs)
        keys = self.keys[[partition.number for partition in live]].select(plan.keys)
        columns = [
            pl.Series(name, values[name], dtype=dtype)
            for name, dtype in plan.table_schema.items()
            if name not in plan.keys
        ]
        return keys.hstack(columns).select(*plan.table_schema)

    def removed(self, plan: PolicyPlan, partitions: Partitions) -> pl.DataFrame:
        """Returns the rows by which the table deletes stored partitions that no longer exist."""
        left = pl.Series(list(partitions.live), dtype=self.stored.schema[_NUMBER])
        return bare(plan, self.stored.filter(~pl.col(_NUMBER).is_in(left.implode())))


def bare(plan: PolicyPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of the table with their keys, start and end; all other columns are null.

    Deleted partitions are written like this, as tombstones.
    """
    written = {*plan.keys, START, END}
    return rows.select(
        pl.col(name) if name in written else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in plan.table_schema.items()
    )


def comparable(values: pl.Series) -> pl.Series:
    """Returns values in the type in which they are compared."""
    return values.cast(comparable_type(values.dtype))


def stretches(values: pl.Series, lows: Places, highs: Places) -> pl.Series:
    """Returns, for each range of places [low, high), the list of its values."""
    lengths = highs - lows
    places = expand_ranges(lows, lengths)
    members = pl.DataFrame(
        {
            _AT: pl.Series(np.repeat(np.arange(len(lows)), lengths), dtype=pl.Int64),
            _TUPLE: values.gather(places),
        }
    )
    lists = members.group_by(_AT, maintain_order=True).agg(_TUPLE)
    every = pl.DataFrame({_AT: pl.Series(range(len(lows)), dtype=pl.Int64)}).join(
        lists, on=_AT, how="left", maintain_order="left"
    )
    return every[_TUPLE].fill_null(pl.Series([[]], dtype=pl.List(values.dtype)))
