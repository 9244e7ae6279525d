"""What a leaf of a trigger tree is: its state, in columns, and when it is ready (semantics 16.8).

The state of a leaf is a few columns of the window table. A leaf sees the rows of a batch only as partials of
them (`passing`), such as the earliest event time. So a batch costs one expression for each window and leaf,
however many rows a window gets.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.window_table import TriggerContext

Values = Mapping[str, pl.Expr]


@dataclass(frozen=True)
class Leaf(ABC):
    """A leaf of a trigger tree. `name` is its path in the tree. By default a leaf has no state."""

    name: str
    once: ClassVar[bool] = False  # whether a firing finishes it
    ordered: ClassVar[bool] = False  # whether the order of rows matters to it
    forgets: ClassVar[bool] = False  # whether a firing removes its deadline, as nothing waits for it any more

    @property
    def done(self) -> str:
        """The column that says whether it is finished, if a firing finishes it."""
        return f"{self.name}:done"

    @property
    def passing(self) -> list[PartialColumn]:
        """Partials of a batch's rows that the leaf needs; they are not stored."""
        return []

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of its state, with their types."""
        return {}

    @abstractmethod
    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether the leaf is ready, if it is not finished."""

    def finished(self, at: Values) -> pl.Expr:
        """Returns whether the leaf is finished: it takes no rows and is never ready."""
        return at[self.done] if self.once else pl.lit(False)

    def armed(self, pending: pl.Expr) -> dict[str, pl.Expr]:
        """Returns the initial state; `pending` is the number of pending rows that the leaf counts.

        A leaf that is armed again begins with this state, too, except for what its :meth:`fired` keeps.
        """
        return {
            name: pl.lit(False if dtype == pl.Boolean else None, dtype=dtype)
            for name, dtype in self.columns.items()
        }

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Returns the columns that rows of a batch change. The leaf gets these where `gets_rows` is true."""
        return {}

    def fired(self, at: Values, fires: pl.Expr, cleared: pl.Expr, armed: pl.Expr) -> dict[str, pl.Expr]:
        """Returns the state after a firing of the trigger.

        The masks say in which windows the leaf fires, is cleared, and is armed again.
        """
        cleared = cleared | fires if self.forgets else cleared
        first = self.armed(pl.lit(0, dtype=pl.Int64))
        changes = {
            name: pl.when(armed | cleared).then(first[name]).otherwise(at[name]) for name in self.columns
        }
        if self.once:
            changes[self.done] = ~armed & (at[self.done] | fires)
        return changes

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Returns aggregations that combine the states of the stored windows that merge into one."""
        merging = {pl.Boolean(): pl.Expr.any, pl.Int64(): pl.Expr.min}
        return [
            merging[dtype](pl.col(name).filter(stored)).alias(name) for name, dtype in self.columns.items()
        ]

    def merged(self, at: Values, now: TriggerContext) -> dict[str, pl.Expr]:
        """Returns the first state in a window that replaces others; `at` has what :meth:`merging` returns."""
        return {name: at[name] for name in self.columns}
