"""What a trigger can see of windows in an evaluation."""

from dataclasses import dataclass

import polars as pl

from panewise.engine.columns import BORN, END, FIRED, PENDING
from panewise.engine.progress.clocks import Clocks
from panewise.spec import WindowOperator


@dataclass(frozen=True)
class TriggerContext:
    """The clocks, and of each window whether it is complete, flips and has rows pending; F and A of a periodic trigger (semantics 16.3)."""

    clocks: Clocks
    complete: pl.Expr
    flips: pl.Expr
    pending: pl.Expr
    waits_since: pl.Expr
    pending_since: pl.Expr

    @classmethod
    def at(cls, spec: WindowOperator, clocks: Clocks, flips: pl.Expr | None = None) -> "TriggerContext":
        """The moment at which the clocks stand so. Without `flips` that of a batch, in which no window does."""
        none = pl.lit(False) if flips is None else flips
        complete, pending = clocks.complete(spec, pl.col(END)), pl.col(PENDING) > 0
        # A state of before 0.2 keeps the first row's time in BORN, which then lies before F.
        return cls(clocks, complete, none, pending, pl.coalesce(FIRED, BORN), pl.max_horizontal(FIRED, BORN))
