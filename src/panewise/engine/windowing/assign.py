"""Assigns valid rows to windows, as far as the row alone decides this.

A row of fixed windows gets its slice, a row of custom windows gets its own windows. The windows of other rows
depend on the state, so they are assigned later. Unassignable rows, for which no window exists (semantics 6.1,
6.3, 9.3), are split off.
"""

from functools import partial

import polars as pl

from panewise.chrono import MAX_INSTANT, Duration
from panewise.engine.columns import REASON, TIME
from panewise.engine.ingest.validate import Assign, all_valid, first_reason, split_by_reason
from panewise.engine.windowing import custom
from panewise.engine.windowing.session import gap_of
from panewise.engine.windowing.slicing import Slicing
from panewise.engine.windowing.sliding_bounds import Slide
from panewise.spec import Custom, Session, Sliding, WindowOperator, closed_at_end, counted


def assigning(spec: WindowOperator, slicing: Slicing | None) -> Assign:
    """Returns the function that assigns rows to the windows of a specification.

    It returns the rows with their ``__slice`` or their own windows, and unassignable ones with the reason.
    `slicing` is None if the windows are not fixed.
    """
    if counted(spec.window):
        return all_valid  # the rows have no number yet
    if slicing is not None:
        return slicing.assign
    if isinstance(spec.window, Custom):
        return partial(custom.split, spec.window)
    if isinstance(spec.window, Sliding):
        return partial(_to_sliding, Slide(spec.window, list(spec.keys)))
    assert isinstance(spec.window, Session)
    return partial(_to_sessions, spec.window)


def _to_sliding(slide: Slide, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    none = slide.without_own(pl.col(TIME))
    return rows.filter(~none), rows.filter(none).with_columns(pl.lit("window out of range").alias(REASON))


def _to_sessions(window: Session, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    if not isinstance(window.gap, str) and _all_before_the_end(window, rows):
        return all_valid(rows)
    return split_by_reason(rows.with_columns(_without_session(window, rows).alias(REASON)))


def _all_before_the_end(window: Session, rows: pl.DataFrame) -> bool:
    """Returns whether every row opens a session, given that all have the same gap."""
    assert isinstance(window.gap, Duration)
    latest, last = rows[TIME].max(), 1 if closed_at_end(window) else 0
    return not isinstance(latest, int) or latest + last + window.gap.us <= MAX_INSTANT


def _without_session(window: Session, rows: pl.DataFrame) -> pl.Expr:
    """Returns the reason why a row opens no session; null if it opens one."""
    gap, last = gap_of(window, rows.schema), 1 if closed_at_end(window) else 0
    tests = [(pl.col(TIME) > MAX_INSTANT - last - gap, "window out of range")]
    if isinstance(window.gap, str):  # tested first: for other gaps the difference above could overflow
        tests = [
            (gap.is_null(), f"gap {window.gap} is null"),
            (gap <= 0, f"gap {window.gap} is not above zero"),
            *tests,
        ]
    return first_reason(tests)
