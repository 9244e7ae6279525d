"""What a trigger can see of windows in an evaluation."""

from dataclasses import dataclass

import polars as pl

from panewise.engine.assign import END
from panewise.engine.clocks import Clocks
from panewise.engine.table import BORN, FIRED, PENDING
from panewise.spec import WindowOperator


@dataclass(frozen=True)
class Moment:
    """The clocks, and of each window whether it is complete, flips, has rows pending, and since when it waits to fire."""

    clocks: Clocks
    complete: pl.Expr
    flips: pl.Expr
    pending: pl.Expr
    waits_since: pl.Expr

    @classmethod
    def at(cls, spec: WindowOperator, clocks: Clocks, flips: pl.Expr | None = None) -> "Moment":
        """The moment at which the clocks stand so. Without `flips` that of a batch, in which no window does."""
        none = pl.lit(False) if flips is None else flips
        return cls(clocks, clocks.complete(spec, pl.col(END)), none, pl.col(PENDING) > 0, pl.coalesce(FIRED, BORN))
