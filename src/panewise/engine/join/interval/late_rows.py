"""Rows behind the horizon of their side that are joined if they can have a partner (semantics 37.25)."""

from functools import partial

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.join.batch.join_batch import LateRows, behind_horizon
from panewise.engine.kernels.instants import Instants, saturating_sum
from panewise.engine.kernels.small_frames import Mask
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.interval import Interval


def late_rule(match: Interval) -> LateRows:
    """Returns the rule by which rows are late."""
    return partial(_without_partner, match) if match.late == "join" else behind_horizon


def _without_partner(match: Interval, side: str, times: pl.Series, own: Instants, other: Instants) -> Mask:
    """Returns which rows of a side are late: those that can have no partner.

    `own` and `other` are the horizons of its side and of the other one when it arrives. A row can have a
    partner that arrived earlier if that has not expired. It lies at most the reach of the side after the row,
    and expires its own reach after that. So the row can have one until the horizon is more than the length of
    the interval after it. Partners that arrive later end with the reach of the side.
    """
    late = behind_horizon(side, times, own, other)
    last, length = match.waits[side], match.length
    assert last is not None and length is not None
    none_stored = saturating_sum(times, length).to_numpy() < own
    none_to_come = saturating_sum(times, last).to_numpy() < other
    alone: Mask = late & ((none_stored & none_to_come) | (own == MAX_INSTANT))
    return alone


def furthest_behind_with_late_rows(spec: JoinOperator, match: Interval) -> int:
    """Returns how far an emitted row may lie behind the lower horizon if late rows are joined (40.4).

    A row that arrives is at most the length of the interval behind the horizon of its side, or it can still
    get a partner. A stored row can still get one. The later row of a pair is the stored one, or after it.
    """
    first, last, length = match.first, match.last, match.length
    assert first is not None and last is not None and length is not None
    of_side = {LEFT: max(last, length, 0), RIGHT: max(-first, length, 0)}
    of_pairs = {
        **of_side,
        "earlier": max(of_side.values()),
        "later": length if first > 0 or last < 0 else max(last, -first),
    }
    return max(of_pairs[spec.timestamp or LEFT], *(of_side[side] for side in spec.outer_sides), 0)
