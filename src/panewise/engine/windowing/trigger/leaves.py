"""The leaves of trigger trees: their state, in columns, and when they are ready (semantics 16.8).

The state of a leaf is a few columns of the window table. A leaf sees the rows of a batch only as partials of
them (`passing`), such as the earliest event time. So a batch costs one expression for each window and leaf,
however many rows a window gets.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.engine.aggregate.partials import Part
from panewise.engine.columns import (
    ADDED_ROWS,
    DEADLINE_SUFFIX,
    EVENT_DEADLINE_SUFFIX,
    MARK_SUFFIX,
    PENDING,
    TIME,
)
from panewise.engine.kernels.instants import shifted
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.trigger.periods import due
from panewise.engine.windowing.window_table import TriggerContext
from panewise.spec import (
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    Always,
    Every,
    OnDelta,
    OnPunctuation,
    Trigger,
)

_EARLIEST_TIME = "__came:time"
_FIRST_TIME = "__came:first_time"
# While windows are merged: the earliest deadline of the windows with pending rows, and of those without.
_AWAITED, _SILENT = ":awaited", ":silent"

Values = Mapping[str, pl.Expr]


@dataclass(frozen=True)
class Leaf(ABC):
    """A leaf of a trigger tree. `name` is its place in the tree. By default a leaf has no state."""

    name: str
    once: ClassVar[bool] = False  # whether a firing finishes it
    ordered: ClassVar[bool] = False  # whether the order of rows matters to it
    forgets: ClassVar[bool] = (
        False  # whether it removes its deadline at a firing: nothing waits for it any more
    )

    @property
    def done(self) -> str:
        """The column that says whether it is finished, if a firing finishes it."""
        return f"{self.name}:done"

    @property
    def passing(self) -> list[Part]:
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

        An OnDelta that is armed again keeps its reference: see :meth:`fired`.
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


class Silent(Leaf):
    """Never: it is never ready."""

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns false."""
        return pl.lit(False)


class Eager(Leaf):
    """Always: it is ready while rows are pending."""

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether rows are pending."""
        return now.pending


@dataclass(frozen=True)
class Periodic(Leaf):
    """Every: it is ready from the first boundary after the earliest pending row was applied."""

    every: Every

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether that boundary has been reached."""
        return due(self.every, now)


@dataclass(frozen=True)
class Counting(Leaf):
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
class DeadlineLeaf(Leaf):
    """A leaf that is ready from its deadline on, in processing time or, in a subclass, in event time."""

    once = True
    suffix: ClassVar[str] = DEADLINE_SUFFIX

    @property
    def deadline(self) -> str:
        """The column of the deadline."""
        return f"{self.name}{self.suffix}"

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The deadline, and whether it is finished."""
        return {self.deadline: pl.Int64(), self.done: pl.Boolean()}

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether the deadline has been reached."""
        return (at[self.deadline] <= now.clocks.processing_time).fill_null(False)


@dataclass(frozen=True)
class Delayed(DeadlineLeaf):
    """AfterProcessingTime: its first row sets its deadline."""

    delay: int
    align: int | None

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline with the first row."""
        deadline, old = clocks.processing_time + self.delay, at[self.deadline]
        if self.align is not None:
            deadline = -(-deadline // self.align) * self.align
        set_now = gets_rows & old.is_null() & (pl.col(ADDED_ROWS) > 0)
        new = pl.lit(min(deadline, MAX_INSTANT), dtype=pl.Int64)
        return {self.deadline: pl.when(set_now).then(new).otherwise(old)}


@dataclass(frozen=True)
class Quiet(DeadlineLeaf):
    """AfterSilence: every row sets its deadline anew."""

    duration: int
    forgets = True

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline if there are rows."""
        deadline = pl.lit(saturating_add(clocks.processing_time, self.duration), dtype=pl.Int64)
        set_now = gets_rows & (pl.col(ADDED_ROWS) > 0)
        return {self.deadline: pl.when(set_now).then(deadline).otherwise(at[self.deadline])}

    def merged(self, at: Values, now: TriggerContext) -> dict[str, pl.Expr]:
        """Returns no deadline: the row that merges the windows sets it (semantics 16.16)."""
        return {**super().merged(at, now), self.deadline: pl.lit(None, dtype=pl.Int64)}


@dataclass(frozen=True)
class DelayedByEventTime(DeadlineLeaf):
    """AfterEventTimeDelay: its first row in arrival order sets its deadline, a watermark."""

    delay: int
    ordered, forgets, suffix = True, True, EVENT_DEADLINE_SUFFIX

    @property
    def passing(self) -> list[Part]:
        """The event time of the first row."""
        first = pl.col(_FIRST_TIME).drop_nulls().first()
        return [Part(_FIRST_TIME, pl.Int64(), pl.col(TIME).first(), first, None)]

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether the watermark has reached the deadline."""
        deadline = at[self.deadline]
        return deadline.is_not_null() if now.clocks.finished else _reached(deadline, now.clocks)

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline with the first row."""
        old, new = at[self.deadline], shifted(pl.col(_FIRST_TIME), self.delay)
        return {self.deadline: pl.when(gets_rows & old.is_null()).then(new).otherwise(old)}


@dataclass(frozen=True)
class Continuous(Leaf):
    """AfterEventTime: it is ready while rows are pending and the watermark has reached its deadline."""

    period: int

    @property
    def mark(self) -> str:
        """The column of its deadline: the watermark that it waits for."""
        return f"{self.name}{MARK_SUFFIX}"

    @property
    def passing(self) -> list[Part]:
        """The earliest event time of the rows."""
        return [Part(_EARLIEST_TIME, pl.Int64(), pl.col(TIME).min(), pl.col(_EARLIEST_TIME).min(), None)]

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The deadline."""
        return {self.mark: pl.Int64()}

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether rows are pending and the watermark has reached the deadline."""
        mark = at[self.mark]
        return now.pending & (mark.is_not_null() if now.clocks.finished else _reached(mark, now.clocks))

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline: the first multiple of the period above both the earliest row and the watermark.

        An earlier deadline stays. But a deadline that the watermark has reached while no row was pending
        becomes the first multiple above the watermark (semantics 16.15).
        """
        old, known = at[self.mark], _watermark(clocks)
        mine = pl.min_horizontal(old, self._following(pl.max_horizontal(pl.col(_EARLIEST_TIME), known)))
        # All pending rows are new, so none was pending when the watermark reached the old deadline.
        in_silence = (pl.col(PENDING) == pl.col(ADDED_ROWS)) & _reached(old, clocks)
        deadline = pl.when(in_silence).then(self._following(known)).otherwise(mine)
        set_now = gets_rows & pl.col(_EARLIEST_TIME).is_not_null()
        return {self.mark: pl.when(set_now).then(deadline).otherwise(old)}

    def _following(self, instant: pl.Expr) -> pl.Expr:
        following = (instant.cast(pl.Int128).floordiv(self.period) + 1) * self.period
        return following.clip(upper_bound=MAX_INSTANT).cast(pl.Int64)

    def fired(self, at: Values, fires: pl.Expr, cleared: pl.Expr, armed: pl.Expr) -> dict[str, pl.Expr]:
        """Keeps the deadline at firings and clearings (semantics 16.15)."""
        return super().fired(at, fires, pl.lit(False), armed)

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Takes the earliest deadline: of all windows, of those with and of those without pending rows."""
        mark, pending = pl.col(self.mark), pl.col(PENDING) > 0
        kinds = {MARK_SUFFIX: stored, _AWAITED: stored & pending, _SILENT: stored & ~pending}
        return [mark.filter(kind).min().alias(f"{self.name}{suffix}") for suffix, kind in kinds.items()]

    def merged(self, at: Values, now: TriggerContext) -> dict[str, pl.Expr]:
        """Replaces a deadline that was reached while no row was pending by the next one (semantics 16.15)."""
        silent = pl.col(f"{self.name}{_SILENT}")
        coming = (
            pl.when(_reached(silent, now.clocks))
            .then(self._following(_watermark(now.clocks)))
            .otherwise(silent)
        )
        return {self.mark: pl.min_horizontal(pl.col(f"{self.name}{_AWAITED}"), coming)}


@dataclass(frozen=True)
class Punctuated(Leaf):
    """OnPunctuation: it is ready once a row with a true `column` has come."""

    column: str
    once = True

    @property
    def passing(self) -> list[Part]:
        """Whether the rows include such a row."""
        name = f"__came:true:{self.column}"
        return [
            Part(name, pl.Boolean(), pl.col(self.column).fill_null(False).any(), pl.col(name).any(), False)
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
class Moving(Leaf):
    """OnDelta: it is ready once a value has differed from the reference by more than `amount`.

    Values that are not floats are compared as integers.
    """

    column: str
    amount: int | float
    dtype: pl.DataType
    once, ordered = True, True

    @property
    def passing(self) -> list[Part]:
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
            Part(names[name], self._type, of(values), of(pl.col(names[name]).drop_nulls()), None)
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
            return Counting(name, trigger.n)
        case OnPunctuation():
            return Punctuated(name, trigger.column)
        case OnDelta():
            return Moving(name, trigger.column, trigger.amount, _delta_type(schema[trigger.column]))
        case Always():
            return Eager(name)
    return _leaf_of_time(trigger, name) or Silent(name)


def _leaf_of_time(trigger: Trigger, name: str) -> Leaf | None:
    """Returns the leaf of a trigger that waits for a time; None for other triggers."""
    match trigger:
        case AfterProcessingTime():
            return Delayed(name, trigger.delay.us, None if trigger.align is None else trigger.align.us)
        case AfterSilence():
            return Quiet(name, trigger.duration.us)
        case Every():
            return Periodic(name, trigger)
        case AfterEventTime():
            return Continuous(name, trigger.period.us)
        case AfterEventTimeDelay():
            return DelayedByEventTime(name, trigger.delay.us)
    return None


def _delta_type(dtype: pl.DataType) -> pl.DataType:
    if dtype.is_float():
        return pl.Float64()
    return pl.Datetime() if isinstance(dtype, pl.Datetime) else pl.Int64()


def _watermark(clocks: Clocks) -> pl.Expr:
    """Returns the watermark; null is minus infinity."""
    return pl.lit(None, dtype=pl.Int64) if clocks.mark is None else clocks.mark


def _reached(mark: pl.Expr, clocks: Clocks) -> pl.Expr:
    """Returns whether the watermark has reached a mark; false if there is no mark."""
    return (mark <= _watermark(clocks)).fill_null(False)
