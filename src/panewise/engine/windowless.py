"""Rows that no window exists for: in a gap, or at the ends of time (semantics 6.1, 6.3)."""

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.assign import SLICE
from panewise.engine.plan import Plan
from panewise.engine.validity import REASON, TIME
from panewise.spec import Session


def split_windowless(plan: Plan, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows that have a window (for fixed windows with their ``__slice``), and the others with the reason."""
    if plan.slicing is None:
        assert isinstance(plan.spec.window, Session)
        lost = pl.col(TIME) > MAX_INSTANT - plan.spec.window.gap.us
        return rows.filter(~lost), rows.filter(lost).with_columns(pl.lit("window out of range").alias(REASON))
    rows = rows.with_columns(plan.slicing.slices(rows))
    reasons = {s: plan.slicing.missing_reason(s) for s in rows[SLICE].unique().to_list() if not plan.slicing.windows(s)}
    if not reasons:
        return rows, rows.clear().with_columns(pl.lit(None, dtype=pl.String).alias(REASON))
    table = pl.DataFrame({SLICE: list(reasons), REASON: list(reasons.values())}, schema={SLICE: pl.Int64, REASON: pl.String})
    judged = rows.join(table, on=SLICE, how="left", maintain_order="left")
    return judged.filter(pl.col(REASON).is_null()).drop(REASON), judged.filter(pl.col(REASON).is_not_null()).drop(SLICE)
