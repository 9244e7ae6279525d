"""The rows that a join emits, and their order (semantics 40)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.matching import Pairs
from panewise.engine.join.plan import JoinPlan, named
from panewise.engine.kernels.frames import ordered, take_rows, vstack_frames
from panewise.engine.kernels.keys import output_key
from panewise.engine.kernels.sorting import Places
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, MISSING, OP, OTHER, RIGHT, Selected

Turns = npt.NDArray[np.int64]
# The parts of what one turn emits, in their order.
RETRACTED, PAIRED, UNMATCHED, EXPIRED = range(4)
_TURN, _PART, _SIDE, _AT = "__turn", "__part", "__side", "__at"


def pair_rows(plan: JoinPlan, pairs: Pairs) -> pl.DataFrame:
    """Returns pairs as they are emitted."""
    frames = []
    for side in (LEFT, RIGHT):
        mine = [one for one in plan.selected if _side_of(one) == side]
        taken = pairs.taken(side, [*(one.column for one in mine), TIME])
        columns = [
            _either(plan, one.column, one.column, one.name)
            if one.side == EITHER
            else pl.col(one.column).alias(one.name)
            for one in mine
        ]
        frames.append(taken.select(*columns, pl.col(TIME).alias(named(side, TIME))))
    both = frames[0].hstack(frames[1])
    return both.select(*(one.name for one in plan.selected), *_added(plan, "+", None, _pair_time(plan)))


def decided_rows(plan: JoinPlan, rows: pl.DataFrame, right: pl.DataFrame, at: Places) -> pl.DataFrame:
    """Returns left rows as they are emitted, with the rows of `right` at `at`; -1 is no row."""
    if RIGHT not in plan.spec.emitted_sides:
        return single_rows(plan, LEFT, rows)
    columns = dict.fromkeys([*(one.column for one in plan.selected if one.side == RIGHT), TIME])
    none = pl.DataFrame({name: [None] for name in columns}, schema={n: right.schema[n] for n in columns})
    stack = vstack_frames([right.select(*columns), none])
    found = take_rows(stack, np.where(at < 0, right.height, at))
    columns_of_both = [
        *(one.alias(named(LEFT, one.name)) for one in rows.get_columns()),
        *(one.alias(named(RIGHT, one.name)) for one in found.get_columns()),
    ]
    both = pl.DataFrame(columns_of_both)
    emitted = [
        _either(plan, named(LEFT, one.column), one.column, one.name)
        if one.side == EITHER
        else pl.col(named(one.side, one.column)).alias(one.name)
        for one in plan.selected
    ]
    lacks = pl.col(named(RIGHT, TIME)).is_null()
    missing = pl.when(lacks).then(pl.lit(RIGHT)).alias(MISSING)
    time = pl.coalesce(_pair_time(plan), named(LEFT, TIME)).alias(JOIN_TIME)
    return both.select(*emitted, pl.lit("+").alias(OP), missing, time)


def _side_of(one: Selected) -> str:
    """Returns the side that a column of a pair is taken from."""
    return RIGHT if one.side == RIGHT else LEFT


def single_rows(plan: JoinPlan, side: str, rows: pl.DataFrame, op: str = "+") -> pl.DataFrame:
    """Returns rows of one side as they are emitted. The columns of the other side are null."""
    keys = dict(zip(plan.ports[LEFT].keys, plan.ports[side].keys, strict=True))
    columns = [
        _either(plan, keys[one.column], one.column, one.name)
        if one.side == EITHER
        else pl.col(one.column).alias(one.name)
        if one.side == side
        else pl.lit(None, dtype=plan.pane_schema[one.name]).alias(one.name)
        for one in plan.selected
    ]
    return rows.select(*columns, *_added(plan, op, OTHER[side], pl.col(TIME)))


def _either(plan: JoinPlan, column: str, key: str, name: str) -> pl.Expr:
    return output_key(column, plan.ports[LEFT].schema[key]).alias(name)


def _added(plan: JoinPlan, op: str, missing: str | None, time: pl.Expr) -> list[pl.Expr]:
    """Returns the columns that the join adds. Literals are repeated by the select."""
    made = {
        OP: pl.lit(op, dtype=pl.String),
        MISSING: pl.lit(missing, dtype=pl.String),
        JOIN_TIME: time,
    }
    return [made[name].alias(name) for name in plan.spec.added_columns]


def _pair_time(plan: JoinPlan) -> pl.Expr:
    left, right = (pl.col(named(side, TIME)) for side in (LEFT, RIGHT))
    match plan.spec.timestamp:
        case "right":
            return right
        case "later":
            return pl.max_horizontal(left, right)
        case "earlier":
            return pl.min_horizontal(left, right)
    return left


@dataclass
class Emission:
    """What a batch emits: the parts of its turns. The rows of a part are given in their order."""

    plan: JoinPlan
    parts: list[tuple[int, Turns, pl.DataFrame]] = field(default_factory=list)

    def add(self, part: int, turns: Turns, rows: pl.DataFrame) -> None:
        """Adds rows to a part. Parts are added in their order."""
        if rows.height:
            self.parts.append((part, turns, rows))

    def rows(self) -> pl.DataFrame:
        """Returns all rows in the order of 40.3: by turn, then by part."""
        if not self.parts:
            return pl.DataFrame(schema=self.plan.pane_schema)
        if self.plan.spec.evaluate == "batch":
            return vstack_frames([rows for _, _, rows in self.parts])
        placed = [
            rows.with_columns(pl.Series(_TURN, turns, dtype=pl.Int64), pl.lit(part).alias(_PART))
            for part, turns, rows in self.parts
        ]
        return ordered(vstack_frames(placed), [_TURN, _PART]).drop(_TURN, _PART)


def by_time(
    plan: JoinPlan, rows: Iterable[tuple[str, pl.DataFrame]], number: str = NUMBER, op: str = "+"
) -> tuple[pl.DataFrame, pl.Series]:
    """Returns rows without a partner as they are emitted, by time, then left before right, then arrival.

    Also returns their values in the column `number`.
    """
    frames, keys = [], []
    for side, one in rows:
        frames.append(single_rows(plan, side, one, op))
        order = pl.lit(int(side == RIGHT)).alias(_SIDE)
        keys.append(one.select(TIME, order, pl.col(NUMBER), pl.col(number).alias(_AT)))
    if not frames:
        return pl.DataFrame(schema=plan.pane_schema), pl.Series(_AT, [], dtype=pl.Int64)
    both = pl.concat(frames).hstack(pl.concat(keys))
    both = both.sort(TIME, _SIDE, NUMBER)
    return both.select(*plan.pane_schema), both[_AT]
