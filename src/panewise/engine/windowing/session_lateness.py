"""Decides which rows are late for sessions, and forms their late output (semantics 13.2, 13.4).

Whether a row is late depends on the sessions stored when it arrives. Only a row whose own window has expired
can be late: a *doubtful* row. All rows of the batch and the stored sessions are merged into sessions first,
in one sweep. Then there are three kinds of merged sessions:

- Without a doubtful row: no row is late.
- With only doubtful rows, and no stored session: it ends where one of them ends, so it has expired, and all
  its rows are late.
- All others are *contested*: a doubtful row is applied if a live session that it overlaps is stored when it
  arrives. So their rows are processed one by one in arrival order.

A batch costs one sweep, and for each row of a contested session a pass over the live sessions within it.
"""

from dataclasses import dataclass
from typing import Any

import polars as pl

from panewise.engine.columns import (
    CAUSE,
    END,
    MISSED_SESSIONS,
    MISSED_WINDOWS,
    ORDER,
    PARTIAL,
    REASON,
    SESSION,
    START,
    TIME,
)
from panewise.engine.ingest.late_output import late_columns, reason_of
from panewise.engine.kernels.small_frames import join_frames, no_rows, vstack_frames
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.session_sweep import Swept, swept
from panewise.spec import Custom, Session, closed_at_end, merging_at_touch

_OUTPUT = pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()}))
_IS_STORED, _ALIVE, _DOUBTFUL, _HORIZON = "__is_stored", "__alive", "__doubtful", "__horizon"


@dataclass(frozen=True)
class SessionLateness:
    """Decides which rows are late for the session windows of a specification, at one watermark."""

    window: Session | Custom
    keys: list[str]
    horizon: pl.Expr | None  # windows that end here or earlier have expired
    row_horizon: pl.Expr | None  # with drop_by="row": rows before this are late
    by_row: bool  # drop_by="row": no row is late because of its session

    def split(
        self, rows: pl.DataFrame, stored: pl.DataFrame, closed: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns the rows that are in time, and the late rows with what they missed.

        The rows have their own windows in ``__start`` and ``__end``. `stored` and `closed` are the stored
        open and closed sessions of their keys.
        """
        rows, behind = self._behind(rows)
        rows, shut = self._shut(rows, closed)
        rows, expired = self._expired(rows, stored)
        late = vstack_frames([behind, shut, expired])
        return rows, late.sort(ORDER) if late.height > 1 else late

    def swept(self, rows: pl.DataFrame, stored: pl.DataFrame) -> Swept:
        """Returns the sessions of the rows and of the stored sessions."""
        return swept(self.keys, rows, stored, touching=merging_at_touch(self.window))

    def _behind(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        if self.row_horizon is None:
            return rows, _none_late(rows)
        test = (pl.col(TIME) < self.row_horizon).fill_null(False)
        return rows.filter(~test), self._late(rows.filter(test), "behind")

    def _late(self, rows: pl.DataFrame, cause: str) -> pl.DataFrame:
        own = pl.concat_list(self._interval(START, END)).alias(MISSED_SESSIONS)
        return rows.with_columns(own, pl.lit(cause).alias(CAUSE)).drop(START, END)

    def _interval(self, start: str, end: str) -> pl.Expr:
        """Returns a session as outputs show it: with its last instant if closed there (semantics 9.9)."""
        output_end = pl.col(end) - 1 if closed_at_end(self.window) else pl.col(end)
        return pl.struct(pl.col(start).alias("start"), output_end.alias("end"))

    def _shut(self, rows: pl.DataFrame, closed: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Splits off the rows that are late because their own window would merge with a closed session."""
        if closed.is_empty():
            return rows, _none_late(rows)
        other = closed.select(*self.keys, pl.col(START).alias("__s"), pl.col(END).alias("__e"))
        pairs = join_frames(rows.select(*self.keys, ORDER, START, END), other, self.keys)
        a, b, c, d = pl.col(START), pl.col(END), pl.col("__s"), pl.col("__e")
        overlaps = (a <= d) & (c <= b) if merging_at_touch(self.window) else (a < d) & (c < b)
        missed = self._interval("__s", "__e").alias(MISSED_SESSIONS)
        by_row = pairs.filter(overlaps).sort("__s", "__e").group_by(ORDER).agg(missed)
        late = rows.join(by_row, on=ORDER, maintain_order="left").with_columns(pl.lit("closed").alias(CAUSE))
        in_time = rows.join(by_row, on=ORDER, how="anti", maintain_order="left")
        return in_time, late.select(_none_late(rows).columns)

    def _expired(self, rows: pl.DataFrame, stored: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Splits off the rows that are late because their merged session has expired when they arrive."""
        if self.horizon is None or self.by_row:
            return rows, _none_late(rows)
        doubtful = rows.select_seq((pl.col(END) <= self.horizon).fill_null(False).alias(_DOUBTFUL))
        if not doubtful[_DOUBTFUL].any():
            return rows, _none_late(rows)
        orders = self._late_orders(rows.hstack(doubtful), stored, self.horizon)
        is_late = pl.col(ORDER).is_in(pl.Series(ORDER, orders, dtype=rows.schema[ORDER]).implode())
        return rows.filter(~is_late), self._late(rows.filter(is_late), "expired")

    def _late_orders(self, rows: pl.DataFrame, stored: pl.DataFrame, horizon: pl.Expr) -> list[int]:
        """Returns the ``__order`` of the rows, some of them doubtful, whose merged session has expired."""
        swept = self.swept(rows, stored)
        # The rows and the stored sessions, each with its merged session. They decide of which kind this is.
        mine = rows.with_columns(horizon.alias(_HORIZON), swept.of_rows, pl.lit(False).alias(_IS_STORED))
        mine = mine.select(START, END, ORDER, _DOUBTFUL, _HORIZON, SESSION, _IS_STORED)
        theirs = stored.select(START, END, swept.of_live, pl.lit(True).alias(_IS_STORED))
        both = pl.concat([mine, theirs], how="diagonal")
        alive = (pl.col(_IS_STORED) | ~pl.col(_DOUBTFUL)).any().over(SESSION)
        doubt = (pl.col(_DOUBTFUL).fill_null(False)).any().over(SESSION)
        both = both.with_columns(alive.alias(_ALIVE))
        hopeless = both.filter(~pl.col(_ALIVE) & ~pl.col(_IS_STORED))[ORDER].to_list()
        contested = both.filter(pl.col(_ALIVE) & doubt).select(
            SESSION, START, END, ORDER, _IS_STORED, _HORIZON
        )
        return hopeless + self._settle(contested)

    def _settle(self, contested: pl.DataFrame) -> list[int]:
        """Returns the ``__order`` of the rows of contested sessions that are late.

        The arrival of the rows of each session is repeated one by one. A row merges with the sessions that
        are live by then, and is late if the result has expired.
        """
        late: list[int] = []
        for stretch in contested.partition_by(SESSION, maintain_order=True):
            live = [(r[START], r[END]) for r in stretch.filter(_IS_STORED).to_dicts()]
            for row in stretch.filter(~pl.col(_IS_STORED)).sort(ORDER).to_dicts():
                live, accepted = self._arrive(live, row)
                if not accepted:
                    late.append(row[ORDER])
        return late

    def _arrive(self, live: list[tuple[int, int]], row: dict[str, Any]) -> tuple[list[tuple[int, int]], bool]:
        start, end = row[START], row[END]
        reach = 1 if merging_at_touch(self.window) else 0
        overlapping = [(s, e) for s, e in live if start < e + reach and s < end + reach]
        union = min([start, *(s for s, _ in overlapping)]), max([end, *(e for _, e in overlapping)])
        if row[_HORIZON] is not None and union[1] <= row[_HORIZON]:
            return live, False
        return [window for window in live if window not in overlapping] + [union], True


def _none_late(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns no late rows, with the columns of :meth:`SessionLateness._late`."""
    columns = {name: dtype for name, dtype in rows.schema.items() if name not in (START, END)}
    return no_rows({**columns, MISSED_SESSIONS: _OUTPUT, CAUSE: pl.String()})


def late_output_of_sessions(
    late: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]
) -> pl.DataFrame:
    """Returns the late output of sessions.

    The missed windows of a row are the closed sessions that it would merge with. Without such sessions it is
    the session that the row would open.
    """
    if late.is_empty():
        return no_rows(columns)
    own_columns = {
        REASON: reason_of(clocks, pl.col(CAUSE)),
        MISSED_WINDOWS: pl.col(MISSED_SESSIONS),
        PARTIAL: pl.lit(False),
    }
    return late.select(late_columns(columns, own_columns, clocks))
