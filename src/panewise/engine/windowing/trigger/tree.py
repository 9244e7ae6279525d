"""Trigger trees as columns of the window table, and as expressions over them (semantics 16.7 to 16.12).

Every node with a state has columns of its own, named after its path in the tree. At a firing, masks are
passed down the tree. They say in which windows a node *fires*, is *cleared* or is *armed* again. Invariant:
each column changes in one expression over the old values of all columns, so the order of the nodes has no
effect. An evaluation costs a pass over the windows for each node, whatever the windows' states are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.columns import ADDED_ROWS, PENDING
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.trigger.leaf import Leaf, Values
from panewise.engine.windowing.trigger.leaves import leaf_of
from panewise.engine.windowing.trigger.leaves_of_time import EveryLeaf
from panewise.engine.windowing.trigger.periods import latest
from panewise.engine.windowing.window_table import TriggerContext
from panewise.spec import AfterAll, AfterAny, AfterEach, AfterWatermark, OrFinally, Repeatedly, Trigger
from panewise.spec.triggers.composite import parts_of_trigger

# Columns that windows have only while a batch is applied to them.
BEFORE = "__before"  # the number of rows that were pending before the batch
STORED_COUNT = "__stored_count"  # the number of stored windows that the window is merged from

_NO, _YES, _NONE = pl.lit(False), pl.lit(True), pl.lit(0, dtype=pl.Int64)


def _any(tests: Iterable[pl.Expr]) -> pl.Expr:
    return reduce(or_, tests, _NO)


def _all(tests: Iterable[pl.Expr]) -> pl.Expr:
    return reduce(and_, tests, _YES)


@dataclass(frozen=True)
class Node:
    """A node of the tree.

    `leaf` is None for inner nodes. An AfterWatermark stores whether it has passed the end.
    """

    trigger: Trigger
    name: str
    parts: "list[Node]" = field(default_factory=list)
    leaf: Leaf | None = None

    @classmethod
    def from_trigger(
        cls, trigger: Trigger, schema: Mapping[str, pl.DataType], name: str = "__trigger"
    ) -> "Node":
        """Returns the tree of a trigger."""
        inside = parts_of_trigger(trigger)
        if isinstance(trigger, AfterWatermark):
            inside = tuple(Repeatedly(part) for part in inside)
        parts = [cls.from_trigger(part, schema, f"{name}.{number}") for number, part in enumerate(inside)]
        return cls(
            trigger,
            name,
            parts,
            None if inside or isinstance(trigger, AfterWatermark) else leaf_of(trigger, name, schema),
        )

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves below the node, or the leaf that it is."""
        return [self.leaf] if self.leaf else [leaf for part in self.parts for leaf in part.leaves]

    @property
    def past(self) -> str:
        """The column in which an AfterWatermark stores whether it has passed the end."""
        return f"{self.name}:past"

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The columns of the node and of all nodes below it, with their types."""
        own: dict[str, pl.DataType] = (
            {self.past: pl.Boolean()} if isinstance(self.trigger, AfterWatermark) else {}
        )
        if self.leaf:
            own = self.leaf.columns
        return reduce(or_, (part.columns for part in self.parts), own)

    # Conditions

    def finished(self, at: Values) -> pl.Expr:
        """Returns whether the node is finished: it takes no rows and is never ready."""
        below = (part.finished(at) for part in self.parts)
        match self.trigger:
            case Repeatedly():
                return _NO
            case AfterAny() | OrFinally():
                return _any(below)
            case AfterAll() | AfterEach():
                return _all(below)
            case AfterWatermark(late=late):
                return _NO if late else at[self.past]
        assert self.leaf is not None
        return self.leaf.finished(at)

    def is_active(self, number: int, at: Values) -> pl.Expr:
        """Returns whether a part is active (semantics 16.9, 16.10)."""
        match self.trigger:
            case AfterWatermark(early=early):
                return ~at[self.past] if early and number == 0 else at[self.past]
            case AfterEach():
                return _all(part.finished(at) for part in self.parts[:number]) & ~self.parts[number].finished(
                    at
                )
        return _YES

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether the node is ready."""
        if self.leaf:
            return self.leaf.ready(at, now) & ~self.leaf.finished(at)
        below = [self.is_active(number, at) & part.ready(at, now) for number, part in enumerate(self.parts)]
        match self.trigger:
            case AfterAll():
                each = zip(self.parts, below, strict=True)
                return _all(part.finished(at) | ready for part, ready in each) & ~self.finished(at)
            case AfterWatermark():
                ends = ~at[self.past] & now.complete
                return (ends & (now.pending | now.flips)) | (~ends & _any(below))
        return _any(below) & ~self.finished(at)

    def finishes(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether a firing now finishes the node."""
        if self.leaf:
            return pl.lit(self.leaf.once)
        after = [part.ready(at, now) & part.finishes(at, now) for part in self.parts]
        match self.trigger:
            case AfterAny() | OrFinally():
                return _any(after)
            case AfterAll():
                return _all(part.finished(at) | ends for part, ends in zip(self.parts, after, strict=True))
            case AfterEach():
                return self.is_active(len(self.parts) - 1, at) & after[-1]
            case AfterWatermark(late=None):
                return ~at[self.past] & now.complete
        return _NO

    # Changes of state

    def fired(
        self, at: Values, now: TriggerContext, fires: pl.Expr, cleared: pl.Expr = _NO, armed: pl.Expr = _NO
    ) -> dict[str, pl.Expr]:
        """Returns the columns after a firing, which leaves no rows pending.

        `fires`, `cleared` and `armed` are the windows in which the node fires, is cleared or is armed again.
        """
        cleared = cleared & ~self.finished(at)
        if self.leaf:
            return self.leaf.fired(at, fires, cleared, armed)
        if isinstance(self.trigger, AfterWatermark):
            return self._fired_after_watermark(at, now, fires, cleared, armed)
        changes: dict[str, pl.Expr] = {}
        for number, part in enumerate(self.parts):
            part_fires = fires & self.is_active(number, at) & part.ready(at, now)
            # The firing of AfterAny clears the parts that were not ready; only Repeatedly arms parts again.
            part_cleared = (
                cleared | (fires & ~part.ready(at, now)) if isinstance(self.trigger, AfterAny) else cleared
            )
            part_armed = (
                armed | (part_fires & part.finishes(at, now))
                if isinstance(self.trigger, Repeatedly)
                else armed
            )
            changes |= part.fired(at, now, part_fires, part_cleared, part_armed)
        return changes

    def _fired_after_watermark(
        self, at: Values, now: TriggerContext, fires: pl.Expr, cleared: pl.Expr, armed: pl.Expr
    ) -> dict[str, pl.Expr]:
        """Returns the columns of an AfterWatermark after a firing.

        The firing at which it passes the end of the window arms both parts. In other firings its active part
        fires.
        """
        passes = fires & ~at[self.past] & now.complete
        changes = {self.past: ~armed & (at[self.past] | passes)}
        for number, part in enumerate(self.parts):
            part_fires = fires & ~passes & self.is_active(number, at)
            changes |= part.fired(at, now, part_fires, cleared, armed | passes)
        return changes

    def armed(self, now: TriggerContext, pending: pl.Expr, passed: pl.Expr = _NO) -> dict[str, pl.Expr]:
        """Returns the initial columns of a node; the counts of active parts start with the pending rows.

        An AfterWatermark has passed the end where `passed` is true.
        """
        if self.leaf:
            return self.leaf.armed(pending)
        has_end = isinstance(self.trigger, AfterWatermark)
        changes: dict[str, pl.Expr] = {self.past: passed} if has_end else {}
        for number, part in enumerate(self.parts):
            counts = pending
            if has_end:
                counts = pl.when(self.is_active(number, changes)).then(pending).otherwise(_NONE)
            elif isinstance(self.trigger, AfterEach) and number:
                counts = _NONE
            changes |= part.armed(now, counts, passed)
        return changes

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr = _YES) -> dict[str, pl.Expr]:
        """Returns the columns after the rows of a batch. The node gets them where `gets_rows` is true."""
        gets_rows = gets_rows & ~self.finished(at)
        if self.leaf:
            return self.leaf.after_rows(at, clocks, gets_rows)
        below = (
            part.after_rows(at, clocks, gets_rows & self.is_active(number, at))
            for number, part in enumerate(self.parts)
        )
        return reduce(or_, below, {})

    def merged(
        self, at: Values, now: TriggerContext, none_past: Values, pending: pl.Expr
    ) -> dict[str, pl.Expr]:
        """Returns the columns of a window that replaces others.

        Parts that cannot continue are armed again (semantics 16.12).

        `at` has the combined states of the leaves and, for each AfterWatermark, whether all replaced windows
        had passed the end. `none_past` has whether none of them had. `pending` counts the rows of all of
        them.
        """
        if self.leaf:
            return self.leaf.merged(at, now)
        if isinstance(self.trigger, AfterWatermark):
            return self._merged_after_watermark(at, now, none_past, pending)
        changes: dict[str, pl.Expr] = {}
        for number, part in enumerate(self.parts):
            mine = part.merged(at, now, none_past, pending)
            if isinstance(self.trigger, AfterEach):
                reached = _all(before.finished(changes) for before in self.parts[:number])
                mine = _chosen(reached, mine, part.armed(now, _NONE))
            elif isinstance(self.trigger, Repeatedly):
                mine = _chosen(~part.finished(mine), mine, part.armed(now, pending))
            changes |= mine
        return changes

    def _merged_after_watermark(
        self, at: Values, now: TriggerContext, none_past: Values, pending: pl.Expr
    ) -> dict[str, pl.Expr]:
        """Returns :meth:`merged` for an AfterWatermark: its active part continues, or is armed again."""
        past = now.complete & at[self.past]
        changes = {self.past: past}
        for number, part in enumerate(self.parts):
            is_active = self.is_active(number, changes)
            # A part continues only if it is active now and was active in all replaced windows.
            continues = is_active & pl.when(past).then(at[self.past]).otherwise(none_past[self.past])
            anew = part.armed(now, pl.when(is_active).then(pending).otherwise(_NONE))
            changes |= _chosen(continues, part.merged(at, now, none_past, pending), anew)
        return changes

    # How the states of stored windows that are merged are combined, for `merged`

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Returns aggregations over the stored windows that merge into one, in the order of their starts."""
        aggregations = (
            self.leaf.merging(stored)
            if self.leaf
            else [expression for part in self.parts for expression in part.merging(stored)]
        )
        if isinstance(self.trigger, AfterWatermark):
            past = pl.col(self.past).filter(stored)
            aggregations += [past.all().alias(self.past), (~past).all().alias(f"{self.past}:none_past")]
        return aggregations

    @property
    def past_columns(self) -> list[str]:
        """The columns in which the AfterWatermark nodes store whether they have passed the end."""
        own = [self.past] if isinstance(self.trigger, AfterWatermark) else []
        return [*own, *(name for part in self.parts for name in part.past_columns)]


def _chosen(where: pl.Expr, chosen: Values, other: Values) -> dict[str, pl.Expr]:
    return {name: pl.when(where).then(chosen[name]).otherwise(other[name]) for name in chosen}


class TriggerTree:
    """A trigger whose nodes need columns.

    `transient` are partial columns of rows that the leaves need; they are not stored.
    """

    def __init__(self, trigger: Trigger, schema: Mapping[str, pl.DataType]) -> None:
        self.root = Node.from_trigger(trigger, schema)
        self.columns = self.root.columns
        self.transient: list[PartialColumn] = list(
            {part.name: part for leaf in self.root.leaves for part in leaf.transient}.values()
        )
        self.ordered = any(leaf.ordered for leaf in self.root.leaves)
        self._at: Values = {name: pl.col(name) for name in self.columns}

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Returns aggregations over the stored and the new windows that merge into one window.

        :meth:`after_rows` reads their results.
        """
        added_rows = pl.col(PENDING).filter(~stored).sum().alias(ADDED_ROWS)
        return [
            *self.root.merging(stored),
            stored.sum().alias(STORED_COUNT),
            pl.col(PENDING).filter(stored).sum().alias(BEFORE),
            added_rows,
        ]

    def after_rows(
        self, windows: pl.DataFrame, now: TriggerContext, same: pl.Expr | None = None
    ) -> pl.DataFrame:
        """Returns windows that got rows, with their trigger states after these rows.

        Without the columns of :meth:`merging` all windows are new. `same` says whether a window is a stored
        one with its old bounds: all others replace the stored ones that they contain. None if none does.
        """
        fresh = self.root.armed(now, _NONE)
        if STORED_COUNT not in windows.columns:
            windows = windows.with_columns(
                pl.col(PENDING).alias(ADDED_ROWS),
                *(value.cast(self.columns[name]).alias(name) for name, value in fresh.items()),
            )
        else:
            # The state before the batch: initial in a new window, merged in one that replaces others, and
            # otherwise the stored one.
            started: Values = self._at
            if same is not None:
                none_past = {name: pl.col(f"{name}:none_past") for name in self.root.past_columns}
                started = _chosen(same, self._at, self.root.merged(self._at, now, none_past, pl.col(BEFORE)))
            started = _chosen(pl.col(STORED_COUNT) == _NONE, fresh, started)
            windows = windows.with_columns(
                value.cast(self.columns[name]).alias(name) for name, value in started.items()
            )
        return windows.with_columns(
            value.alias(name) for name, value in self.root.after_rows(self._at, now.clocks).items()
        )

    def resumed(self, windows: pl.DataFrame, now: TriggerContext, passed: pl.Expr) -> pl.DataFrame:
        """Returns windows of another trigger with the state of this one (semantics 47.4).

        It starts as if the pending rows arrived now, without values. An AfterWatermark has passed the end
        where `passed` is true.
        """
        fresh = self.root.armed(now, _NONE, passed)
        known = windows.with_columns(
            pl.col(PENDING).alias(ADDED_ROWS),
            *(value.cast(self.columns[name]).alias(name) for name, value in fresh.items()),
            *(pl.lit(None, dtype=part.dtype).alias(part.name) for part in self.transient),
        )
        after = self.root.after_rows(self._at, now.clocks)
        return known.with_columns(value.alias(name) for name, value in after.items())

    def ready(self, now: TriggerContext) -> pl.Expr:
        """Returns whether the trigger is ready."""
        return self.root.ready(self._at, now)

    def closes(self, now: TriggerContext) -> pl.Expr:
        """Returns whether the trigger is finished after this evaluation."""
        return self.root.finished(self._at) | (
            self.root.ready(self._at, now) & self.root.finishes(self._at, now)
        )

    def fired(self, now: TriggerContext, fires: pl.Expr) -> list[pl.Expr]:
        """Returns the columns after the trigger has fired where the mask is true."""
        return [
            value.cast(self.columns[name]).alias(name)
            for name, value in self.root.fired(self._at, now, fires).items()
        ]

    def latest_since(self, clocks: Clocks) -> int | None:
        """Returns the latest F (semantics 16.3) with which a window can be ready; None if it has no Every."""
        return latest(
            (leaf.every for leaf in self.root.leaves if isinstance(leaf, EveryLeaf)), clocks.processing_time
        )
