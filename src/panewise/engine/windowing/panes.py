"""Panes as the operator emits them: one row each, in the order of semantics 23.

Invariant: a retraction repeats the live pane of its window, except for `op` and the processing time. A window
that emits several rows at once emits the retraction first. Cost: one expression for each column of the
emitted panes, and a sort of them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from panewise.engine.columns import END, INDEX, LIVE, NONSPECULATIVE, START, live_column
from panewise.engine.kernels.small_frames import constant_column, ordered, output_key, selected
from panewise.engine.windowing.window_table import LIVE_PANE
from panewise.spec import Global, WindowOperator, closed_at_end
from panewise.spec.operators.panes import BOUNDS

COMPLETE: Final = "__complete"  # of a window that fires: whether it is complete
_OP = "__op_rank"


class PaneFormat:
    """The columns of panes, as expressions over windows that fired.

    Attributes:
        schema: the columns of a pane (semantics 20), whose last one is the processing time.
    """

    def __init__(
        self, spec: WindowOperator, keys: dict[str, pl.DataType], results: dict[str, pl.DataType]
    ) -> None:
        bounds = dict.fromkeys((*BOUNDS, *stamped(spec, pl.lit(None))), pl.Int64())
        before = {**keys, **bounds, **results, **LIVE_PANE, "op": pl.String()}
        self.schema = {**before, "processing_time": pl.Int64()}
        self._plus = _columns(spec, keys, before, {}, "+")
        of_live_pane = {name: pl.col(live_column(name)) for name in (*results, *LIVE_PANE)}
        self._minus = _columns(spec, keys, before, of_live_pane, "-")
        self._retracting = spec.accumulation == "retracting"
        self._order = ["window_end", "window_start", *keys, _OP]

    def emitted(
        self, windows: pl.DataFrame, processing_time: int, replaced: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """Returns the panes of windows that fired, in retracting mode after retractions of the live ones.

        `replaced` are the windows whose live panes are retracted; None: those that fired.
        """
        plus = self._at(processing_time, windows, self._plus)
        if not self._retracting:
            return self._ordered(plus)
        minus = self.retractions(windows if replaced is None else replaced, processing_time)
        return self._ordered(pl.concat([minus, plus]))

    def retractions(self, windows: pl.DataFrame, processing_time: int) -> pl.DataFrame:
        """Returns the retractions of the live panes of windows (semantics 9.2)."""
        return self._ordered(self._at(processing_time, windows.filter(LIVE), self._minus))

    def _at(self, processing_time: int, windows: pl.DataFrame, columns: list[pl.Expr]) -> pl.DataFrame:
        panes = selected(windows, columns)
        return panes.hstack([constant_column("processing_time", processing_time, pl.Int64(), panes.height)])

    def _ordered(self, panes: pl.DataFrame) -> pl.DataFrame:
        if panes.height < 2:
            return panes
        ranked = panes.with_columns((pl.col("op") == "+").alias(_OP))
        return ordered(ranked, self._order).drop(_OP)


def numbering(flips: pl.Expr, is_last: pl.Expr) -> dict[str, pl.Expr]:
    """Returns the timing and the numbers of a pane, by column (semantics 20). `flips`: it is ON_TIME."""
    complete = pl.col(COMPLETE)
    timing = pl.when(~complete).then(pl.lit("EARLY")).when(flips).then(pl.lit("ON_TIME"))
    return {
        "timing": timing.otherwise(pl.lit("LATE")),
        "index": pl.col(INDEX),
        "nonspeculative_index": pl.when(complete).then(pl.col(NONSPECULATIVE)).otherwise(-1),
        "is_first": pl.col(INDEX) == 0,
        "is_last": is_last,
    }


def differs(results: Iterable[str]) -> pl.Expr:
    """Returns whether the results of a window differ from those of its live pane, or it has none."""
    return ~(pl.col(LIVE) & pl.all_horizontal(pl.col(n).eq_missing(pl.col(live_column(n))) for n in results))


def _columns(
    spec: WindowOperator,
    keys: Iterable[str],
    columns: dict[str, pl.DataType],
    of_live_pane: dict[str, pl.Expr],
    op: str,
) -> list[pl.Expr]:
    """Returns the columns of panes with this `op`. A retraction repeats those of the live pane."""
    unbounded = isinstance(spec.window, Global)
    end = pl.lit(None) if unbounded else output_end(spec)
    values = of_live_pane | {
        **{name: output_key(name, columns[name]) for name in keys},
        "window_start": pl.lit(None) if unbounded else pl.col(START),
        "window_end": end,
        **stamped(spec, end),
        "op": pl.lit(op),
    }
    return [values.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in columns.items()]


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
