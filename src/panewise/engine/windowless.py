"""Rows that no window exists for: in a gap, without a gap of their own, or at the ends of time (semantics 6.1, 6.3, 9.3)."""

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine import customs
from panewise.engine.assign import SLICE
from panewise.engine.outputs import REASON
from panewise.engine.plan import Plan
from panewise.engine.sessions import gap_of
from panewise.engine.validity import TIME
from panewise.spec import Custom, Session, closed_at_end


def split_windowless(plan: Plan, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that have a window (with their ``__slice``, or with the windows of their own), and the others with the reason."""
    if plan.counted:  # rows have no number yet
        return rows, rows.clear().with_columns(pl.lit(None, dtype=pl.String).alias(REASON))
    if isinstance(plan.spec.window, Custom):
        return customs.split(plan.spec.window, rows)
    if plan.sliding:
        none = plan.slide.without_own(pl.col(TIME))
        return rows.filter(~none), rows.filter(none).with_columns(pl.lit("window out of range").alias(REASON))
    if plan.slicing is None:
        assert isinstance(plan.spec.window, Session)
        judged = rows.with_columns(_without_session(plan.spec.window, rows).alias(REASON))
        return judged.filter(pl.col(REASON).is_null()).drop(REASON), judged.filter(pl.col(REASON).is_not_null())
    rows = rows.with_columns(plan.slicing.slices(rows))
    reasons = {at: plan.slicing.missing_reason(at) for at in plan.slicing.without_window(rows[SLICE])}
    if not reasons:
        return rows, rows.clear().with_columns(pl.lit(None, dtype=pl.String).alias(REASON))
    table = pl.DataFrame({SLICE: list(reasons), REASON: list(reasons.values())}, schema={SLICE: pl.Int64, REASON: pl.String})
    judged = rows.join(table, on=SLICE, how="left", maintain_order="left")
    return judged.filter(pl.col(REASON).is_null()).drop(REASON), judged.filter(pl.col(REASON).is_not_null()).drop(SLICE)


def _without_session(window: Session, rows: pl.DataFrame) -> pl.Expr:
    """Why a row opens no session; null if it does."""
    gap, last = gap_of(window, rows.schema), 1 if closed_at_end(window) else 0
    tests = [(pl.col(TIME) > MAX_INSTANT - last - gap, "window out of range")]
    if isinstance(window.gap, str):  # only with these behind it the difference above cannot wrap
        tests = [(gap.is_null(), f"gap {window.gap} is null"), (gap <= 0, f"gap {window.gap} is not above zero"), *tests]
    return pl.coalesce(pl.when(test).then(pl.lit(reason)) for test, reason in tests)
