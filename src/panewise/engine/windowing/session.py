"""Assigns rows to sessions (semantics 9, 9.3).

A row's own window is [t, t + gap), where the gap may be a column of the row. Windows that overlap merge into
a session (:mod:`panewise.engine.windowing.session_sweep`). Late rows are split off before
(:mod:`panewise.engine.windowing.session_lateness`).

Invariant: the stored sessions of a key neither overlap nor touch where that would merge them. So the sessions
after a batch follow from its rows and from the stored sessions of their keys, which one sweep reads. Cost:
that of the sweep, and a few passes over the rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.columns import END, OWN_WINDOWS, SESSION, START, TIME
from panewise.engine.kernels.small_frames import filter_rows
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.session_lateness import SessionLateness
from panewise.spec import Custom, Rows, Session, WindowOperator, closed_at_end


@dataclass(frozen=True)
class Assigned:
    """The sessions of the rows of a batch.

    Attributes:
        rows: the rows that are in time, each with the number of its session in ``__session``.
        late: the late rows, with the sessions that they miss.
        sessions: the sessions that got rows: keys, ``__session``, and the merged bounds in ``__start`` and
            ``__end``.
        members: the stored sessions that became part of one of these, with all their columns and its number.
    """

    rows: pl.DataFrame
    late: pl.DataFrame
    sessions: pl.DataFrame
    members: pl.DataFrame


class Sessions(SessionLateness):
    """The session windows of a specification, at one watermark."""

    def assign(self, rows: pl.DataFrame, stored: pl.DataFrame, closed: pl.DataFrame) -> Assigned:
        """Assigns rows (in arrival order, numbered by ``__order``) to sessions.

        `stored` are the stored open sessions and `closed` the stored closed sessions of the rows' keys.
        """
        rows = rows.with_columns_seq(_own(self.window, rows.schema))
        rows, late = self.split(rows, stored, closed)
        swept = self.swept(rows, stored)
        grown = np.isin(swept.of_live.to_numpy(), swept.sessions[SESSION].to_numpy())
        members = filter_rows(stored.hstack([swept.of_live]), pl.Series(grown))
        payload = rows[[name for name in rows.columns if name not in (START, END)]]
        return Assigned(payload.hstack([swept.of_rows]), late, swept.sessions, members)


def _own(window: Session | Custom, schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
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
