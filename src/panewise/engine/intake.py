"""Rows into windows: what a batch of rows makes of the windows held, before any trigger is asked."""

from dataclasses import dataclass

import polars as pl

from panewise.engine import lateness, table
from panewise.engine.assign import END, SLICE, START
from panewise.engine.clocks import Clocks
from panewise.engine.lateness import SliceTable
from panewise.engine.partials import ROWS
from panewise.engine.plan import Plan
from panewise.engine.table import BORN, CLOSED, FIRED, INDEX, LIVE, NONSPECULATIVE, UNFLIPPED

HELD = "__held"


@dataclass(frozen=True)
class Intake:
    """The effect of a batch.

    `touched` are the windows that got rows, as they are now; `replaced` those of the windows held that they stand for;
    `merged_away` the replaced windows whose bounds are no more (semantics 9.2).
    """

    touched: pl.DataFrame
    replaced: pl.DataFrame
    merged_away: pl.DataFrame
    late: pl.DataFrame
    applied: int
    late_count: int
    partially_late: int = 0


def of_rows(plan: Plan, held: pl.DataFrame, rows: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]) -> Intake:
    """Applies rows (in arrival order, with their ``__slice``) to fixed windows. `columns` are those of the late output."""
    assert plan.slicing is not None
    slices = SliceTable.of(plan.slicing, rows[SLICE], plan.spec, clocks)
    rows, behind = _without_behind(plan, rows, slices, clocks, columns)
    closed = held.filter(CLOSED) if plan.can_close else held.clear()
    found = lateness.missed(rows, slices, plan.keys, closed, plan.spec, clocks)
    late, partially = behind, 0
    if found is not None:
        more, partially = lateness.late_rows(rows, found, plan.keys, clocks, columns)
        late = pl.concat([behind, more])
        lost = found.filter(~pl.col(lateness.PARTIAL))
        rows = rows.join(lost, on=[*plan.keys, SLICE], how="anti", nulls_equal=True, maintain_order="left")
    intake = _into_windows(plan, held, _pieces(plan, rows, slices.alive), closed, clocks)
    return Intake(*intake, late=late, applied=rows.height, late_count=late.height - partially, partially_late=partially)


def of_partials(plan: Plan, held: pl.DataFrame, partials: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]) -> Intake:
    """Applies rows that were combined per key and slice where they were read; late ones can only be counted."""
    assert plan.slicing is not None
    slices = SliceTable.of(plan.slicing, partials[SLICE], plan.spec, clocks)
    closed = held.filter(CLOSED) if plan.can_close else held.clear()
    found = lateness.missed(partials, slices, plan.keys, closed, plan.spec, clocks)
    rows_in = int(partials[ROWS].sum())
    late_count = partially = 0
    if found is not None:
        hit = partials.join(found, on=[*plan.keys, SLICE], nulls_equal=True)
        partially = int(hit.filter(lateness.PARTIAL)[ROWS].sum())
        late_count = int(hit[ROWS].sum()) - partially
        lost = found.filter(~pl.col(lateness.PARTIAL))
        partials = partials.join(lost, on=[*plan.keys, SLICE], how="anti", nulls_equal=True, maintain_order="left")
    pieces = partials.join(slices.alive, on=SLICE, maintain_order="left_right").drop(SLICE)
    intake = _into_windows(plan, held, pieces, closed, clocks)
    none = pl.DataFrame(schema=columns)
    return Intake(*intake, late=none, applied=rows_in - late_count, late_count=late_count, partially_late=partially)


def _without_behind(
    plan: Plan, rows: pl.DataFrame, slices: SliceTable, clocks: Clocks, columns: dict[str, pl.DataType]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Splits off what drop_by="row" drops (semantics 13.3)."""
    if plan.spec.drop_by != "row":
        return rows, pl.DataFrame(schema=columns)
    old = clocks.behind(plan.spec, pl.col("__time"))
    return rows.filter(~old), lateness.behind(rows.filter(old), slices, plan.spec, clocks, columns)


def _pieces(plan: Plan, rows: pl.DataFrame, alive: pl.DataFrame) -> pl.DataFrame:
    """Partials of rows for each window that holds them, in one piece or, where their order does not matter, a piece for each slice."""
    if plan.aggregation.ordered and plan.slices_meet:
        return plan.aggregation.lift(rows.join(alive, on=SLICE, maintain_order="left"), plan.identity)
    return plan.aggregation.lift(rows, [*plan.keys, SLICE]).join(alive, on=SLICE, maintain_order="left_right").drop(SLICE)


def _into_windows(
    plan: Plan, held: pl.DataFrame, pieces: pl.DataFrame, closed: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Pieces of windows together with the windows held: touched, replaced, merged away (none)."""
    if not closed.is_empty():
        pieces = pieces.join(closed, on=plan.identity, how="anti", nulls_equal=True, maintain_order="left")
    open_ = ~clocks.complete(plan.spec, pl.col(END))
    new = table.newborn(pieces, plan.table_schema, pending=pl.col(ROWS), born=clocks.processing_time, open_=open_)
    known = held.join(pieces, on=plan.identity, how="semi", nulls_equal=True, maintain_order="left")
    if known.is_empty() and not plan.slices_meet:
        return new, known, known
    rows = pl.concat([known.with_columns(pl.lit(True).alias(HELD)), new.with_columns(pl.lit(False).alias(HELD))])
    return table.merged(rows, plan.identity, plan.aggregation, plan.table_schema), known, known.clear()


def of_sessions(plan: Plan, held: pl.DataFrame, rows: pl.DataFrame, clocks: Clocks, columns: dict[str, pl.DataType]) -> Intake:
    """Applies rows (in arrival order) to sessions."""
    mine = held.join(rows, on=plan.keys, how="semi", nulls_equal=True, maintain_order="left")
    assigned = clocks.sessions(plan.spec, plan.keys).assign(rows, mine.filter(~pl.col(CLOSED)), mine.filter(CLOSED))
    late = lateness.of_sessions(assigned.late, clocks, columns)
    by = [*plan.keys, "__session"]
    partials = plan.aggregation.lift(assigned.rows, by).with_columns(pl.lit(0).alias(START), pl.lit(0).alias(END))
    schema = {**plan.table_schema, "__session": assigned.rows.schema["__session"]}
    new = table.newborn(partials, schema, pending=pl.col(ROWS), born=clocks.processing_time, open_=pl.lit(True))
    known = mine.join(assigned.members, on=plan.identity, nulls_equal=True, maintain_order="left").sort(START, maintain_order=True)
    known = known.with_columns(
        pl.coalesce(FIRED, BORN).alias(BORN)
    )  # a new window waits from the earliest firing of those it replaces (9.1)
    together = pl.concat([known.with_columns(pl.lit(True).alias(HELD)), new.with_columns(pl.lit(False).alias(HELD))])
    joined = table.merged(together, by, plan.aggregation, schema).join(assigned.sessions, on=by, nulls_equal=True, maintain_order="left")
    same = (
        known.join(assigned.sessions, on=[*by, START, END], how="semi", nulls_equal=True)
        .select("__session")
        .with_columns(pl.lit(True).alias("__same"))
    )
    joined = joined.join(same, on="__session", how="left", maintain_order="left").with_columns(pl.col("__same").fill_null(False))
    anew: dict[str, pl.Expr] = {
        UNFLIPPED: ~clocks.complete(plan.spec, pl.col(END)),
        INDEX: pl.lit(0),
        NONSPECULATIVE: pl.lit(0),
        FIRED: pl.lit(None),
        LIVE: pl.lit(False),
    }
    resets = [pl.when("__same").then(pl.col(n)).otherwise(v).alias(n) for n, v in anew.items() if n in joined.columns]
    touched = joined.with_columns(resets).select(pl.col(name).cast(dtype) for name, dtype in plan.table_schema.items())
    merged_away = known.join(same, on="__session", how="anti", maintain_order="left").select(*plan.table_schema)
    return Intake(touched, known.select(*plan.table_schema), merged_away, late, assigned.rows.height, late.height)
