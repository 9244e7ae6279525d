"""Stored windows whose trigger starts anew, after a change of the specification (semantics 47.4)."""

import polars as pl

from panewise.engine.columns import BORN, FIRED, INDEX, UNFLIPPED
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.window_table import TriggerContext


def with_new_trigger(plan: WindowPlan, clocks: Clocks, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of the window table with the trigger of the plan, as if their pending rows arrived now."""
    if plan.tree:
        now = TriggerContext.at(plan.spec, clocks)
        passed = now.complete & ~pl.col(UNFLIPPED) & (pl.col(INDEX) > 0)
        windows = plan.tree.resumed(windows, now, passed)
    at = pl.lit(clocks.processing_time, dtype=pl.Int64)
    return windows.with_columns(at.alias(BORN), pl.when(pl.col(INDEX) > 0).then(at).alias(FIRED))
