"""The trigger context: what a trigger can look at in an evaluation."""

from dataclasses import dataclass

import polars as pl

from panewise.engine.columns import BORN, END, FIRED, PENDING
from panewise.engine.progress.clocks import Clocks
from panewise.spec import WindowOperator


@dataclass(frozen=True)
class TriggerContext:
    """The clocks, and expressions over the window table.

    Attributes:
        clocks: the clocks.
        complete: whether the window is complete.
        flips: whether it flips in this evaluation.
        pending: whether it has pending rows.
        waits_since: F of a periodic trigger (semantics 16.3).
        pending_since: A of a periodic trigger (semantics 16.3).
    """

    clocks: Clocks
    complete: pl.Expr
    flips: pl.Expr
    pending: pl.Expr
    waits_since: pl.Expr
    pending_since: pl.Expr

    @classmethod
    def at(cls, spec: WindowOperator, clocks: Clocks, flips: pl.Expr | None = None) -> "TriggerContext":
        """Returns the context at these clocks.

        Without `flips` it is that of a batch, in which no window flips.
        """
        none = pl.lit(False) if flips is None else flips
        complete, pending = clocks.complete(spec, pl.col(END)), pl.col(PENDING) > 0
        # In state from before 0.2, BORN is the time of the first row, which can lie before F. A cannot.
        return cls(clocks, complete, none, pending, pl.coalesce(FIRED, BORN), pl.max_horizontal(FIRED, BORN))
