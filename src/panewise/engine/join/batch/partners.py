"""Which rows of a join have had a partner (semantics 39).

Invariant: where it matters, a stored row is in the table of matches of its side, or marked `MATCHED`, if and
only if it has had a partner. So a pair is the first of a row if the row is not among them, and if no earlier
pair of the batch has the row.

Cost: the tables of matches are searched only for rows that get a pair or expire.
"""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final

import numpy as np
import polars as pl

from panewise.engine.columns import END, MATCHED, NUMBER
from panewise.engine.join.batch.join_batch import JoinBatch
from panewise.engine.join.search.matching import Pairs
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.small_frames import vstack_frames, without
from panewise.engine.store.run import MemoryLibrary, Shape
from panewise.engine.store.stored_table import StoredTable
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT

# The number of the row in whose turn a row is emitted: the later row of its first pair or, if it expires or
# is evicted, the row after which it is.
FIRST: Final = "__first"
_MATCHES: Final = "matches"


def remembered_sides(spec: JoinOperator) -> tuple[str, ...]:
    """Returns the sides for which it matters whether a row had a partner."""
    return (*spec.outer_sides, LEFT) if spec.how == "semi" else spec.outer_sides


def matches_name(side: str) -> str:
    """Returns the name of the table with the numbers of the rows of a side that got a partner."""
    return f"{side} {_MATCHES}"


def no_matches() -> StoredTable:
    """Returns a table of matches without rows."""
    shape = Shape({NUMBER: pl.Int64(), END: pl.Int64()}, [NUMBER], [NUMBER])
    return StoredTable.nothing(shape, MemoryLibrary())


def matches_of(state: JoinState, side: str) -> StoredTable:
    """Returns the table with the numbers of the rows of a side that got a partner."""
    return state.tables[matches_name(side)]


def changed_matches(
    state: JoinState, side: str, partnered: pl.DataFrame, evicted: pl.DataFrame | None
) -> StoredTable:
    """Returns the table of matches with rows that got a partner, and without rows that were evicted."""
    table = matches_of(state, side)
    put, deleted = partnered.select(*table.shape.schema), table.newest.clear().select(*table.shape.schema)
    if evicted is not None and evicted.height:
        put, deleted = without(put, evicted, [NUMBER]), table.find(evicted.select(NUMBER))
    return table.changed(put, deleted) if put.height or deleted.height else table


def without_partner(state: JoinState, side: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns those stored rows that have no partner in the state.

    With ``__matched``, rows that had one when they arrived are not among the matches.
    """
    rows = _not_matched_at_once(rows)
    matched = matches_of(state, side).find(rows.select(NUMBER)) if rows.height else rows
    return without(rows, matched, [NUMBER]) if matched.height else rows


def first_partners(
    state: JoinState,
    shapes: Mapping[str, Shape],
    pieces: Iterable[Pairs],
    batch: JoinBatch,
    spec: JoinOperator,
) -> dict[str, pl.DataFrame]:
    """Returns by side the rows that have their first partner among the pairs of a batch, in their order.

    They have `FIRST`, and those columns of the side's table that are needed. `shapes` has the tables of the
    sides for which that matters, `state` is that before the batch, and `pieces` has the pairs.
    """
    # Rows that are emitted when they get their first partner are needed with all columns then.
    every = spec.how == "semi" or spec.unmatched == "early"
    columns = {
        side: [name for name in shape.schema if every or name in (NUMBER, END, MATCHED)]
        for side, shape in shapes.items()
    }
    first: dict[str, list[pl.DataFrame]] = {side: [] for side in shapes}
    for pairs in pieces if first else ():
        for side, known in first.items():
            new = _first_partners(state, side, columns[side], pairs, batch.first_number)
            known.append(reduce(lambda rows, earlier: without(rows, earlier, [NUMBER]), known, new))
    return {side: vstack_frames(frames) for side, frames in first.items()}


def _first_partners(
    state: JoinState, side: str, columns: Iterable[str], pairs: Pairs, first_number: int
) -> pl.DataFrame:
    _, places = np.unique(pairs.numbers(side), return_index=True)
    firsts = pairs.chosen(np.sort(places))
    rows = firsts.taken(side, columns).with_columns(pl.Series(FIRST, firsts.later))
    rows = _not_matched_at_once(rows)
    stored = rows.filter(pl.col(NUMBER) < first_number)
    if stored.is_empty():
        return rows
    return without(rows, matches_of(state, side).find(stored.select(NUMBER)), [NUMBER])


def _not_matched_at_once(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows that had no partner when they arrived, as far as they are marked."""
    return rows.filter(~pl.col(MATCHED)) if MATCHED in rows.columns else rows
