"""The rows of a join that pairs rows when they arrive (:mod:`panewise.engine.join.records.base`).

For each side and key there is a list of stored rows. A match says which of them are the partners of a row,
and which stay (:mod:`panewise.engine.join.interval.records`, :mod:`panewise.engine.join.by_arrival.records`).

Invariant: the partners of a row that comes now are a range of the list of its key. Cost: what the match needs
to find the range, and a tuple for each pair.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Sequence

import polars as pl

from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.base import RecordJoin, has_plain_sides
from panewise.engine.join.records.rows import JoinRow, RowsOfKey
from panewise.engine.join.two_sides import JoinState
from panewise.engine.tables.copied_tables import Row
from panewise.spec.operators.join.columns import LEFT, OTHER


def emits_only_pairs(plan: JoinPlan) -> bool:
    """Returns whether a join emits only pairs, and nothing but given watermarks decides what rows expire."""
    return plan.spec.how == "inner" and has_plain_sides(plan)


class RecordPairs(RecordJoin):
    """The stored rows of a join that pairs rows when they arrive, by side and key."""

    @abstractmethod
    def partners(self, rows: RowsOfKey, port: str, time: int) -> range:
        """Returns the places of the rows of the other side with which a row of a port is paired."""

    @abstractmethod
    def put(self, rows: RowsOfKey, port: str, row: JoinRow, clocks: JoinClocks) -> int:
        """Adds a row to those of its side and key. Returns how many rows it removed."""

    @abstractmethod
    def stored(self, state: JoinState, side: str) -> pl.DataFrame:
        """Returns the stored rows of a side."""

    def clear(self) -> None:
        """Removes all rows of the copy."""
        super().clear()
        self._rows: dict[str, defaultdict[Row, RowsOfKey]] = {side: defaultdict(RowsOfKey) for side in OTHER}

    def read_tables(self, state: JoinState) -> None:
        """Reads the rows of both sides."""
        for side, of_keys in self._rows.items():
            for row in self.rows_of(side, self.stored(state, side)):
                of_keys[row.key].insert(row)

    def apply(self, port: str, row: JoinRow, clocks: JoinClocks) -> list[Row]:
        """Adds an applied row of a side. Returns what is emitted."""
        self.size -= self.put(self._rows[port][row.key], port, row, clocks)
        others = self._rows[OTHER[port]].get(row.key)
        places = range(0) if others is None else self.partners(others, port, row.time)
        partners = [] if others is None or not places else others.rows[places.start : places.stop]
        return self.emitted(port, row, partners, clocks)

    def emitted(self, port: str, row: JoinRow, partners: Sequence[JoinRow], clocks: JoinClocks) -> list[Row]:
        """Returns what a row emits, with all partners that it has when it arrives."""
        pair = self.pair
        if port == LEFT:
            return [pair(row, partner) for partner in partners]
        return [pair(partner, row) for partner in partners]

    def _advanced(self, state: JoinState, clocks: JoinClocks) -> list[Row] | None:
        """Returns nothing: only rows emit pairs."""
        return []
