"""Applies a batch of rows to the stored sessions, before triggers are evaluated (semantics 9).

All stored sessions of the keys of the rows are read, and one sweep finds into which session each row and each
stored session merges (:mod:`panewise.engine.windowing.session_sweep`). Then the windows of each merged
session become one. Invariant: a stored session whose bounds change is merged away, and the result is a new
window: it has emitted nothing. A batch costs as much as its rows and the stored sessions of their keys.
"""

import numpy as np
import polars as pl

from panewise.engine.columns import (
    BORN,
    CLOSED,
    END,
    FIRED,
    INDEX,
    LIVE,
    NEW_ROWS,
    NONSPECULATIVE,
    ROWS,
    SESSION,
    START,
    UNFLIPPED,
)
from panewise.engine.kernels.small_frames import filter_rows, take_rows
from panewise.engine.kernels.sorting import Integers
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.run import FoundRows
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.windowing import key_watermarks, window_table
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.session import Assigned, sessions_at
from panewise.engine.windowing.session_lateness import late_output_of_sessions
from panewise.engine.windowing.window_table import TriggerContext
from panewise.engine.windows.intake import Intake, merged_windows, triggered

_SAME, _COMPLETE = "__same", "__complete"
_IS_SAME = pl.col(_SAME)
_TAKEN_OVER = [pl.coalesce(FIRED, BORN).alias(BORN)]
_TAKEN_OVER_IF_PERIODIC = [pl.coalesce(FIRED, BORN).alias(FIRED), pl.max_horizontal(FIRED, BORN).alias(BORN)]


def apply_to_sessions(
    plan: WindowPlan,
    stored: StoredTable,
    rows: pl.DataFrame,
    clocks: Clocks,
    late_columns: dict[str, pl.DataType],
) -> Intake:
    """Applies rows (in arrival order) to sessions. `late_columns` are those of the late output."""
    mine = stored.of_keys(rows, plan.keys)
    mine = key_watermarks.only_windows(plan, mine)
    closed = mine[CLOSED]
    assigned = sessions_at(clocks, plan.spec, plan.keys).assign(
        rows, filter_rows(mine, ~closed), filter_rows(mine, closed)
    )
    known = assigned.members
    known = known.sort(START, maintain_order=True) if known.height > 1 else known
    same = _with_same_bounds(known, assigned.sessions)
    merged = _merged(plan, known, _newborn(plan, assigned, clocks), assigned.sessions)
    is_same = pl.Series(_SAME, np.isin(merged[SESSION].to_numpy(), same))
    changed = pl.Series(~np.isin(known[SESSION].to_numpy(), same))
    columns = list(plan.table_schema)
    return Intake(
        affected=_renewed(plan, merged.hstack([is_same]), clocks),
        replaced=known[columns],
        merged_away=filter_rows(known, changed)[columns],
        late=late_output_of_sessions(assigned.late, clocks, late_columns),
        applied=assigned.rows.height,
        late_count=assigned.late.height,
    )


def _with_same_bounds(known: pl.DataFrame, sessions: pl.DataFrame) -> Integers:
    """Returns the numbers of the merged sessions that have the bounds of a stored session."""
    at = np.searchsorted(sessions[SESSION].to_numpy(), known[SESSION].to_numpy())
    same = np.logical_and.reduce(
        [sessions[bound].to_numpy()[at] == known[bound].to_numpy() for bound in (START, END)]
    )
    return known[SESSION].to_numpy()[same]


def _of_sessions(numbers: pl.Series, sessions: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Returns columns of the sessions with these numbers, in their order."""
    return take_rows(sessions[names], np.searchsorted(sessions[SESSION].to_numpy(), numbers.to_numpy()))


def _newborn(plan: WindowPlan, assigned: Assigned, clocks: Clocks) -> pl.DataFrame:
    """Returns a window for each session, with the partials of the rows alone, and the merged bounds."""
    partials = plan.aggregation.lift(assigned.rows, [SESSION])
    named = _of_sessions(partials[SESSION], assigned.sessions, [*plan.keys, START, END])
    partials = partials.hstack(named)
    if plan.by_key:
        partials = key_watermarks.with_watermarks(partials, assigned.rows, plan.keys)
    schema = {**plan.intake_schema, SESSION: assigned.rows.schema[SESSION]}
    return window_table.newborn(partials, schema, born=clocks.processing_time, open_=True)


def _merged(plan: WindowPlan, known: pl.DataFrame, new: pl.DataFrame, sessions: pl.DataFrame) -> pl.DataFrame:
    """Merges the stored sessions, in the order of their starts, and then the windows of the batch."""
    by = [*plan.keys, SESSION]
    # A new window takes over the earliest F and A of those that it replaces (semantics 9.1). A FIRED of null
    # means F = A, so F is filled in before the merge.
    known = known.with_columns_seq(_TAKEN_OVER_IF_PERIODIC if plan.periodic else _TAKEN_OVER)
    merged = new if plan.row_by_row_merge and known.is_empty() else None
    if plan.row_by_row_merge and known.height and known[SESSION].n_unique() == known.height:
        in_order = np.argsort(new[SESSION].to_numpy())
        which = in_order[np.searchsorted(new[SESSION].to_numpy()[in_order], known[SESSION].to_numpy())]
        merged = window_table.merged_row_by_row(
            plan.aggregation, plan.row_by_row_merge, FoundRows(known, which), new[known.columns]
        )
    if merged is None:
        merged = merged_windows(plan, known, new, by)
    rest = merged[[name for name in merged.columns if name not in (START, END)]]
    return rest.hstack(_of_sessions(rest[SESSION], sessions, [START, END]))


def _renewed(plan: WindowPlan, merged: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """Resets sessions whose bounds have changed: they are new windows, which have emitted nothing."""
    complete = clocks.complete_windows(plan.spec, merged).alias(_COMPLETE)
    resets = plan.once("resets", lambda: _resets(plan, merged.columns))
    return triggered(
        plan,
        merged.hstack([complete]).with_columns_seq(resets),
        TriggerContext.at(plan.spec, clocks),
        same=_IS_SAME,
    )


def _resets(plan: WindowPlan, columns: list[str]) -> list[pl.Expr]:
    complete = pl.col(_COMPLETE)
    anew: dict[str, pl.Expr] = {
        UNFLIPPED: ~complete,
        INDEX: pl.lit(0),
        NONSPECULATIVE: pl.lit(0),
        # A complete one replaces sessions that have passed their end, so it was not opened late (16.4,
        # 16.12).
        FIRED: pl.when(complete & pl.col(FIRED).is_not_null()).then(BORN),
        LIVE: pl.lit(False),
        NEW_ROWS: pl.col(ROWS),  # all rows that a new window contains (semantics 21.8)
    }
    if plan.periodic:
        del anew[FIRED]
    return [
        pl.when(_SAME).then(pl.col(name)).otherwise(value).alias(name)
        for name, value in anew.items()
        if name in columns
    ]
