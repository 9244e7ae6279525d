"""The n-th row, or the n-th value, of frames (semantics 29.6, 29.14, 29.15).

Rows are counted by a running number of the positions that count. So the n-th one of a range is found by an
addition, and a frame of several ranges by one addition for each. A function that may look back to any earlier
row has a list of its first or last values in the table `running`. Invariant: the list is made from the rows
that partials of frames without a start cover, too (:attr:`Sequences.covered_before`), and only the other rows
are counted here. Cost: linear in the positions, and in the targets for each range of their frames; a list is
read and written once for each key of the step.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.over.range_partials import Ranges
from panewise.engine.over.sequences import Flags, Numbers, Sequences
from panewise.spec import RowFunction

FAR = 1 << 61  # a number of rows that no stream reaches; sums with a position fit in 64 bits
_LONGEST = 1 << 31  # a length that no stored list reaches
_KEY, _VALUE = "__key", "__value"


@dataclass(frozen=True)
class NthValues:
    """The values at targets. `reached` says which targets have such a row."""

    values: pl.Series
    reached: Flags


def values_at(sequences: Sequences, what: RowFunction, place: Numbers, inside: Flags) -> pl.Series:
    """Returns the column of the function at each place, null where `inside` is false."""
    values = sequences.values[what.columns[0]]
    index = pl.Series(np.where(inside, place, 0).astype(np.uint32))
    return values.gather(
        index if inside.all() else index.zip_with(pl.Series(inside), pl.Series([None], dtype=pl.UInt32))
    )


def nth(sequences: Sequences, what: RowFunction, ranges: Ranges, *, from_end: bool) -> NthValues:
    """Returns the value of the n-th counted row of the frame of each target.

    Args:
        sequences: the rows.
        what: the function.
        ranges: the bounds of the first, second, ... range of each frame, in order.
        from_end: whether rows are counted from the end of the frame.
    """
    name = sequences.plan.lists.get(what)
    if name is None:
        return _of_ranges(sequences, what, ranges, from_end=from_end)[0]
    stored = sequences.running[name].gather(pl.Series(sequences.code[sequences.targets].astype(np.uint32)))
    lengths = stored.list.len().cast(pl.Int64).fill_null(0).to_numpy()
    skipped = np.zeros(len(lengths), dtype=np.int64) if from_end else lengths
    there, missing = _of_ranges(sequences, what, ranges, from_end=from_end, skipped=skipped)
    wanted = np.full(len(lengths), min(what.n or 0, FAR))
    index = -missing if from_end else wanted - 1
    in_list = (missing <= lengths) & ~there.reached if from_end else wanted <= lengths
    chosen = stored.list.get(pl.Series(np.where(in_list, index, 0)), null_on_oob=True)
    return NthValues(chosen.zip_with(pl.Series(in_list), there.values), in_list | there.reached)


def _of_ranges(
    sequences: Sequences, what: RowFunction, ranges: Ranges, *, from_end: bool, skipped: Numbers | None = None
) -> tuple[NthValues, Numbers]:
    """Returns the values within the ranges, and how many rows are missing where there are too few.

    If `skipped` rows are counted before, only rows that the stored lists do not cover are counted here.
    """
    own = None
    if skipped is not None:
        own = sequences.number >= np.repeat(sequences.covered_before, sequences.total)
    counted = sequences.counted_positions(what, own)
    missing: Numbers = np.full(len(sequences.targets), min(what.n or 0, FAR), dtype=np.int64)
    missing = missing if skipped is None else missing - skipped
    place, first = np.full(len(missing), -1), sequences.start[sequences.code[sequences.targets]]
    for low, high in reversed(ranges) if from_end else ranges:
        # A frame may lie beyond all positions, or before those of its key.
        begin = np.clip(low, first, len(sequences.code))
        before, until = counted.before[begin], counted.before[np.maximum(high, begin)]
        open_ = (place < 0) & (missing > 0)
        hit = open_ & (missing <= until - before)
        index = until - missing if from_end else before + missing - 1
        place[hit] = counted.positions[index[hit]]
        missing = np.where(open_ & ~hit, missing - (until - before), missing)
    reached = place >= 0
    return NthValues(values_at(sequences, what, place, reached), reached), missing


def lists(sequences: Sequences) -> list[pl.Series]:
    """Returns the columns of `running` with lists of values: by key, null if there is none."""
    columns = []
    number, plan = sequences.number, sequences.plan
    for what, name in plan.lists.items():
        own = number >= np.repeat(sequences.covered_before, sequences.total)
        own &= number < np.repeat(sequences.covered, sequences.total)
        covered = sequences.counted_positions(what, own).positions
        new = pl.DataFrame(
            {
                _KEY: sequences.code[covered],
                _VALUE: sequences.values[what.columns[0]].gather(pl.Series(covered.astype(np.uint32))),
            }
        )
        length = min(what.n or 0, _LONGEST)
        values = pl.col(_VALUE).tail(length) if plan.reads_last(what) else pl.col(_VALUE).head(length)
        rows = pl.concat([_stored(sequences, name), new])
        by_key = rows.group_by(_KEY, maintain_order=True).agg(values)
        keys = pl.DataFrame({_KEY: np.arange(len(sequences.start))})
        columns.append(keys.join(by_key, on=_KEY, how="left", maintain_order="left")[_VALUE].alias(name))
    return columns


def _stored(sequences: Sequences, name: str) -> pl.DataFrame:
    """Returns the values of stored lists, each with the place of its key."""
    frame = pl.DataFrame({_KEY: np.arange(len(sequences.start)), _VALUE: sequences.running[name]})
    return frame.filter(pl.col(_VALUE).list.len() > 0).explode(_VALUE)
