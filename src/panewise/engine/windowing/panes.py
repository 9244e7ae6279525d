"""Panes as the operator emits them: one row each, in the order of semantics 23."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from panewise.engine.columns import END, LIVE, START, live_column
from panewise.engine.kernels.frames import ordered
from panewise.engine.kernels.keys import output_key
from panewise.engine.windowing.window_table import LIVE_PANE
from panewise.spec import Global, WindowOperator, closed_at_end

BOUNDS: Final = ("window_start", "window_end")
_OP = "__op_rank"


def schema(
    spec: WindowOperator, keys: dict[str, pl.DataType], results: dict[str, pl.DataType]
) -> dict[str, pl.DataType]:
    """Returns the columns of a pane (semantics 20)."""
    named = {name: dtype for name, dtype in keys.items() if name in spec.keys}
    bounds = dict.fromkeys((*BOUNDS, *stamped(spec, pl.lit(None))), pl.Int64())
    return {**named, **bounds, **results, **LIVE_PANE, "op": pl.String(), "processing_time": pl.Int64()}


def emitted_panes(
    columns: dict[str, pl.DataType], spec: WindowOperator, windows: pl.DataFrame, processing_time: int
) -> pl.DataFrame:
    """Returns the panes of windows that fired; in retracting mode the live pane is retracted before each."""
    plus = _pane(columns, spec, windows, processing_time, "+", live=False)
    if spec.accumulation == "retracting":
        minus = _pane(columns, spec, windows.filter(LIVE), processing_time, "-", live=True)
        return _ordered(pl.concat([minus, plus]), spec)
    return _ordered(plus, spec)


def retractions(
    columns: dict[str, pl.DataType], spec: WindowOperator, windows: pl.DataFrame, processing_time: int
) -> pl.DataFrame:
    """Returns the retractions of merged-away windows (semantics 9.2)."""
    return _ordered(_pane(columns, spec, windows.filter(LIVE), processing_time, "-", live=True), spec)


def _pane(
    columns: dict[str, pl.DataType],
    spec: WindowOperator,
    windows: pl.DataFrame,
    processing_time: int,
    op: str,
    *,
    live: bool,
) -> pl.DataFrame:
    """Returns a pane for each window. With `live` the panes repeat the live panes of the windows."""
    unbounded = isinstance(spec.window, Global)
    end = pl.lit(None) if unbounded else output_end(spec)
    own_columns = {
        "window_start": pl.lit(None) if unbounded else pl.col(START),
        "window_end": end,
        **stamped(spec, end),
        "op": pl.lit(op),
        "processing_time": pl.lit(processing_time),
    }
    live_columns = {live_column(name) for name in columns}
    expressions = []
    for name, dtype in columns.items():
        source = (
            pl.col(live_column(name))
            if live and live_column(name) in live_columns & set(windows.columns)
            else pl.col(name)
        )
        value = output_key(name, dtype) if name in spec.keys else own_columns.get(name, source)
        expressions.append(value.cast(dtype).alias(name))
    return windows.select(expressions)


def identity(spec: WindowOperator, schema: Mapping[str, pl.DataType]) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Returns the keys of a window, and its bounds, as outputs show them. `schema` is that of the input."""
    keys = [output_key(name, schema[name]).alias(name) for name in spec.keys]
    if isinstance(spec.window, Global):
        return keys, [pl.lit(None, dtype=pl.Int64).alias(name) for name in BOUNDS]
    return keys, [pl.col(START).alias(BOUNDS[0]), output_end(spec).alias(BOUNDS[1])]


def output_end(spec: WindowOperator) -> pl.Expr:
    """Returns a window's end as outputs show it: its last instant if it is closed there (semantics 7.2)."""
    return pl.col(END) - 1 if closed_at_end(spec.window) else pl.col(END)


def stamped(spec: WindowOperator, end: pl.Expr) -> dict[str, pl.Expr]:
    """Returns the timestamp of a pane where the window's end decides it (semantics 22, 22.1).

    `end` is the end as outputs show it.
    """
    if spec.timestamp == "window_time":
        return {"timestamp": end if closed_at_end(spec.window) else end - 1}
    return {"timestamp": end} if spec.timestamp == "end" else {}


def _ordered(panes: pl.DataFrame, spec: WindowOperator) -> pl.DataFrame:
    if panes.height < 2:
        return panes
    ranked = panes.with_columns((pl.col("op") == "+").alias(_OP))
    return ordered(ranked, ["window_end", "window_start", *spec.keys, _OP]).drop(_OP)
