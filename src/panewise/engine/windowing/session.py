"""Assigns rows to sessions (semantics 9, 9.3, 13.2).

A row's own window is [t, t + gap), where the gap may be a column of the row. The own windows of rows and the
stored sessions of a key are swept in the order of their starts. A new session begins where the next start
lies beyond every end so far. A start at the last of these ends begins one, too, unless windows that touch are
merged. The result does not depend on arrival order as long as no row is late.

Whether a row is late depends on the sessions stored when it arrives. Only a row whose own window has expired
can be late: a *doubtful* row. A session that contains only doubtful rows is late as a whole. In any other
session with doubtful rows, all rows are processed one by one in arrival order. These sessions are few.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from panewise.engine.columns import CAUSE, END, MISSED_SESSIONS, ORDER, OWN_WINDOWS, SESSION, START, TIME
from panewise.engine.kernels.small_frames import Mask, joined, take_rows
from panewise.engine.kernels.sorting import Integers, Line, Places, codes, order
from panewise.engine.progress.clocks import Clocks
from panewise.spec import Custom, Rows, Session, WindowOperator, closed_at_end, merging_at_touch

_IS_STORED, _ALIVE, _DOUBTFUL, _HORIZON = "__is_held", "__alive", "__doubtful", "__horizon"


@dataclass(frozen=True)
class Assigned:
    """The result for a batch: rows with a ``__session`` number, late rows and what they missed, and sessions.

    `sessions` are those that got rows, with keys, ``__session``, ``__start`` and ``__end`` (the merged
    bounds). `members` maps each stored session that is part of one of them to its number.
    """

    rows: pl.DataFrame
    late: pl.DataFrame
    sessions: pl.DataFrame
    members: pl.DataFrame


@dataclass(frozen=True)
class Sessions:
    """The session windows of a specification, at one watermark."""

    window: Session | Custom
    keys: list[str]
    horizon: pl.Expr | None  # windows that end here or earlier have expired
    row_horizon: pl.Expr | None  # with drop_by="row": rows before this are late
    by_row: bool  # drop_by="row": no row is late because of its session

    def assign(self, rows: pl.DataFrame, stored: pl.DataFrame, closed: pl.DataFrame) -> Assigned:
        """Assigns rows (in arrival order, numbered by ``__order``) to sessions.

        `stored` are the stored open sessions and `closed` the stored closed sessions of the rows' keys.
        """
        rows = rows.with_columns(_own(self.window, rows.schema))
        rows, behind = self._behind(rows)
        rows, shut = self._shut(rows, closed)
        rows, expired = self._expired(rows, stored)
        late = pl.concat([behind, shut, expired]).sort(ORDER)
        swept = self._swept(rows, stored)
        members = stored.select(*self.keys, START, END, swept.of_live).filter(
            swept.of_live.is_in(swept.sessions[SESSION].implode())
        )
        return Assigned(rows.drop(START, END).with_columns(swept.of_rows), late, swept.sessions, members)

    def _behind(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Splits off the rows that drop_by="row" drops."""
        test = (
            pl.lit(False) if self.row_horizon is None else (pl.col(TIME) < self.row_horizon).fill_null(False)
        )
        return rows.filter(~test), self._late(rows.filter(test), "behind")

    def _late(self, rows: pl.DataFrame, cause: str) -> pl.DataFrame:
        own = pl.concat_list(self._interval(START, END)).alias(MISSED_SESSIONS)
        return rows.with_columns(own, pl.lit(cause).alias(CAUSE)).drop(START, END)

    def _interval(self, start: str, end: str) -> pl.Expr:
        """Returns a session as outputs show it: with its last instant if closed there (semantics 9.9)."""
        output_end = pl.col(end) - 1 if closed_at_end(self.window) else pl.col(end)
        return pl.struct(pl.col(start).alias("start"), output_end.alias("end"))

    def _shut(self, rows: pl.DataFrame, closed: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Splits off the rows whose own window would merge with closed sessions, which they miss."""
        if closed.is_empty():
            return rows, self._late(rows.clear(), "closed")
        other = closed.select(*self.keys, pl.col(START).alias("__s"), pl.col(END).alias("__e"))
        pairs = joined(rows.select(*self.keys, ORDER, START, END), other, self.keys)
        a, b, c, d = pl.col(START), pl.col(END), pl.col("__s"), pl.col("__e")
        overlaps = (a <= d) & (c <= b) if merging_at_touch(self.window) else (a < d) & (c < b)
        missed = (
            pairs.filter(overlaps)
            .sort("__s", "__e")
            .group_by(ORDER)
            .agg(self._interval("__s", "__e").alias(MISSED_SESSIONS))
        )
        late = (
            rows.join(missed, on=ORDER, maintain_order="left")
            .with_columns(pl.lit("closed").alias(CAUSE))
            .drop(START, END)
        )
        return rows.join(missed, on=ORDER, how="anti", maintain_order="left"), late.select(
            self._late(rows.clear(), "closed").columns
        )

    def _expired(self, rows: pl.DataFrame, stored: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Splits off the rows whose merged session has expired when they arrive."""
        none = self._late(rows.clear(), "expired")
        if self.horizon is None or self.by_row:
            return rows, none
        rows = rows.with_columns((pl.col(END) <= self.horizon).fill_null(False).alias(_DOUBTFUL))
        if not rows[_DOUBTFUL].any():
            return rows.drop(_DOUBTFUL), none
        swept = self._swept(rows, stored)
        mine = rows.select(
            START,
            END,
            ORDER,
            _DOUBTFUL,
            self.horizon.alias(_HORIZON),
            swept.of_rows,
            pl.lit(False).alias(_IS_STORED),
        )
        both = pl.concat(
            [mine, stored.select(START, END, swept.of_live, pl.lit(True).alias(_IS_STORED))], how="diagonal"
        )
        alive = (pl.col(_IS_STORED) | ~pl.col(_DOUBTFUL)).any().over(SESSION)
        doubt = (pl.col(_DOUBTFUL).fill_null(False)).any().over(SESSION)
        both = both.with_columns(alive.alias(_ALIVE))
        hopeless = both.filter(~pl.col(_ALIVE) & ~pl.col(_IS_STORED))[ORDER].to_list()
        contested = both.filter(pl.col(_ALIVE) & doubt).select(
            SESSION, START, END, ORDER, _IS_STORED, _HORIZON
        )
        late = pl.Series(ORDER, hopeless + self._settle(contested), dtype=rows.schema[ORDER])
        rows = rows.drop(_DOUBTFUL)
        is_late = pl.col(ORDER).is_in(late.implode())
        return rows.filter(~is_late), self._late(rows.filter(is_late), "expired")

    def _settle(self, contested: pl.DataFrame) -> list[int]:
        """Returns the ``__order`` of the contested rows that are late, decided in arrival order."""
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

    def _swept(self, rows: pl.DataFrame, stored: pl.DataFrame) -> "_Swept":
        """Sweeps rows and stored sessions, key by key in the order of their starts.

        A session ends where the next start lies beyond every end so far.
        """
        points = pl.concat(
            [stored.select(*self.keys, START, END), rows.select(*self.keys, START, END)], rechunk=True
        )
        begin, end = points[START].to_numpy(), points[END].to_numpy()
        places, fresh = _stretches(
            codes(points, self.keys), begin, end, touching=merging_at_touch(self.window)
        )
        number = np.empty(len(places), dtype=np.uint32)
        number[places] = np.cumsum(fresh)
        firsts = np.flatnonzero(fresh)
        grown = np.logical_or.reduceat(places >= stored.height, firsts) if len(firsts) else fresh
        bounds = {
            START: begin[places[firsts]],
            END: np.maximum.reduceat(end[places], firsts) if len(firsts) else end,
        }
        named = take_rows(points.select(self.keys), places[firsts])
        sessions = named.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.UInt32).alias(SESSION), **bounds)
        return _Swept(
            sessions.filter(grown),
            pl.Series(SESSION, number[: stored.height]),
            pl.Series(SESSION, number[stored.height :]),
        )


@dataclass(frozen=True)
class _Swept:
    """The sessions that got rows, with numbers and bounds; the number of each stored session and each row."""

    sessions: pl.DataFrame
    of_live: pl.Series
    of_rows: pl.Series


def _stretches(code: Integers, begin: Integers, end: Integers, *, touching: bool) -> tuple[Places, Mask]:
    """Returns the positions of the intervals, sorted by code and begin, and which of these begin a stretch.

    A stretch begins at or after every earlier end of its code; with `touching` after every earlier end.
    """
    line = Line.of(code, begin, end)
    begins = line.places(code, begin)
    places = order([begins])
    reached = np.maximum.accumulate(line.places(code, end)[places])
    fresh = np.append(True, begins[places[1:]] >= reached[:-1] + (1 if touching else 0))
    return places, fresh[: len(places)]


def _own(window: Session | Custom, schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Returns start and end of each row's own window."""
    if isinstance(window, Custom):
        own = pl.col(OWN_WINDOWS).list.first().struct
        return [own.field("start").alias(START), own.field("end").alias(END)]
    last = 1 if closed_at_end(window) else 0
    return [pl.col(TIME).alias(START), (pl.col(TIME) + gap_of(window, schema) + last).alias(END)]


def gap_of(window: Session, schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """Returns the gap of each row, in microseconds.

    With a session of n rows it is n + 1 rows: the row's own number and the next n (semantics 9.5).
    """
    if isinstance(window.gap, Rows):
        return pl.lit(window.gap.n + 1, dtype=pl.Int64)
    if not isinstance(window.gap, str):
        return pl.lit(window.gap.us, dtype=pl.Int64)
    gap = pl.col(window.gap)
    return gap.dt.total_microseconds() if schema[window.gap].is_temporal() else gap.cast(pl.Int64)


def sessions_at(clocks: Clocks, spec: WindowOperator, keys: list[str]) -> Sessions:
    """Returns the session windows of a specification at the watermark of the clocks."""
    assert isinstance(spec.window, (Session, Custom))
    by_key = clocks.by_key and not clocks.finished
    horizon = clocks.horizon_of_key(spec) if by_key else clocks.horizon(spec)
    expired = pl.lit(horizon, dtype=pl.Int64) if isinstance(horizon, int) else horizon
    return Sessions(spec.window, keys, expired, clocks.row_horizon_of_key(spec), by_row=spec.drop_by == "row")
