"""What can be done to rows before they meet state: judged, sliced, and combined where they are read.

Combining per key and slice before rows are moved is what keeps the way through the operator short. It is right only
if nothing asks for the single rows later: not the late output, not a trigger that looks at each record, not a source
position, and no aggregate for which order matters.
"""

from dataclasses import dataclass

import polars as pl

from panewise.engine import arrival, validity
from panewise.engine.assign import SLICE
from panewise.engine.frames import grouped
from panewise.engine.over_plan import FramePlan
from panewise.engine.plan import ONE_KEY, Plan
from panewise.engine.windowless import split_windowless
from panewise.spec import columns_of, merging
from panewise.spec.aggregates import ORDERLESS


@dataclass(frozen=True)
class Judged:
    """A batch split in two.

    `valid` rows have ``__time``, ``__place`` and, for fixed windows, ``__slice``; `invalid` ones, which are in arrival order,
    ``__place`` and ``__reason``.
    """

    valid: pl.DataFrame
    invalid: pl.DataFrame


def judge(plan: Plan | FramePlan, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> Judged:
    """Splits off the rows that no window can take. Needs no state, so it is done where rows are read.

    Rows of frames have no windows. Without `windows` rows are not asked for them yet: where they hang on processing time, it must be the
    operator's.
    """
    marks = [mark for mark in validity.MARKS if mark in rows.columns and mark not in plan.schema]
    extra = [column for column in (arrival.PLACE,) if column in rows.columns]
    rows = rows[[*plan.schema, *marks, *extra]]
    if not plan.spec.keys:
        rows = rows.with_columns(pl.lit(0, dtype=pl.Int8).alias(ONE_KEY))
    judged = validity.split(plan.spec, arrival.placed(rows), processing_time)
    valid, windowless = (
        split_windowless(plan, judged.valid) if windows and isinstance(plan, Plan) else (judged.valid, judged.invalid.clear())
    )
    invalid = judged.invalid if windowless.is_empty() else pl.concat([judged.invalid, windowless], how="diagonal")
    return Judged(valid.drop(marks) if marks else valid, arrival.in_order(plan.spec, invalid)[[*plan.invalid_schema, arrival.PLACE]])


def can_combine(plan: Plan | FramePlan) -> bool:
    """Whether rows may be combined before they meet state, if nobody asks for the late rows."""
    if isinstance(plan, FramePlan):
        return False
    orderless = all(a.fn in ORDERLESS for a in plan.spec.measures)
    return (
        orderless
        and not plan.ordered
        and plan.slicing is not None
        and plan.spec.evaluate == "batch"
        and plan.spec.position is None
        and plan.spec.drop_by == "window"
        and plan.spec.time == "event"
        and not plan.by_key
        and not plan.counted
    )


def ties_matter(plan: Plan | FramePlan) -> bool:
    """Whether rows of the same event time must keep their place, if nobody asks for the late rows."""
    if isinstance(plan, FramePlan) or plan.counted or plan.ordered or plan.spec.evaluate == "record":
        return True
    if bool(plan.spec.order) or plan.spec.position is not None:
        return True
    return merging(plan.spec.window) and bool(columns_of(plan.spec.window))  # the first may be late, and the second take it in


def combine(plan: Plan, valid: pl.DataFrame) -> pl.DataFrame:
    """Partials per key and ``__slice``, the same for the same rows, to the last bit.

    Any order would give the same panes (:func:`can_combine`). But a reader may run again for a shuffle that was lost with
    an executor, and Spark fails the query if it then makes other bytes.
    """
    return plan.aggregation.lift(valid, [*plan.keys, SLICE])


def combine_again(plan: Plan, partials: pl.DataFrame) -> pl.DataFrame:
    """Partials of several readers, merged per key and ``__slice``."""
    by = [*plan.keys, SLICE]
    plan.aggregation.check_merge(partials, by)
    return grouped(partials, by, plan.aggregation.merging())
