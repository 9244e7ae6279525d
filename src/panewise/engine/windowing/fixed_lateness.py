"""Decides which rows are late for fixed windows (semantics 13), and forms their late output.

Rows of a key and slice belong to the same windows, so lateness is decided once for each key and slice.
Unless keys have their own watermarks, nothing is computed if no window of the batch has expired or is closed.

Invariant: the windows that a row misses depend on its key and slice, the clocks and the closed windows alone.
A row is late if it misses a window, and only partially if it has others, too. Cost: linear in the distinct
keys and slices of the batch, and in the windows that they miss.

Sessions have :mod:`panewise.engine.windowing.session_lateness`, sliding windows
:mod:`panewise.engine.windows.sliding.lateness`.
"""

import polars as pl

from panewise.engine.columns import (
    ALL_WINDOWS,
    BEYOND_LIMIT,
    END,
    EXPIRED_WINDOWS,
    KEY_WATERMARK,
    MISSED_WINDOWS,
    PARTIAL,
    REASON,
    SLICE,
    START,
)
from panewise.engine.ingest.late_output import late_columns, reason_of
from panewise.engine.kernels.small_frames import join_frames
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.overlaps import Overlaps
from panewise.engine.windowing.windows_of_slices import SliceTable
from panewise.spec import Global, WindowOperator


def missed(
    rows: pl.DataFrame,
    table: SliceTable | Overlaps,
    keys: list[str],
    closed: pl.DataFrame,
    spec: WindowOperator,
    clocks: Clocks,
) -> pl.DataFrame | None:
    """Returns ``__windows``, ``__reason`` and ``__partial`` for each key and slice with late rows.

    Returns None if no row is late. :func:`output_of_rows_behind` handles the rows that drop_by="row" makes
    late for all their windows.
    """
    by = [*keys, SLICE]
    marked = clocks.by_key and not clocks.by_row_number  # no row finds its window of rows expired
    slices = rows.select([*by, KEY_WATERMARK] if marked else by).unique(maintain_order=True)
    lost = table.lost(slices, keys, closed, spec, clocks)
    if lost.is_empty():
        return None
    limited = BEYOND_LIMIT in closed.columns
    if limited:
        lost = join_frames(lost, closed.select(*keys, START, END, BEYOND_LIMIT), [*keys, START, END], "left")
    others = ~pl.col(EXPIRED_WINDOWS) & ~pl.col(BEYOND_LIMIT).fill_null(False) if limited else pl.lit(True)
    reason = reason_of(
        clocks,
        pl.when(pl.col(EXPIRED_WINDOWS).any())
        .then(pl.lit("expired"))
        .when(others.any())
        .then(pl.lit("closed"))
        .otherwise(pl.lit("full")),
    )
    partial = (pl.len() < pl.col(ALL_WINDOWS).first()).alias(PARTIAL)
    with_bounds = lost.sort(START, END, maintain_order=True).with_columns(
        _output_bounds(spec).alias(MISSED_WINDOWS)
    )
    return with_bounds.group_by(by, maintain_order=True).agg(
        pl.col(MISSED_WINDOWS), reason.alias(REASON), partial
    )


def late_rows(
    rows: pl.DataFrame, missed: pl.DataFrame, keys: list[str], clocks: Clocks, columns: dict[str, pl.DataType]
) -> tuple[pl.DataFrame, int]:
    """Returns the late output of the rows, and how many of them are late for some windows only."""
    late = rows.join(missed, on=[*keys, SLICE], nulls_equal=True, maintain_order="left")
    return late.select(late_columns(columns, {}, clocks)), int(late[PARTIAL].sum())


def _output_bounds(spec: WindowOperator) -> pl.Expr:
    """Returns a window as the late output shows it; the window of Global() has no bounds (semantics 11)."""
    bounds = (START, END)
    values = (
        pl.lit(None, dtype=pl.Int64) if isinstance(spec.window, Global) else pl.col(bound) for bound in bounds
    )
    return pl.struct(*(bound.alias(name) for bound, name in zip(values, ("start", "end"), strict=True)))


def output_of_rows_behind(
    rows: pl.DataFrame,
    table: SliceTable | Overlaps,
    spec: WindowOperator,
    clocks: Clocks,
    columns: dict[str, pl.DataType],
) -> pl.DataFrame:
    """Returns the late output of rows that drop_by="row" makes late: they are late for all their windows."""
    windows = (
        table.listed(rows[SLICE]).sort(START, END).select(SLICE, _output_bounds(spec).alias(MISSED_WINDOWS))
    )
    of_slice = windows.group_by(SLICE, maintain_order=True).agg(MISSED_WINDOWS)
    late = rows.join(of_slice, on=SLICE, how="left", maintain_order="left")
    return late.select(
        late_columns(columns, {REASON: reason_of(clocks, pl.lit("behind")), PARTIAL: pl.lit(False)}, clocks)
    )
