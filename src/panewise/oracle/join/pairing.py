"""Joins that emit pairs when their later row arrives, and rows without a partner (semantics 39, 40.3)."""

from typing import Any

from panewise.oracle.join.applied import Applied, Pair
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.method import StoringJoin
from panewise.oracle.rows import Row
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.operator import JoinOperator


class PairingJoin(StoringJoin):
    """Pairs each row with rows of the other side that have arrived before it.

    A subclass determines these rows, and how long a row can get a partner.
    """

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        super().__init__(spec, clocks, emitted)
        self._applied: list[Applied] = []
        self._new_pairs: list[Pair] = []  # since the last evaluation

    def apply(self, side: str, row: Row) -> None:
        """Stores a row, and finds its partners among the rows that have arrived before it (semantics 27)."""
        new = Applied(side, row, len(self._applied))
        for partner in self._partners(new):
            self._new_pairs.append(Pair(later=new, earlier=partner))
            partner.has_partner = new.has_partner = True
        self._applied.append(new)

    def evaluate(self) -> list[dict[str, Any]]:
        """Returns the rows that one evaluation emits, in the order of semantics 40.3."""
        rows = [*self._retractions(), *self._pairs(), *self._without_partner()]
        self._new_pairs = []
        return rows

    def stored(self) -> list[Applied]:
        """Returns the rows that are part of the state (semantics 41)."""
        return [applied for applied in self._applied if self._is_stored(applied)]

    def _partners(self, new: Applied) -> list[Applied]:
        """Returns the rows that have arrived before a row and are its partners."""
        raise AssertionError("a subclass determines the partners")

    def _can_get_partner(self, applied: Applied) -> bool:
        """Returns whether a row that is still to arrive could be a partner (semantics 39)."""
        raise AssertionError("a subclass determines how long")

    def _retractions(self) -> list[dict[str, Any]]:
        """Retracts rows that were emitted without a partner and have one now (semantics 39)."""
        retracted = [applied for applied in self._applied if applied.emitted_alone and applied.has_partner]
        for applied in retracted:
            applied.emitted_alone = False
        return self._alone(retracted, "-")

    def _pairs(self) -> list[dict[str, Any]]:
        """Returns the pairs since the last evaluation, or the left rows that `semi` emits for them."""
        if self._spec.how == "anti":
            return []
        pairs = sorted(self._new_pairs, key=lambda pair: pair.order)
        if self._spec.how != "semi":
            return [self._emitted.pair(pair.row_of(LEFT).row, pair.row_of(RIGHT).row) for pair in pairs]
        rows = []
        for left in (pair.row_of(LEFT) for pair in pairs):
            if not left.emitted_once:
                left.emitted_once = True
                rows.append(self._emitted.alone(LEFT, left.row, "+"))
        return rows

    def _without_partner(self) -> list[dict[str, Any]]:
        """Returns the rows without a partner that this evaluation emits (semantics 39)."""
        alone = [
            applied
            for applied in self._applied
            if applied.side in self._spec.outer_sides
            and not applied.has_partner
            and not applied.emitted_alone
            and (self._spec.unmatched == "early" or not self._can_get_partner(applied))
        ]
        for applied in alone:
            applied.emitted_alone = True
        return self._alone(alone, "+")

    def _alone(self, rows: list[Applied], op: str) -> list[dict[str, Any]]:
        ordered = sorted(rows, key=lambda applied: applied.order)
        return [self._emitted.alone(applied.side, applied.row, op) for applied in ordered]

    def _is_stored(self, applied: Applied) -> bool:
        """Returns whether the row is part of the state (semantics 41)."""
        done = applied.has_partner and applied.side == LEFT and self._spec.how in ("semi", "anti")
        return self._can_get_partner(applied) and not done
