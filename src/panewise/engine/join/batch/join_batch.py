"""The rows of a batch of both sides: their order, replays and lateness (semantics 36.4, 36.6, 36.7).

A batch is a sequence of *turns*. With `evaluate="batch"` it is one turn. With `evaluate="record"` each row is
a turn of its own, and the horizons may move after each turn.

Invariant: the numbers of the rows of a batch are consecutive, in the order of both sides together. So with
`evaluate="record"` the turn of a row is its number less that of the first row. Cost: both sides are merged by
bisections or, by order columns, sorted. Only if sides can be idle, clocks are computed row by row in Python.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, KEY_WATERMARK, LATE_BY, NUMBER, REASON, TIME
from panewise.engine.ingest import arrival
from panewise.engine.ingest.arrival import Marks
from panewise.engine.ingest.late_output import NO_WINDOWS
from panewise.engine.ingest.output import Counts
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.two_sides import JoinState, SidesPlan, SidesState
from panewise.engine.kernels.instants import Instants, shifted_instants
from panewise.engine.kernels.small_frames import Mask, filter_rows, no_rows, ordered
from panewise.spec import StreamTime
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT

_SIDE, _AT = "__side", "__at"

# Which rows of a side are late, given the side, the times of the rows, and the horizons of this side and of
# the other one when each row arrives.
LateRows: TypeAlias = Callable[[str, pl.Series, Instants, Instants], Mask]


def behind_horizon(side: str, times: pl.Series, own: Instants, other: Instants) -> Mask:
    """Returns which rows are late: those behind the horizon of their side, and all after its end (36.4)."""
    late: Mask = (times.to_numpy() < own) | (own == MAX_INSTANT)
    return late


@dataclass(frozen=True)
class Turns:
    """The horizons or watermarks before and after each turn, by side. MIN_INSTANT stands for none."""

    before: Mapping[str, Instants]
    after: Mapping[str, Instants]


@dataclass(frozen=True)
class JoinBatch:
    """A batch of both sides.

    Attributes:
        applied: by side the applied rows in arrival order, with ``__time`` and ``__join_number``.
        late: by side the late rows, as the late output has them.
        counts: by side.
        marks: the replay marks by side after the batch.
        horizons: the horizons.
        watermarks: the watermarks.
        first_number: the number of the first row of the batch.
        next_number: the number after the last row.
        clocks_before: the clocks before the batch.
        clocks: the clocks after the batch, whose rows may have moved them.
    """

    applied: Mapping[str, pl.DataFrame]
    late: Mapping[str, pl.DataFrame]
    counts: Mapping[str, Counts]
    marks: Mapping[str, Marks]
    horizons: Turns
    watermarks: Turns
    first_number: int
    next_number: int
    clocks_before: JoinClocks
    clocks: JoinClocks

    def expiry_turns(self, rows: pl.DataFrame, by: str) -> tuple[Instants, Mask]:
        """Returns the turn in which each stored row expires, and whether it does so before the horizon moves.

        Only a row that arrives in the batch can do so, at its own turn. `by` is the side whose horizon
        decides (36.7).
        """
        before, after = self.horizons.before[by], self.horizons.after[by]
        own = rows[NUMBER].to_numpy() - self.first_number
        ends = np.minimum(rows[END].to_numpy(), MAX_INSTANT - 1)  # the last horizon has passed all
        place = np.clip(own, 0, len(after) - 1)
        expired = (own >= 0) & (ends < before[place])
        return np.maximum(place, np.searchsorted(after, ends, side="right")), expired


def join_batch(
    plan: JoinPlan,
    state: JoinState,
    valid: Mapping[str, pl.DataFrame],
    latest: Mapping[str, int],
    late_rows: LateRows,
) -> JoinBatch:
    """Returns the batch. `latest` has the highest event time of each side, in all shards.

    `late_rows` is the rule of the match by which rows are late.
    """
    rows, total = numbered(plan, state, valid)
    watermarks, clocks = _watermarks(plan, state, rows, latest)
    horizons = _horizons(plan, state.clocks, watermarks)
    applied, late, counts, marks = {}, {}, {}, dict(state.marks)
    for side, frame in rows.items():
        entry = plan.entries[side]
        fresh = state.marks[side].without_replays(entry, frame)
        marks[side] = state.marks[side].after(entry, frame)
        turn = turns_of(plan, fresh[NUMBER], state.next_number)
        own, other = (horizons.before[name][turn] for name in (side, OTHER[side]))
        mask = pl.Series(late_rows(side, fresh[TIME], own, other), dtype=pl.Boolean)
        applied[side] = filter_rows(fresh, ~mask)
        late[side] = _late(plan, state, side, fresh, mask, watermarks[side][:-1][turn])
        replays = frame.height - fresh.height
        counts[side] = Counts(frame.height, applied[side].height, replays, late[side].height)
    number, around = state.next_number, _around(watermarks)
    return JoinBatch(
        applied, late, counts, marks, horizons, around, number, number + total, state.clocks, clocks
    )


def _around(instants: Mapping[str, Instants]) -> Turns:
    """Returns the instants before and after each turn.

    The first of `instants` is the one before the first turn. The others are those after each turn.
    """
    return Turns(
        {side: each[:-1] for side, each in instants.items()},
        {side: each[1:] for side, each in instants.items()},
    )


def turns_of(plan: JoinPlan, numbers: pl.Series, first_number: int) -> Instants:
    """Returns the turn of the rows with these numbers. `first_number` is the first number of the batch."""
    if plan.spec.evaluate == "batch":
        return np.zeros(len(numbers), dtype=np.int64)
    return numbers.to_numpy() - first_number


def numbered(
    plan: SidesPlan, state: SidesState, valid: Mapping[str, pl.DataFrame]
) -> tuple[dict[str, pl.DataFrame], int]:
    """Returns the rows of each side in arrival order with their numbers, and how many there are."""
    entries = plan.entries
    rows = {side: arrival.in_order(entries[side], arrival.placed(frame)) for side, frame in valid.items()}
    numbers = {side: places + state.next_number for side, places in _places(plan, rows).items()}
    numbered = {
        side: rows[side].with_columns(pl.Series(NUMBER, numbers[side], dtype=pl.Int64)) for side in rows
    }
    return numbered, sum(frame.height for frame in rows.values())


def _watermarks(
    plan: JoinPlan, state: JoinState, rows: Mapping[str, pl.DataFrame], latest: Mapping[str, int]
) -> tuple[dict[str, Instants], JoinClocks]:
    """Returns by side the watermarks before the first turn and after each turn, and the clocks after all."""
    clocks = state.clocks.moved_by_rows(plan.spec, latest)
    if plan.spec.evaluate == "batch" or not any(frame.height for frame in rows.values()):
        return _of_clocks([state.clocks, clocks]), clocks
    if plan.spec.idle_after is None:
        return _after_each_row(plan, state.clocks, _sequence(rows)), clocks
    each = _clocks_after_each_row(plan, state.clocks, _sequence(rows))
    return _of_clocks(each), each[-1]


def _places(plan: SidesPlan, rows: Mapping[str, pl.DataFrame]) -> dict[str, Instants]:
    """Returns the place of each row among those of both sides (36.6). Each side is in its order."""
    if len(rows) < 2:
        return {side: np.arange(frame.height) for side, frame in rows.items()}
    if _by_columns(plan):
        return _places_by_columns(plan, rows)
    if not plan.entries[LEFT].time_columns:
        before = rows[RIGHT].height  # right rows come before left rows (36.13)
        return {LEFT: np.arange(before, before + rows[LEFT].height), RIGHT: np.arange(before)}
    # Merging two sequences compares the first rows that are left. So no row comes before an earlier one of
    # its side.
    left, right = (np.maximum.accumulate(rows[side][TIME].to_numpy()) for side in (LEFT, RIGHT))
    return {
        LEFT: np.arange(len(left)) + np.searchsorted(right, left, side="left"),
        RIGHT: np.arange(len(right)) + np.searchsorted(left, right, side="right"),
    }


def _by_columns(plan: SidesPlan) -> bool:
    """Returns whether both sides name order columns, as many and of the same types."""
    left, right = (
        [port.schema[name] for name in port.entry.order] for port in (plan.ports[LEFT], plan.ports[RIGHT])
    )
    return bool(left) and left == right


def _places_by_columns(plan: SidesPlan, rows: Mapping[str, pl.DataFrame]) -> dict[str, Instants]:
    frames = []
    for side, frame in rows.items():
        columns = [pl.col(name).alias(str(n)) for n, name in enumerate(plan.ports[side].entry.order)]
        rank = pl.lit(int(side == RIGHT)).alias(_SIDE)
        frames.append(frame.select(*columns, rank, pl.int_range(pl.len(), dtype=pl.Int64).alias(_AT)))
    both = pl.concat(frames)
    by = [name for name in both.columns if name != _AT]
    merged = ordered(both, by)
    sides, at = merged[_SIDE].to_numpy(), merged[_AT].to_numpy()
    places = {}
    for number, name in enumerate((LEFT, RIGHT)):
        mine = np.flatnonzero(sides == number)
        places[name] = np.empty(len(mine), dtype=np.int64)
        places[name][at[mine]] = mine
    return places


def _horizons(plan: JoinPlan, clocks: JoinClocks, watermarks: Mapping[str, Instants]) -> Turns:
    """Returns the horizons of each turn. `watermarks` are those before the first turn and after each turn."""
    horizons = {}
    for side, of_side in watermarks.items():
        late, clock = plan.spec.sides[side].allowed_lateness.us, clocks.sides[side]
        horizon = np.maximum(of_side, MIN_INSTANT + late) - late
        horizon = horizon if clock.floor is None else np.maximum(horizon, clock.floor)
        horizons[side] = np.full_like(of_side, MAX_INSTANT) if clock.ended else horizon
    return _around(horizons)


@dataclass(frozen=True)
class _Sequence:
    times: Instants
    left: npt.NDArray[np.bool_]  # whether the row is of the left side


def _sequence(rows: Mapping[str, pl.DataFrame]) -> _Sequence:
    numbers = np.concatenate([frame[NUMBER].to_numpy() for frame in rows.values()])
    times = np.concatenate([frame[TIME].to_numpy() for frame in rows.values()])
    left = np.concatenate([np.full(frame.height, side == LEFT) for side, frame in rows.items()])
    places = np.argsort(numbers)
    return _Sequence(times[places], left[places])


def _after_each_row(plan: JoinPlan, before: JoinClocks, rows: _Sequence) -> dict[str, Instants]:
    """Returns by side the watermarks before the batch and after each of its rows, if no side can be idle."""
    watermarks = {}
    for side, clock in before.sides.items():
        reported = np.full(len(rows.times) + 1, MIN_INSTANT)
        reported[0] = MIN_INSTANT if clock.watermark is None else clock.watermark
        driven = plan.entries[side].watermark
        if isinstance(driven, StreamTime):
            mine = rows.left == (side == LEFT)
            if plan.spec.watermark is not None:
                mine = np.ones_like(mine)
            reported[1:][mine] = shifted_instants(rows.times[mine], -driven.delay.us)
        watermarks[side] = np.maximum.accumulate(reported)
    return watermarks


def _clocks_after_each_row(plan: JoinPlan, before: JoinClocks, rows: _Sequence) -> list[JoinClocks]:
    clocks = [before]
    for time, left in zip(rows.times.tolist(), rows.left.tolist(), strict=True):
        clocks.append(clocks[-1].moved_by_rows(plan.spec, {LEFT if left else RIGHT: time}))
    return clocks


def _of_clocks(clocks: Sequence[JoinClocks]) -> dict[str, Instants]:
    """Returns the watermarks by side. MIN_INSTANT stands for none."""
    watermarks = {side: [clock.sides[side].watermark for clock in clocks] for side in (LEFT, RIGHT)}
    return {
        side: np.array([MIN_INSTANT if instant is None else instant for instant in each], dtype=np.int64)
        for side, each in watermarks.items()
    }


def late_after_end(plan: SidesPlan, state: SidesState, side: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows that arrive after the end of their side as the late output has them (36.4)."""
    all_rows = pl.repeat(True, rows.height, dtype=pl.Boolean, eager=True)
    return _late(plan, state, side, rows, all_rows, np.zeros(rows.height, dtype=np.int64))


def _late(
    plan: SidesPlan, state: SidesState, side: str, rows: pl.DataFrame, mask: pl.Series, watermarks: Instants
) -> pl.DataFrame:
    port, ended = plan.ports[side], state.clocks.sides[side].ended
    if not mask.any():
        return no_rows(port.late_schema)
    late = filter_rows(rows.with_columns(pl.Series(KEY_WATERMARK, watermarks, dtype=pl.Int64)), mask)
    ahead = (pl.col(KEY_WATERMARK).cast(pl.Int128) - pl.col(TIME).cast(pl.Int128)).clip(0, MAX_INSTANT)
    values = {
        REASON: pl.lit("finished" if ended else "behind"),
        LATE_BY: pl.lit(None) if ended else ahead,
        **NO_WINDOWS,
    }
    columns = [
        values.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in port.late_schema.items()
    ]
    return late.select(columns)
