"""Decides what tables store of rows and keys after a step: only what later rows can need (semantics 29.9).

If only a fixed number of last rows of a key is needed, they are stored in a ring of slots: a new row replaces
the oldest one. So nothing is deleted. If ranges look back, rows are stored by number, and expire by time. If
rows wait for values, they are stored by number, and deleted. A step writes
the new rows that are needed, and the stored rows whose time of expiry changes. It costs as much as the rows
in the sequences.
"""

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import DENSE_RANK, END, RANK, ROW_COUNT, ROW_NUMBER, SLOT, TIME_COUNT, UNEMITTED
from panewise.engine.kernels.instants import shifted_instants
from panewise.engine.kernels.small_frames import expand_ranges, take_rows
from panewise.engine.over.nth import lists
from panewise.engine.over.sequences import Flags, Numbers, Sequences
from panewise.engine.over.values import firsts


def running(sequences: Sequences, partials: list[pl.Series]) -> pl.DataFrame:
    """Returns the rows of the table `running`. `partials` are those of frames without a start."""
    columns = [pl.Series(ROW_COUNT, sequences.count), *partials, *firsts(sequences), *lists(sequences)]
    if sequences.plan.waiting_for_values:
        columns.append(pl.Series(UNEMITTED, sequences.passed - sequences.emitted_until))
    if sequences.plan.ranks:
        columns.append(pl.Series(TIME_COUNT, _peers(sequences)))
    frame = sequences.keys.hstack(columns).with_columns(pl.lit(MAX_INSTANT).alias(END))
    return frame.select(pl.col(name).cast(dtype) for name, dtype in sequences.plan.running.schema.items())


def _peers(sequences: Sequences) -> Numbers:
    """Returns how many groups of peers of each key have passed."""
    before = sequences.running[TIME_COUNT].fill_null(0).to_numpy()
    some = sequences.new_count > 0
    last = sequences.ranks[1][np.where(some, sequences.passed - 1, 0)]
    return np.where(some, last + 1, before)


def recent_rows(sequences: Sequences, horizon: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows to put into the table `recent`, and those to delete from it.

    A row is *pinned* in three cases: later rows need it because of its number among the rows; it has not been
    emitted; or a row that has not been emitted looks back to it by time.

    - Pinned rows are stored with the last instant as their time, so they do not expire.
    - Other rows that later rows can look back to by time are stored with their own time. They expire by the
      horizon.
    - Rows that were pinned, and that the horizon has passed since, are deleted.
    """
    plan = sequences.plan
    position = _candidates(sequences)
    code = sequences.code[position]
    pinned: Flags = position >= _first_needed(sequences)[code]
    ends: Numbers = np.full(len(position), MAX_INSTANT)
    stays = pinned
    if plan.looks_back:
        times = sequences.times[position]
        pinned = pinned | (_seen_back(sequences, code, times) if plan.ahead else False)
        ends = np.where(pinned, MAX_INSTANT, times)
        stays = pinned | (True if horizon is None else times > horizon)
    fresh = position >= sequences.first_new[code]
    before = sequences.stored_ends[sequences.source[position]]
    changed = fresh if not plan.looks_back else fresh | (ends != before)  # without times ends never change
    put = _table_rows(sequences, position[stays & changed], ends[stays & changed])
    deleted = position[~stays & ~fresh & (before == MAX_INSTANT)] if plan.numbers_slots else position[:0]
    return put, _table_rows(sequences, deleted, np.full(len(deleted), MAX_INSTANT))


def _candidates(sequences: Sequences) -> Numbers:
    """Returns the positions of the rows that may have to be put or deleted.

    If slots are numbers, these are all stored and new rows. Otherwise they are the last new rows of each
    key, which take the slots of old rows.
    """
    plan, first = sequences.plan, sequences.start
    if not plan.numbers_slots:
        first = np.maximum(sequences.first_new, sequences.passed - plan.rows_back - plan.ahead)
    return expand_ranges(first, sequences.passed - first)


def _first_needed(sequences: Sequences) -> Numbers:
    """Returns, by key, the position of the first row that later rows need because of its number."""
    unemitted = sequences.emitted_until
    needed: Numbers = unemitted - sequences.plan.rows_back
    waits = unemitted < sequences.passed
    if sequences.plan.lacks_peers and waits.any():
        needed = np.where(
            waits, np.minimum(needed, sequences.peers_begin[np.where(waits, unemitted, 0)]), needed
        )
    return needed


def _seen_back(sequences: Sequences, code: Numbers, times: Numbers) -> Flags:
    """Returns for each row whether a row of its key that has not been emitted looks back to it by time.

    The first row of a key that has not been emitted looks back furthest. So only this one is tested.
    """
    waits = (sequences.emitted_until < sequences.passed)[code]
    first = sequences.times[np.minimum(sequences.emitted_until, len(sequences.times) - 1)][code]
    return waits & (times >= shifted_instants(first, -sequences.plan.us_back))


def _table_rows(sequences: Sequences, position: Numbers, ends: Numbers) -> pl.DataFrame:
    """Returns the rows at these positions as rows of the table `recent`, with `ends` as their times."""
    plan = sequences.plan
    number = sequences.number[position]
    # If only the last rows of a key are needed, they form a ring: a new row takes the slot of the oldest one.
    ring = max(1, plan.rows_back + plan.ahead)
    slot = number if plan.numbers_slots else number % ring
    frame = take_rows(sequences.stack, sequences.source[position])
    keys = take_rows(sequences.keys, sequences.code[position])
    own_columns = {SLOT: slot, ROW_NUMBER: number, END: ends}
    if RANK in plan.recent.schema:
        own_columns |= {RANK: sequences.ranks[0][position], DENSE_RANK: sequences.ranks[1][position]}
    # A row that is emitted or read later has its own key, which may be -0.0 where that of its group is 0.0
    # (semantics 29.1).
    own = plan.payload if plan.ahead else plan.read
    columns = {name: frame[name] if name in own else keys[name] for name in plan.keys}
    columns |= {name: pl.Series(name, values) for name, values in own_columns.items()}
    columns_in_order = [columns[name] if name in columns else frame[name] for name in plan.recent.schema]
    return pl.DataFrame(
        [
            series.cast(dtype)
            for series, dtype in zip(columns_in_order, plan.recent.schema.values(), strict=True)
        ]
    )
