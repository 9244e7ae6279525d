"""Rows into windows: what a batch of rows makes of the windows held, before any trigger is asked."""

from dataclasses import dataclass

import polars as pl

from panewise.engine import lateness, table
from panewise.engine.assign import END, SLICE
from panewise.engine.clocks import Clocks
from panewise.engine.frames import stacked
from panewise.engine.held import Held
from panewise.engine.lateness import SliceTable
from panewise.engine.pairing import any_order, paired
from panewise.engine.partials import ROWS
from panewise.engine.plan import Plan
from panewise.engine.table import CLOSED, HELD
from panewise.engine.validity import TIME


@dataclass(frozen=True)
class Intake:
    """The effect of a batch.

    `touched` are the windows that got rows, as they are now; `replaced` windows held that they stand for, which may have
    had other bounds; `merged_away` the replaced windows whose bounds are no more (semantics 9.2).
    """

    touched: pl.DataFrame
    replaced: pl.DataFrame
    merged_away: pl.DataFrame
    late: pl.DataFrame
    applied: int
    late_count: int
    partially_late: int = 0


def of_rows(plan: Plan, held: Held, rows: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]) -> Intake:
    """Applies rows (in arrival order, with their ``__slice``) to fixed windows. `columns` are those of the late output."""
    assert plan.slicing is not None
    slices = SliceTable.of(plan.slicing, rows[SLICE], plan.spec, clocks)
    rows, behind = _without_behind(plan, rows, slices, clocks, columns)
    closed = _closed(plan, held, rows, slices)
    found = lateness.missed(rows, slices, plan.keys, closed, plan.spec, clocks)
    late, partially = behind, 0
    if found is not None:
        more, partially = lateness.late_rows(rows, found, plan.keys, clocks, columns)
        late = pl.concat([behind, more])
        lost = found.filter(~pl.col(lateness.PARTIAL))
        rows = rows.join(lost, on=[*plan.keys, SLICE], how="anti", nulls_equal=True, maintain_order="left")
    intake = _into_windows(plan, held, *_pieces(plan, rows, slices), closed, clocks)
    return Intake(*intake, late=late, applied=rows.height, late_count=late.height - partially, partially_late=partially)


def of_partials(plan: Plan, held: Held, partials: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]) -> Intake:
    """Applies rows that were combined per key and slice where they were read; late ones can only be counted."""
    assert plan.slicing is not None
    slices = SliceTable.of(plan.slicing, partials[SLICE], plan.spec, clocks)
    closed = _closed(plan, held, partials, slices)
    found = lateness.missed(partials, slices, plan.keys, closed, plan.spec, clocks)
    rows_in = int(partials[ROWS].sum())
    late_count = partially = 0
    if found is not None:
        hit = partials.join(found, on=[*plan.keys, SLICE], nulls_equal=True)
        partially = int(hit.filter(lateness.PARTIAL)[ROWS].sum())
        late_count = int(hit[ROWS].sum()) - partially
        lost = found.filter(~pl.col(lateness.PARTIAL))
        partials = partials.join(lost, on=[*plan.keys, SLICE], how="anti", nulls_equal=True, maintain_order="left")
    intake = _into_windows(plan, held, slices.expanded(partials), slices.disjoint, closed, clocks)
    none = pl.DataFrame(schema=columns)
    return Intake(*intake, late=none, applied=rows_in - late_count, late_count=late_count, partially_late=partially)


def _closed(plan: Plan, held: Held, rows: pl.DataFrame, slices: SliceTable) -> pl.DataFrame:
    """The closed windows among those of the rows."""
    if not plan.can_close:
        return plan.no_windows()
    pairs = rows.select(*plan.keys, SLICE).unique(maintain_order=True).join(slices.alive, on=SLICE, maintain_order="left_right")
    return held.find(pairs.select(plan.identity).unique(maintain_order=True)).filter(CLOSED)


def _without_behind(
    plan: Plan, rows: pl.DataFrame, slices: SliceTable, clocks: Clocks, columns: dict[str, pl.DataType]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Splits off what drop_by="row" drops (semantics 13.3)."""
    if plan.spec.drop_by != "row":
        return rows, pl.DataFrame(schema=columns)
    old = clocks.behind(plan.spec, pl.col(TIME))
    return rows.filter(~old), lateness.behind(rows.filter(old), slices, plan.spec, clocks, columns)


def _pieces(plan: Plan, rows: pl.DataFrame, slices: SliceTable) -> tuple[pl.DataFrame, bool]:
    """Partials of rows for each window that holds them, in one piece or, where their order does not matter, a piece for each slice.

    And whether every window is there once.
    """
    if plan.aggregation.ordered and plan.slices_meet:
        return plan.aggregation.lift(slices.expanded(rows), plan.identity), True
    return slices.expanded(plan.aggregation.lift(rows, [*plan.keys, SLICE])), slices.disjoint


def _into_windows(
    plan: Plan, held: Held, pieces: pl.DataFrame, once: bool, closed: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Pieces of windows together with the windows held: touched, replaced and merged away (none: a window keeps its bounds)."""
    if not closed.is_empty():
        pieces = pieces.join(closed, on=plan.identity, how="anti", nulls_equal=True, maintain_order="left")
    open_ = ~clocks.complete(plan.spec, pl.col(END))
    new = table.newborn(pieces, plan.table_schema, pending=pl.col(ROWS), born=clocks.processing_time, open_=open_)
    if not once and any_order(plan.aggregation, new):
        new, once = _merged(plan, new.clear(), new), True
    wanted = new[plan.identity]
    known = held.look_up(wanted if once else wanted.unique(maintain_order=True))
    none = known.rows.clear()
    if known.rows.is_empty() and once:
        return new, none, none
    touched = paired(plan.aggregation, known, new) if once else None
    return _merged(plan, known.rows, new) if touched is None else touched, none, none


def _merged(plan: Plan, known: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    rows = stacked([known.with_columns_seq(pl.lit(True).alias(HELD)), new.with_columns_seq(pl.lit(False).alias(HELD))])
    return table.merged(rows, plan.identity, plan.aggregation, plan.table_schema)
