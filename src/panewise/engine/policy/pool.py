"""The tuples and partitions of one step: read from the table and new rows, and written to the table."""

from collections.abc import Sequence
from dataclasses import dataclass

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
from panewise.engine.kernels.small_frames import joined, spread
from panewise.engine.kernels.sorting import Places
from panewise.engine.policy.partitions import Partition, Partitions, Pool
from panewise.engine.policy.plan import PolicyPlan, comparable_type
from panewise.spec.operators.policy.policies import DeltaPolicy

_NUMBER, _TUPLE, _AT = "__number", "__tuple", "__at"


@dataclass(frozen=True)
class Tuples:
    """The pool of a step: tuples, partition by partition, the stored ones before the new ones.

    Attributes:
        keys: the key of each partition, with its number.
        held: the rows of the table of the stored partitions, with their numbers.
        numbers: the number of the partition of each new row.
        tuples: by place, the tuple as a struct.
        arrived: by place, the processing time at which the tuple arrived; 0 if it is not stored.
        firsts: by partition, the place of its first tuple.
    """

    keys: pl.DataFrame
    held: pl.DataFrame
    numbers: list[int]
    tuples: pl.Series
    arrived: pl.Series
    firsts: Places

    @classmethod
    def of(cls, plan: PolicyPlan, held: pl.DataFrame, rows: pl.DataFrame, now: int) -> "Tuples":
        """Returns the pool of stored partitions (rows of the table) and of new rows. As a key -0.0 is 0.0."""
        held = held.sort(USED)
        # The only partition of an operator without keys has a number even if it does not exist yet.
        only = pl.DataFrame({ONE_KEY: pl.Series([0] if plan.keys == [ONE_KEY] else [], dtype=pl.Int8)})
        named = rows.select(plan.shown_keys)
        known = [held.select(plan.keys), named, *([only] if plan.keys == [ONE_KEY] else [])]
        keys = pl.concat(known).unique(maintain_order=True).with_row_index(_NUMBER)
        held = joined(held, keys, plan.keys)
        numbers = joined(named, keys, plan.keys)[_NUMBER]
        before = held.select(_NUMBER, pl.col(TUPLES).alias(_TUPLE), *([ARRIVED] if plan.times_tuples else []))
        before = before.explode(before.columns[1:], empty_as_null=False)
        if not plan.times_tuples:
            before = before.with_columns(pl.lit(0, dtype=pl.Int64).alias(ARRIVED))
        after = rows.select(
            numbers, pl.struct(*plan.kept).alias(_TUPLE), pl.lit(now, dtype=pl.Int64).alias(ARRIVED)
        )
        pool = pl.concat([before, after]).sort(_NUMBER, maintain_order=True)
        firsts = np.searchsorted(pool[_NUMBER].to_numpy(), np.arange(keys.height)).astype(np.intp)
        return cls(keys, held, numbers.to_list(), pool[_TUPLE], pool[ARRIVED], firsts)

    def pool(self, plan: PolicyPlan) -> Pool:
        """Returns what the policies read. The first new tuple of a partition follows its stored tuples."""
        evict = plan.spec.evict
        values = (
            comparable(self.tuples.struct.field(evict.column)).to_list()
            if isinstance(evict, DeltaPolicy)
            else []
        )
        following = self.firsts.copy()
        following[self.held[_NUMBER].to_numpy()] += self.held[TUPLES].list.len().to_numpy()
        return Pool(self.arrived.to_list() if plan.times_tuples else [], values, following.tolist())

    def into(self, partitions: Partitions) -> None:
        """Adds the stored partitions to those that the policies work on."""
        names = [_NUMBER, ACTED, USED, FED, UNTRIGGERED, FULL, CHANGED]
        lengths = self.held[TUPLES].list.len().to_list()
        references = (
            self.held[REFERENCE].to_list() if REFERENCE in self.held.columns else [None] * len(lengths)
        )
        told = self.held.select(names).rows()
        for (number, acted, used, fed, untriggered, full, changed), length, reference in zip(
            told, lengths, references, strict=True
        ):
            low = int(self.firsts[number])
            partitions.hold(
                Partition(number, low, low + length, acted, used, fed, untriggered, reference, full, changed)
            )

    def numbers_of(self, plan: PolicyPlan, held: pl.DataFrame) -> list[int]:
        """Returns the numbers of partitions that are given as rows of the table."""
        return self.keys.join(held, on=plan.keys, how="semi", nulls_equal=True)[_NUMBER].to_list()

    def listeners(self) -> dict[int, str]:
        """Returns the stored states of listeners as JSON, by the numbers of their partitions."""
        told = self.held.select(_NUMBER, LISTENER).drop_nulls()
        return dict(told.rows())

    def put(self, plan: PolicyPlan, partitions: Partitions, listeners: dict[int, str]) -> pl.DataFrame:
        """Returns the rows that the table stores for the partitions that are left."""
        living = list(partitions.living.values())
        lows, highs = (
            np.array([getattr(one, name) for one in living], dtype=np.intp) for name in ("low", "high")
        )
        told: dict[str, Sequence[object] | pl.Series] = {
            START: [0] * len(living),
            END: [partitions.next_due(one) for one in living],
            USED: [one.used for one in living],
            FED: [one.fed for one in living],
            ACTED: [one.acted for one in living],
            UNTRIGGERED: [one.untriggered for one in living],
            FULL: [one.full for one in living],
            CHANGED: [one.changed for one in living],
            TUPLES: stretches(self.tuples, lows, highs),
            REFERENCE: [one.reference for one in living],
            LISTENER: [listeners.get(one.number) for one in living],
        }
        if plan.times_tuples:
            told[ARRIVED] = stretches(self.arrived, lows, highs)
        keys = self.keys[[one.number for one in living]].select(plan.keys)
        columns = [
            pl.Series(name, told[name], dtype=dtype)
            for name, dtype in plan.table_schema.items()
            if name not in plan.keys
        ]
        return keys.hstack(columns).select(*plan.table_schema)

    def gone(self, plan: PolicyPlan, partitions: Partitions) -> pl.DataFrame:
        """Returns the rows by which the table deletes the stored partitions that are not left."""
        left = pl.Series(list(partitions.living), dtype=self.held.schema[_NUMBER])
        return bare(plan, self.held.filter(~pl.col(_NUMBER).is_in(left.implode())))


def bare(plan: PolicyPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of the table with their keys, start and end; all other columns are null.

    Deleted partitions are written like this, as tombstones.
    """
    told = {*plan.keys, START, END}
    return rows.select(
        pl.col(name) if name in told else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in plan.table_schema.items()
    )


def comparable(values: pl.Series) -> pl.Series:
    """Returns values in the type in which they are compared."""
    return values.cast(comparable_type(values.dtype))


def stretches(values: pl.Series, lows: Places, highs: Places) -> pl.Series:
    """Returns, for each range of places [low, high), the list of its values."""
    lengths = highs - lows
    places = spread(lows, lengths)
    found = pl.DataFrame(
        {
            _AT: pl.Series(np.repeat(np.arange(len(lows)), lengths), dtype=pl.Int64),
            _TUPLE: values.gather(places),
        }
    )
    lists = found.group_by(_AT, maintain_order=True).agg(_TUPLE)
    every = pl.DataFrame({_AT: pl.Series(range(len(lows)), dtype=pl.Int64)}).join(
        lists, on=_AT, how="left", maintain_order="left"
    )
    return every[_TUPLE].fill_null(pl.Series([[]], dtype=pl.List(values.dtype)))
