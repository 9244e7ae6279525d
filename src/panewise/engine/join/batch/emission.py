"""The rows that a join emits, and their order (semantics 39, 40).

Rows are emitted by turn, then by part of the turn. Both are encoded in one number, and rows of one number
keep their order. Pairs come in this order, so they are merged with the other rows piece by piece.

Which rows have had a partner: where it matters, a stored row is in the table of matches of its side, or is
marked `MATCHED`, if and only if it has had one. So a pair is the first of a row if the row is not among them,
and if no earlier pair of the batch has the row. The tables are searched only for rows that get a pair or
expire.

Cost: linear in the emitted rows, with a stable sort of the rows of a piece where parts interleave; the memory
of pairs is that of a piece.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

import numpy as np
import polars as pl

from panewise.engine.columns import END, MATCHED, NUMBER, TIME
from panewise.engine.join.batch.join_batch import JoinBatch, turns_of
from panewise.engine.join.plan import JoinPlan, named
from panewise.engine.join.search.candidate_slices import PIECE
from panewise.engine.join.search.pair_search import Pairs
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import output_key, take_rows, vstack_frames, without
from panewise.engine.kernels.sorting import Places
from panewise.engine.tables.run import Shape
from panewise.engine.tables.stored_table import StoredTable
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, MISSING, OTHER, RIGHT, Selected
from panewise.spec.operators.panes import OP

# The number of the row in whose turn a row is emitted: the later row of its first pair, or the row after
# which it expires or by which it is evicted.
FIRST: Final = "__first"
_MATCHES: Final = "matches"

# The parts of what one turn emits, in their order.
RETRACTED, PAIRED, UNMATCHED, EXPIRED = range(4)
_PARTS = 4
_SIDE, _AT = "__side", "__at"


def pair_rows(plan: JoinPlan, pairs: Pairs, op: str = "+") -> pl.DataFrame:
    """Returns pairs as they are emitted, without the columns of their window."""
    frames = []
    for side in (LEFT, RIGHT):
        mine = [chosen for chosen in plan.selected if _side_of(chosen) == side]
        taken = pairs.taken(side, [*(chosen.column for chosen in mine), TIME])
        columns = (_emitted(plan, chosen, chosen.column) for chosen in mine)
        frames.append(taken.select(*columns, pl.col(TIME).alias(named(side, TIME))))
    both = frames[0].hstack(frames[1])
    none = pl.lit(None, dtype=pl.String)
    return both.select(*(chosen.name for chosen in plan.selected), *_added(plan, op, none, _pair_time(plan)))


def left_rows_with_partners(
    plan: JoinPlan, rows: pl.DataFrame, right: pl.DataFrame, at: Places
) -> pl.DataFrame:
    """Returns left rows as they are emitted, with the rows of `right` at `at`; -1 is no row."""
    if RIGHT not in plan.spec.emitted_sides:
        return single_rows(plan, LEFT, rows)
    columns = dict.fromkeys([*(chosen.column for chosen in plan.selected if chosen.side == RIGHT), TIME])
    none = pl.DataFrame({name: [None] for name in columns}, schema={n: right.schema[n] for n in columns})
    stack = vstack_frames([right.select(*columns), none])
    partners = take_rows(stack, np.where(at < 0, right.height, at))
    columns_of_both = [
        *(column_of.alias(named(LEFT, column_of.name)) for column_of in rows.get_columns()),
        *(column_of.alias(named(RIGHT, column_of.name)) for column_of in partners.get_columns()),
    ]
    both = pl.DataFrame(columns_of_both)
    emitted = (_emitted(plan, chosen, named(_side_of(chosen), chosen.column)) for chosen in plan.selected)
    missing = pl.when(pl.col(named(RIGHT, TIME)).is_null()).then(pl.lit(RIGHT))
    return both.select(
        *emitted, *_added(plan, "+", missing, pl.coalesce(_pair_time(plan), named(LEFT, TIME)))
    )


def _side_of(chosen: Selected) -> str:
    return RIGHT if chosen.side == RIGHT else LEFT


def single_rows(plan: JoinPlan, side: str, rows: pl.DataFrame, op: str = "+") -> pl.DataFrame:
    """Returns rows of one side as they are emitted. The columns of the other side are null."""
    keys = dict(zip(plan.ports[LEFT].keys, plan.ports[side].keys, strict=True))
    columns = [
        _emitted(plan, chosen, keys[chosen.column] if chosen.side == EITHER else chosen.column)
        if chosen.side in (side, EITHER)
        else pl.lit(None, dtype=plan.pane_schema[chosen.name]).alias(chosen.name)
        for chosen in plan.selected
    ]
    # All emitted columns may be literals, which take their length from a column of the rows.
    emitted = rows.select(pl.col(TIME), *columns, *_added(plan, op, pl.lit(OTHER[side]), pl.col(TIME)))
    return emitted.drop(TIME)


def _emitted(plan: JoinPlan, chosen: Selected, column: str) -> pl.Expr:
    """Returns an emitted column, which is in a column of the rows. That of either side is a key."""
    is_key = chosen.side == EITHER
    value = output_key(column, plan.ports[LEFT].schema[chosen.column]) if is_key else pl.col(column)
    return value.alias(chosen.name)


def _added(plan: JoinPlan, op: str, missing: pl.Expr, time: pl.Expr) -> list[pl.Expr]:
    """Returns the columns that every join adds. Literals are repeated by the select."""
    added = {OP: pl.lit(op), MISSING: missing, JOIN_TIME: time}
    return [added[name].alias(name) for name in plan.spec.added_columns if name in added]


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
class JoinEmission:
    """What a batch emits: the parts of its turns. The rows of a part are given in their order.

    `parts` and `pairs` come with the turns of their rows. The pairs, in pieces, are the part `PAIRED`.
    """

    plan: JoinPlan
    parts: list[tuple[int, Instants, pl.DataFrame]] = field(default_factory=list)
    pairs: Iterable[tuple[Instants, pl.DataFrame]] = ()

    def add(self, part: int, turns: Instants, rows: pl.DataFrame) -> None:
        """Adds rows to a part. Parts are added in their order."""
        if rows.height:
            self.parts.append((part, turns, rows))

    def set_pairs(self, pairs: Iterable[tuple[Instants, pl.DataFrame]]) -> None:
        """Sets the pairs, in pieces. They are made when the rows are requested."""
        self.pairs = pairs

    def rows(self) -> pl.DataFrame:
        """Returns all rows in the order of 40.3: by turn, then by part."""
        return vstack_frames([*self.pieces()])

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Yields the same rows in pieces of about `PIECE` rows: mostly one, which may be empty."""
        none = pl.DataFrame(schema=self.plan.pane_schema)
        others = _placed([(_code(part, turns), rows) for part, turns, rows in self.parts], none)
        collected = [none]
        for turns, rows in self.pairs:
            if rows.height:
                (codes, frame), at = others, int(np.searchsorted(others[0], _code(PAIRED, turns[-1:])[0]))
                before, others = (codes[:at], frame[:at]), (codes[at:], frame[at:])
                collected.append(_placed([before, (_code(PAIRED, turns), rows)], none)[1])
            if sum(piece.height for piece in collected) >= PIECE:
                yield vstack_frames(collected)
                collected = [none]
        yield vstack_frames([*collected, others[1]])


def _code(part: int, turns: Instants) -> Instants:
    """Returns numbers by which the rows of a part are sorted: by turn, then by part."""
    return turns * _PARTS + part


def _placed(
    parts: Sequence[tuple[Instants, pl.DataFrame]], none: pl.DataFrame
) -> tuple[Instants, pl.DataFrame]:
    """Returns rows sorted by their numbers. Rows of one number keep their order."""
    filled = [part for part in parts if part[1].height] or [(np.empty(0, dtype=np.int64), none)]
    codes = np.concatenate([numbers for numbers, _ in filled])
    rows = vstack_frames([frame for _, frame in filled])
    if not (codes[1:] < codes[:-1]).any():
        return codes, rows
    places = np.argsort(codes, kind="stable")
    return codes[places], take_rows(rows, places)


def by_time(
    plan: JoinPlan, rows: Iterable[tuple[str, pl.DataFrame]], number: str = NUMBER, op: str = "+"
) -> tuple[pl.DataFrame, pl.Series]:
    """Returns rows without a partner as they are emitted, by time, then left before right, then arrival.

    Also returns their values in the column `number`.
    """
    frames, keys = [], []
    for side, single in rows:
        frames.append(single_rows(plan, side, single, op))
        order = pl.lit(int(side == RIGHT)).alias(_SIDE)
        keys.append(single.select(TIME, order, pl.col(NUMBER), pl.col(number).alias(_AT)))
    if not frames:
        return pl.DataFrame(schema=plan.pane_schema), pl.Series(_AT, [], dtype=pl.Int64)
    both = pl.concat(frames).hstack(pl.concat(keys))
    both = both.sort(TIME, _SIDE, NUMBER)
    return both.select(*plan.pane_schema), both[_AT]


@dataclass(frozen=True)
class Outcome:
    """A batch after it was matched.

    Attributes:
        rows: by side the applied rows, as the tables store them.
        pieces: the pairs, in the order of 40.3, in one or more pieces. They can be iterated again.
        partnered: by side the rows that got their first partner, for the sides for which that matters.
    """

    plan: JoinPlan
    batch: JoinBatch
    rows: Mapping[str, pl.DataFrame]
    pieces: Iterable[Pairs]
    partnered: Mapping[str, pl.DataFrame]

    def turns(self, numbers: pl.Series) -> Instants:
        """Returns the turn of the rows with these numbers."""
        return turns_of(self.plan, numbers, self.batch.first_number)

    def emit_pairs(self, emission: JoinEmission) -> None:
        """Emits retractions and pairs; with `semi` left rows that got their first partner."""
        plan, spec = self.plan, self.plan.spec
        if spec.unmatched == "early":
            retracted = {side: self._retracted(side) for side in spec.outer_sides}
            self.emit_single(emission, RETRACTED, retracted, FIRST, "-")
        if spec.how == "semi":
            rows = self.partnered[LEFT]
            emission.add(PAIRED, self.turns(rows[FIRST]), single_rows(plan, LEFT, rows))
        elif spec.how != "anti":
            pieces = ((self.turns(pl.Series(pairs.later)), pair_rows(plan, pairs)) for pairs in self.pieces)
            emission.set_pairs(pieces)

    def emit_early(self, emission: JoinEmission) -> None:
        """Emits the rows that have no partner in the evaluation after their arrival."""
        sides = self.plan.spec.outer_sides
        self.emit_single(emission, UNMATCHED, {side: self._early(side) for side in sides}, NUMBER)

    def emit_single(
        self, emission: JoinEmission, part: int, rows: Mapping[str, pl.DataFrame], turn: str, op: str = "+"
    ) -> None:
        """Emits rows without a partner. `turn` is the column with the number whose turn emits them."""
        emitted, numbers = by_time(self.plan, rows.items(), turn, op)
        emission.add(part, self.turns(numbers), emitted)

    def _retracted(self, side: str) -> pl.DataFrame:
        """Returns the rows that were emitted without a partner before they got one."""
        rows = self.partnered[side]
        emitted = pl.col(NUMBER) < self.batch.first_number
        if self.plan.spec.evaluate == "record":
            emitted = emitted | (pl.col(FIRST) > pl.col(NUMBER))
        return rows.filter(emitted)

    def _early(self, side: str) -> pl.DataFrame:
        partnered = self.partnered[side]
        if self.plan.spec.evaluate == "record":
            partnered = partnered.filter(pl.col(FIRST) == pl.col(NUMBER))
        return without(self.rows[side], partnered, [NUMBER])


def remembered_sides(spec: JoinOperator) -> tuple[str, ...]:
    """Returns the sides for which it matters whether a row had a partner."""
    return (*spec.outer_sides, LEFT) if spec.how == "semi" else spec.outer_sides


def matches_name(side: str) -> str:
    """Returns the name of the table with the numbers of the rows of a side that got a partner."""
    return f"{side} {_MATCHES}"


def no_matches() -> StoredTable:
    """Returns a table of matches without rows."""
    shape = Shape({NUMBER: pl.Int64(), END: pl.Int64()}, [NUMBER], [NUMBER])
    return StoredTable.nothing(shape)


def matches_of(state: JoinState, side: str) -> StoredTable:
    """Returns the table with the numbers of the rows of a side that got a partner."""
    return state.tables[matches_name(side)]


def changed_matches(
    state: JoinState, side: str, partnered: pl.DataFrame, evicted: pl.DataFrame | None
) -> StoredTable:
    """Returns the table of matches with rows that got a partner, and without rows that were evicted."""
    table = matches_of(state, side)
    put = partnered.select(*table.shape.schema)
    if evicted is None or evicted.is_empty():
        return table.changed(put)
    return table.changed(without(put, evicted, [NUMBER]), table.find(evicted.select(NUMBER)))


def without_partner(state: JoinState, side: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns those stored rows that have no partner in the state.

    With ``__matched``, rows that had one when they arrived are not among the matches.
    """
    rows = _not_matched_at_once(rows)
    matched = matches_of(state, side).find(rows.select(NUMBER)) if rows.height else rows
    return without(rows, matched, [NUMBER])


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
