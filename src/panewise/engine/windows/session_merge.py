"""Applies a batch of rows to the stored sessions, before triggers are evaluated (semantics 9).

All stored sessions of the keys of the rows are read, and one sweep finds into which session each row and each
stored session merges (:mod:`panewise.engine.windowing.session_sweep`). Then the windows of each merged
session become one. Invariant: a stored session whose bounds change is merged away, and the result is a new
window: it has emitted nothing. A batch costs as much as its rows and the stored sessions of their keys.
"""

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
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windowing import key_watermarks, window_table
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.session import Assigned, sessions_at
from panewise.engine.windowing.session_lateness import late_output_of_sessions
from panewise.engine.windowing.window_table import TriggerContext
from panewise.engine.windows.intake import Intake, merged_windows, triggered

_SAME = "__same"


def of_sessions(
    plan: WindowPlan, stored: StoredTable, rows: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]
) -> Intake:
    """Applies rows (in arrival order) to sessions. `columns` are those of the late output."""
    mine = stored.of_keys(rows, plan.keys)
    mine = key_watermarks.without(mine) if plan.by_key else mine
    assigned = sessions_at(clocks, plan.spec, plan.keys).assign(
        rows, mine.filter(~pl.col(CLOSED)), mine.filter(CLOSED)
    )
    known = mine.join(assigned.members, on=plan.identity, nulls_equal=True, maintain_order="left").sort(
        START, maintain_order=True
    )
    same = known.join(assigned.sessions, on=[SESSION, START, END], how="semi").select(
        SESSION, pl.lit(True).alias(_SAME)
    )
    merged = _merged(plan, known, _newborn(plan, assigned, clocks), assigned)
    late = late_output_of_sessions(assigned.late, clocks, columns)
    return Intake(
        touched=_renewed(plan, merged.join(same, on=SESSION, how="left", maintain_order="left"), clocks),
        replaced=known.select(*plan.table_schema),
        merged_away=known.join(same, on=SESSION, how="anti", maintain_order="left").select(
            *plan.table_schema
        ),
        late=late,
        applied=assigned.rows.height,
        late_count=late.height,
    )


def _newborn(plan: WindowPlan, assigned: Assigned, clocks: Clocks) -> pl.DataFrame:
    """Returns a window for each session, with the partials of the rows alone, and the merged bounds."""
    partials = plan.aggregation.lift(assigned.rows, [SESSION]).join(
        assigned.sessions, on=SESSION, maintain_order="left"
    )
    if plan.by_key:
        partials = key_watermarks.marked(partials, assigned.rows, plan.keys)
    schema = {**plan.intake_schema, SESSION: assigned.rows.schema[SESSION]}
    return window_table.newborn(
        partials, schema, pending=pl.col(ROWS), born=clocks.processing_time, open_=pl.lit(True)
    )


def _merged(plan: WindowPlan, known: pl.DataFrame, new: pl.DataFrame, assigned: Assigned) -> pl.DataFrame:
    """Merges the stored sessions, in the order of their starts, and then the windows of the batch."""
    by = [*plan.keys, SESSION]
    # A new window takes over the earliest F and A of those that it replaces (semantics 9.1). A FIRED of null
    # means F = A, so F is filled in before the merge.
    if plan.periodic:
        known = known.with_columns(
            pl.coalesce(FIRED, BORN).alias(FIRED), pl.max_horizontal(FIRED, BORN).alias(BORN)
        )
    else:
        known = known.with_columns(pl.coalesce(FIRED, BORN).alias(BORN))
    merged = merged_windows(plan, known, new, by).drop(START, END, strict=False)
    return merged.join(assigned.sessions.select(SESSION, START, END), on=SESSION, maintain_order="left")


def _renewed(plan: WindowPlan, merged: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """Resets sessions whose bounds have changed: they are new windows, which have emitted nothing."""
    complete = clocks.complete(plan.spec, pl.col(END))
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
    resets = [
        pl.when(_SAME).then(pl.col(name)).otherwise(value).alias(name)
        for name, value in anew.items()
        if name in merged.columns
    ]
    return triggered(
        plan,
        merged.with_columns(resets),
        TriggerContext.at(plan.spec, clocks),
        same=pl.col(_SAME).fill_null(False),
    )
