"""Rows by key and time that expire with their session.

When a session expires or is deleted, its rows stay until a merge of runs reads them. The merge looks up the
sessions of the keys of its rows, and removes rows that are in no session. Invariant: only rows of stored
sessions are looked up, so rows that no merge has removed yet have no effect.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.engine.columns import END, START
from panewise.engine.kernels.small_frames import emptied, filter_rows, group_places
from panewise.engine.tables.rows_by_key import RowsByKey
from panewise.engine.tables.stored_table import StoredTable

_AT, _CODE, _TIME, _UNTIL = "__at", "__code", "__time", "__until"


@dataclass(frozen=True)
class RowsOfSessions(RowsByKey):
    """A table whose rows belong to the sessions of another table.

    Attributes:
        sessions: the table of the sessions; None if no row may be removed. Its keys are in the order of those
            of the rows.
        keys: the names of the keys in that table.
    """

    sessions: StoredTable | None = None
    keys: tuple[str, ...] = ()

    def of_sessions(self, sessions: StoredTable, keys: tuple[str, ...]) -> Self:
        """Returns the table with the sessions as they are now."""
        return replace(self, sessions=sessions, keys=keys)

    def without(self, numbers: pl.Series) -> Self:
        """Returns the table without the rows with these numbers. All other rows are written again."""
        number = self.shape.identity[1]
        rows = self.all()
        rest = filter_rows(rows, ~rows[number].is_in(numbers.implode()))
        return replace(self, newest=emptied(self.newest), runs=()).put(rest)

    def _merging(self, rows: pl.DataFrame, *, bottom: bool) -> pl.DataFrame:
        """Returns the rows that are still in a session."""
        if self.sessions is None or rows.is_empty():
            return rows
        keys, time = list(self.keys), rows[self.time]
        of_rows = rows.select(pl.col(own).alias(key) for own, key in zip(self.shape.by, keys, strict=True))
        sessions = self.sessions.of_keys(of_rows, keys)
        # Sessions and rows get the same number for the same key, so that one join can use it.
        _, places, counts = group_places(pl.concat([sessions.select(keys), of_rows]), keys)
        code = np.empty(len(places), dtype=np.int64)
        code[places] = np.repeat(np.arange(len(counts)), counts)
        bounds = pl.DataFrame({_CODE: code[: sessions.height], _TIME: sessions[START], _UNTIL: sessions[END]})
        wanted = pl.DataFrame({_CODE: code[sessions.height :], _TIME: time}).with_row_index(_AT)
        # The sessions of a key are disjoint, so only the last one that starts by then can contain the row.
        matched = wanted.sort(_TIME).join_asof(bounds.sort(_TIME), on=_TIME, by=_CODE, check_sortedness=False)
        inside = matched.filter(pl.col(_UNTIL) > pl.col(_TIME))[_AT].to_numpy()
        live = np.zeros(rows.height, dtype=np.bool_)
        live[inside] = True
        return filter_rows(rows, pl.Series(live))
