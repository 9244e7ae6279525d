"""Applies a batch of rows to the stored windows, before triggers are evaluated.

The rows of a key and slice become one partial, and a partial is then merged into each window that contains
the slice. Invariant: a row is not copied for each of its windows, unless the order of the rows in a window
matters. The stored windows of the batch are looked up together. So a batch costs one grouping of the rows,
one merge for each window and slice in it, and one look-up for each window.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import polars as pl

from panewise.engine.columns import CLOSED, END, KEY_WATERMARK, PARTIAL, REASON, ROWS, SLICE, TIME, WAS_STORED
from panewise.engine.kernels.small_frames import no_rows, typed
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.windowing import (
    custom,
    fixed_lateness,
    key_watermarks,
    row_numbering,
    window_limit,
    window_table,
)
from panewise.engine.windowing.overlaps import Overlaps
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.window_table import TriggerContext, merged_row_by_row
from panewise.engine.windowing.windows_of_slices import SliceTable, windows_of_slices
from panewise.engine.windows.sliding.slices import Slices


@dataclass(frozen=True)
class Intake:
    """The effect of a batch.

    Attributes:
        affected: the windows that got rows, with these rows.
        replaced: the stored windows that they replace. Sessions may replace windows with other bounds.
        merged_away: the replaced windows whose bounds no longer exist (semantics 9.2).
        late: the late output.
        applied: the number of applied rows.
        late_count: the number of rows that are late for all their windows.
        partially_late: the number of applied rows that are late for some windows.
        slices: for sliding windows, all slices after the batch.
        new_slices: for sliding windows, the slices of the rows of the batch alone.
        of_keys: with a limit of windows, the stored windows of the keys of the batch.
        reasons: the numbers of late rows by reason, if they were pre-aggregated and so have no late output.
    """

    affected: pl.DataFrame
    replaced: pl.DataFrame
    merged_away: pl.DataFrame
    late: pl.DataFrame
    applied: int
    late_count: int
    partially_late: int = 0
    slices: Slices | None = None
    new_slices: pl.DataFrame | None = None
    of_keys: pl.DataFrame | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_clocks(cls, windows: pl.DataFrame) -> Self:
        """Returns the effect of a move of the clocks, by which these windows are made of slices."""
        none = windows.clear()
        return cls(affected=windows, replaced=none, merged_away=none, late=none, applied=0, late_count=0)


def apply_rows(
    plan: WindowPlan, stored: StoredTable, rows: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]
) -> Intake:
    """Applies rows to windows that do not merge.

    The rows are in arrival order, with their ``__slice`` or their own windows. `columns` are those of the
    late output.
    """
    rows, slices = _sliced(plan, rows, clocks)
    rows, behind = _without_behind(plan, rows, slices, clocks, columns)
    closed, mine = _closed(plan, stored, rows, slices), None
    if plan.spec.max_windows is not None:
        mine = stored.of_keys(rows, plan.keys)
        wanted = slices.windows_of(plan.keys, rows)
        closed = window_limit.with_full(closed, window_limit.full(plan, mine, wanted), plan.identity)
    missed = _missed(plan, rows, slices, closed, clocks)
    late, partially = behind, 0
    if missed is not None:
        more, partially = fixed_lateness.late_rows(rows, missed, plan.keys, clocks, columns)
        late = pl.concat([behind, more])
        lost = missed.filter(~pl.col(PARTIAL))
        rows = rows.join(lost, on=[*plan.keys, SLICE], how="anti", nulls_equal=True, maintain_order="left")
    pieces, once = _pieces(plan, rows, slices)
    if plan.by_key and plan.by_row_number:
        # No row finds its window complete, as the watermarks of keys move after the batch.
        pieces = pieces.with_columns(pl.lit(None, dtype=pl.Int64).alias(KEY_WATERMARK))
    elif plan.by_key:
        pieces = key_watermarks.with_watermarks(pieces, rows, plan.keys).filter(
            ~clocks.expired(plan.spec, pl.col(END))
        )
    intake = _into_windows(plan, stored, pieces, once, closed, clocks)
    return Intake(
        *intake,
        late=late,
        applied=rows.height,
        late_count=late.height - partially,
        partially_late=partially,
        of_keys=mine,
    )


def _sliced(
    plan: WindowPlan, rows: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, SliceTable | Overlaps]:
    if plan.slicing is not None:
        return rows, windows_of_slices(plan.slicing, rows[SLICE], plan.spec, clocks)
    rows, windows = custom.sliced(rows)
    return rows, SliceTable.of_windows(windows, plan.spec, clocks)


def apply_partials(
    plan: WindowPlan,
    stored: StoredTable,
    partials: pl.DataFrame,
    clocks: Clocks,
    columns: dict[str, pl.DataType],
) -> Intake:
    """Applies rows that were pre-aggregated per key and slice. Late rows are counted, not emitted."""
    assert plan.slicing is not None
    slices = windows_of_slices(plan.slicing, partials[SLICE], plan.spec, clocks)
    closed = _closed(plan, stored, partials, slices)
    missed = _missed(plan, partials, slices, closed, clocks)
    rows_in = int(partials[ROWS].sum())
    late_count, partially = _late_counts(plan, partials, missed)
    reasons = dict[str, int]()
    if missed is not None:
        lost, by = missed.filter(~pl.col(PARTIAL)), [*plan.keys, SLICE]
        lost_partials = partials.join(lost, on=by, nulls_equal=True)
        reasons = dict(lost_partials.group_by(REASON).agg(pl.col(ROWS).sum()).iter_rows())
        partials = partials.join(lost, on=by, how="anti", nulls_equal=True, maintain_order="left")
    intake = _into_windows(
        plan, stored, slices.pieces(plan.keys, plan.aggregation, partials), slices.disjoint, closed, clocks
    )
    return Intake(
        *intake,
        late=no_rows(columns),
        applied=rows_in - late_count,
        late_count=late_count,
        partially_late=partially,
        reasons=reasons,
    )


def late_partials(
    plan: WindowPlan, stored: StoredTable, partials: pl.DataFrame, clocks: Clocks
) -> tuple[int, int]:
    """Returns how many rows of partials are late, and how many are late for some of their windows."""
    assert plan.slicing is not None
    slices = windows_of_slices(plan.slicing, partials[SLICE], plan.spec, clocks)
    closed = _closed(plan, stored, partials, slices)
    missed = _missed(plan, partials, slices, closed, clocks)
    return _late_counts(plan, partials, missed)


def _late_counts(plan: WindowPlan, partials: pl.DataFrame, missed: pl.DataFrame | None) -> tuple[int, int]:
    if missed is None:
        return 0, 0
    hit = partials.join(missed, on=[*plan.keys, SLICE], nulls_equal=True)
    partially = int(hit.filter(PARTIAL)[ROWS].sum())
    return int(hit[ROWS].sum()) - partially, partially


def _missed(
    plan: WindowPlan, rows: pl.DataFrame, slices: SliceTable | Overlaps, closed: pl.DataFrame, clocks: Clocks
) -> pl.DataFrame | None:
    """Returns :func:`fixed_lateness.missed`; None if no window of the batch has expired or is closed."""
    marked = clocks.by_key and not clocks.by_row_number  # no row finds its window of rows expired
    if not marked and not slices.any_expired and closed.is_empty():
        return None
    return fixed_lateness.missed(rows, slices, plan.keys, closed, plan.spec, clocks)


def _closed(
    plan: WindowPlan, stored: StoredTable, rows: pl.DataFrame, slices: SliceTable | Overlaps
) -> pl.DataFrame:
    if not plan.can_close:
        return plan.no_windows
    return stored.find(slices.windows_of(plan.keys, rows)).filter(CLOSED)


def _without_behind(
    plan: WindowPlan,
    rows: pl.DataFrame,
    slices: SliceTable | Overlaps,
    clocks: Clocks,
    columns: dict[str, pl.DataType],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the other rows, and the late output of those that drop_by="row" drops (semantics 13.3)."""
    if plan.spec.drop_by != "row":
        return rows, no_rows(columns)
    old = clocks.is_behind(plan.spec, pl.col(TIME))
    return rows.filter(~old), fixed_lateness.output_of_rows_behind(
        rows.filter(old), slices, plan.spec, clocks, columns
    )


def _pieces(plan: WindowPlan, rows: pl.DataFrame, slices: SliceTable | Overlaps) -> tuple[pl.DataFrame, bool]:
    """Returns partials of the rows of each window, and whether each window occurs once.

    If the order of rows matters, a window occurs once. Otherwise it may occur once for each of its slices.
    """
    if plan.ordered and plan.has_several_slices:
        return slices.pieces_in_order(plan.keys, plan.aggregation, rows), True
    lifted = (
        row_numbering.lifted(plan, rows)
        if plan.by_row_number
        else plan.aggregation.lift(rows, [*plan.keys, SLICE])
    )
    return slices.pieces(plan.keys, plan.aggregation, lifted), slices.disjoint


def _into_windows(
    plan: WindowPlan,
    stored: StoredTable,
    pieces: pl.DataFrame,
    once: bool,
    closed: pl.DataFrame,
    clocks: Clocks,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Merges partials of windows with the stored windows. Returns affected, replaced and merged-away windows.

    These windows do not change their bounds, so none is merged away.
    """
    if not closed.is_empty():
        pieces = pieces.join(closed, on=plan.identity, how="anti", nulls_equal=True, maintain_order="left")
    new = window_table.newborn(
        pieces,
        plan.intake_schema,
        born=clocks.processing_time,
        open_=~clocks.complete_windows(plan.spec, pieces),
    )
    # The fastest way that is right: row by row if each window occurs once and the trigger has no state;
    # otherwise in groups.
    if plan.merges_in_any_order and not once:
        new, once = merged_windows(plan, new.clear(), new, plan.identity), True
    wanted = new[plan.identity]
    known = stored.look_up(wanted if once else wanted.unique(maintain_order=True))
    affected = (
        merged_row_by_row(plan.aggregation, plan.row_by_row_merge, known, new)
        if plan.row_by_row_merge and once
        else None
    )
    if affected is None:
        affected = (
            merged_windows(plan, known.rows, new, plan.identity) if known.rows.height or not once else new
        )
    return triggered(plan, affected, TriggerContext.at(plan.spec, clocks)), known.rows, known.rows.clear()


def merged_windows(plan: WindowPlan, known: pl.DataFrame, new: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Merges stored windows and windows of a batch into one window for each group, the stored ones first."""
    marked = [
        known.with_columns_seq(pl.lit(True).alias(WAS_STORED)),
        new.with_columns_seq(pl.lit(False).alias(WAS_STORED)),
    ]
    trigger = plan.tree.merging(pl.col(WAS_STORED)) if plan.tree else []
    return window_table.merged_in_groups(
        pl.concat(marked, how="diagonal"), by, plan.aggregation, new.schema, trigger, periodic=plan.periodic
    )


def triggered(
    plan: WindowPlan, windows: pl.DataFrame, now: TriggerContext, same: pl.Expr | None = None
) -> pl.DataFrame:
    """Returns windows as table rows after their rows were passed to the triggers.

    `same` is that of :meth:`TriggerTree.after_rows`.
    """
    windows = plan.tree.after_rows(windows, now, same) if plan.tree else windows
    return typed(windows, plan.table_schema)
