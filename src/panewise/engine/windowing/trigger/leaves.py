"""The leaf of each trigger; the leaves that look at rows: at their number, and at values of their columns.

A leaf does not see the rows of a batch one by one. Invariant: what it reads of them decides as they would:
their number; whether one has a flag; or the first, last, least and greatest value. Some value is further than
an amount from a reference if and only if the least or the greatest one is. Cost: a few expressions over the
windows that get rows (:mod:`panewise.engine.windowing.trigger.leaf`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.columns import ADDED_ROWS
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.trigger.leaf import Leaf, Values
from panewise.engine.windowing.trigger.leaves_of_time import leaf_of_time
from panewise.engine.windowing.window_table import TriggerContext
from panewise.spec import AfterCount, Always, OnDelta, OnPunctuation, Trigger


class NeverLeaf(Leaf):
    """Never: it is never ready."""

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns false."""
        return pl.lit(False)


class AlwaysLeaf(Leaf):
    """Always: it is ready while rows are pending."""

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether rows are pending."""
        return now.pending


@dataclass(frozen=True)
class AfterCountLeaf(Leaf):
    """AfterCount: it is ready from the n-th row on."""

    n: int
    once = True

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The number of rows so far, and whether it is finished."""
        return {f"{self.name}:n": pl.Int64(), self.done: pl.Boolean()}

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether the n-th row has been counted."""
        return at[f"{self.name}:n"] >= self.n

    def armed(self, pending: pl.Expr) -> dict[str, pl.Expr]:
        """Returns its initial state: the count starts with the pending rows."""
        return {f"{self.name}:n": pending, self.done: pl.lit(False)}

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Adds the rows to the count."""
        return {
            f"{self.name}:n": at[f"{self.name}:n"] + pl.when(gets_rows).then(pl.col(ADDED_ROWS)).otherwise(0)
        }

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Adds the counts."""
        n, done = (pl.col(name).filter(stored) for name in self.columns)
        return [n.sum(), done.any()]


@dataclass(frozen=True)
class OnPunctuationLeaf(Leaf):
    """OnPunctuation: it is ready once a row with a true `column` has come."""

    column: str
    once = True

    @property
    def transient(self) -> list[PartialColumn]:
        """Whether the rows include such a row."""
        name = f"__came:true:{self.column}"
        return [
            PartialColumn(
                name, pl.Boolean(), pl.col(self.column).fill_null(False).any(), pl.col(name).any(), False
            )
        ]

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The flag that such a row sets, and whether it is finished."""
        return {f"{self.name}:hit": pl.Boolean(), self.done: pl.Boolean()}

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns the flag."""
        return at[f"{self.name}:hit"]

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the flag if the rows include such a row."""
        hit = f"{self.name}:hit"
        return {hit: at[hit] | (gets_rows & pl.col(f"__came:true:{self.column}").fill_null(False))}


@dataclass(frozen=True)
class OnDeltaLeaf(Leaf):
    """OnDelta: it is ready once a value has differed from the reference by more than `amount`.

    Values that are not floats are compared as integers.
    """

    column: str
    amount: int | float
    dtype: pl.DataType
    once, ordered = True, True

    @property
    def transient(self) -> list[PartialColumn]:
        """The first, last, least and greatest value of the rows."""
        value = pl.col(self.column)
        if self.dtype == pl.Float64():
            values = value.cast(pl.Float64).drop_nulls().drop_nans()
        else:
            values = (
                (value.dt.epoch("us") if self.dtype == pl.Datetime() else value).cast(pl.Int64).drop_nulls()
            )
        aggregates = {"first": pl.Expr.first, "last": pl.Expr.last, "min": pl.Expr.min, "max": pl.Expr.max}
        names = {name: self._partial_name(name) for name in aggregates}
        return [
            PartialColumn(names[name], self._type, of(values), of(pl.col(names[name]).drop_nulls()), None)
            for name, of in aggregates.items()
        ]

    def _partial_name(self, what: str) -> str:
        return f"__came:{what}:{self.column}"

    @property
    def _type(self) -> pl.DataType:
        return pl.Float64() if self.dtype == pl.Float64() else pl.Int64()

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The flag, the reference, the last value, and whether it is finished."""
        fields: dict[str, pl.DataType] = {
            "hit": pl.Boolean(),
            "from": self._type,
            "to": self._type,
            "done": pl.Boolean(),
        }
        return {f"{self.name}:{what}": dtype for what, dtype in fields.items()}

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns the flag."""
        return at[f"{self.name}:hit"]

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Compares the values with the reference, which is the first value if there is none yet."""
        hit, start, to = (at[f"{self.name}:{what}"] for what in ("hit", "from", "to"))
        # Some value differs from the reference by more than the amount if the greatest or the least one does.
        reference = pl.coalesce(start, pl.col(self._partial_name("first")))
        moved = self._beyond(pl.col(self._partial_name("max")), reference) | self._beyond(
            reference, pl.col(self._partial_name("min"))
        )
        return {
            f"{self.name}:hit": hit | (gets_rows & moved),
            f"{self.name}:from": pl.when(gets_rows).then(reference).otherwise(start),
            f"{self.name}:to": pl.when(gets_rows)
            .then(pl.coalesce(pl.col(self._partial_name("last")), to))
            .otherwise(to),
        }

    def _beyond(self, high: pl.Expr, low: pl.Expr) -> pl.Expr:
        """Returns whether high - low is above the amount. Infinity minus infinity is not."""
        if self._type == pl.Float64():
            distance = high - low
            return (distance.is_not_nan() & (distance > self.amount)).fill_null(False)
        return (high.cast(pl.Int128) - low.cast(pl.Int128) > pl.lit(self.amount).cast(pl.Int128)).fill_null(
            False
        )

    def fired(self, at: Values, fires: pl.Expr, cleared: pl.Expr, armed: pl.Expr) -> dict[str, pl.Expr]:
        """Makes the last value the reference. Clearing and arming keep the reference."""
        changes = super().fired(at, fires, cleared, armed)
        start, to = at[f"{self.name}:from"], at[f"{self.name}:to"]
        return {
            **changes,
            f"{self.name}:from": pl.when(fires).then(to).otherwise(start),
            f"{self.name}:to": to,
        }

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Takes the reference of the earliest window that has one, and the last value of the latest."""
        hit, start, to, done = (pl.col(name).filter(stored) for name in self.columns)
        return [hit.any(), start.drop_nulls().first(), to.drop_nulls().last(), done.any()]


def leaf_of(trigger: Trigger, name: str, schema: Mapping[str, pl.DataType]) -> Leaf:
    """Returns the leaf of a trigger."""
    match trigger:
        case AfterCount():
            return AfterCountLeaf(name, trigger.n)
        case OnPunctuation():
            return OnPunctuationLeaf(name, trigger.column)
        case OnDelta():
            return OnDeltaLeaf(name, trigger.column, trigger.amount, _delta_type(schema[trigger.column]))
        case Always():
            return AlwaysLeaf(name)
    return leaf_of_time(trigger, name) or NeverLeaf(name)


def _delta_type(dtype: pl.DataType) -> pl.DataType:
    if dtype.is_float():
        return pl.Float64()
    return pl.Datetime() if isinstance(dtype, pl.Datetime) else pl.Int64()
