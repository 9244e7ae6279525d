"""Trigger trees as columns of the window table, and as expressions over them (semantics 16.7 to 16.12).

Every node that remembers something has columns of its own, named by its place in the tree. What a firing does to them is told
by masks that go down the tree: which windows' node *fires*, is *cleared*, is *armed* anew. Each column then changes in one
expression over the values that it and the others had before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_

import polars as pl

from panewise.engine.aggregate.partials import Part
from panewise.engine.columns import CAME, PENDING
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.trigger.context import TriggerContext
from panewise.engine.windowing.trigger.leaves import Leaf, Periodic, leaf_of
from panewise.engine.windowing.trigger.periods import latest
from panewise.spec import AfterAll, AfterAny, AfterEach, AfterWatermark, OrFinally, Repeatedly, Trigger
from panewise.spec.composites import parts as parts_of_trigger

BEFORE = "__before"  # rows pending before the batch, while a batch is taken in
KEPT = "__kept"  # how many held windows a window is made of, while a batch is taken in

Values = Mapping[str, pl.Expr]
_NO, _YES = pl.lit(False), pl.lit(True)


def _any(tests: Iterable[pl.Expr]) -> pl.Expr:
    return reduce(or_, tests, _NO)


def _all(tests: Iterable[pl.Expr]) -> pl.Expr:
    return reduce(and_, tests, _YES)


@dataclass(frozen=True)
class Node:
    """One node of the tree. `leaf` is None for the inner ones; an AfterWatermark remembers whether it has passed the end."""

    trigger: Trigger
    name: str
    parts: "list[Node]" = field(default_factory=list)
    leaf: Leaf | None = None

    @classmethod
    def of(cls, trigger: Trigger, schema: Mapping[str, pl.DataType], name: str = "__trigger") -> "Node":
        """The tree below a trigger."""
        inside = parts_of_trigger(trigger)
        if isinstance(trigger, AfterWatermark):
            inside = tuple(Repeatedly(part) for part in inside)
        parts = [cls.of(part, schema, f"{name}.{number}") for number, part in enumerate(inside)]
        return cls(trigger, name, parts, None if inside or isinstance(trigger, AfterWatermark) else leaf_of(trigger, name, schema))

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves below, and itself if it is one."""
        return [self.leaf] if self.leaf else [leaf for part in self.parts for leaf in part.leaves]

    @property
    def past(self) -> str:
        """The column in which an AfterWatermark remembers that it has passed the end."""
        return f"{self.name}:past"

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """What is remembered, and its types."""
        own: dict[str, pl.DataType] = {self.past: pl.Boolean()} if isinstance(self.trigger, AfterWatermark) else {}
        if self.leaf:
            own = self.leaf.columns
        return reduce(or_, (part.columns for part in self.parts), own)

    # What nodes tell

    def finished(self, at: Values) -> pl.Expr:
        """Whether the node takes no rows and wants nothing any more."""
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

    def in_force(self, number: int, at: Values) -> pl.Expr:
        """Whether a part is followed at present."""
        match self.trigger:
            case AfterWatermark(early=early):
                return ~at[self.past] if early and number == 0 else at[self.past]
            case AfterEach():
                return _all(part.finished(at) for part in self.parts[:number]) & ~self.parts[number].finished(at)
        return _YES

    def wants(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Whether the node wants to fire."""
        if self.leaf:
            return self.leaf.wants(at, now) & ~self.leaf.finished(at)
        below = [self.in_force(number, at) & part.wants(at, now) for number, part in enumerate(self.parts)]
        match self.trigger:
            case AfterAll():
                each = zip(self.parts, below, strict=True)
                return _all(part.finished(at) | wants for part, wants in each) & ~self.finished(at)
            case AfterWatermark():
                ends = ~at[self.past] & now.complete
                return (ends & (now.pending | now.flips)) | (~ends & _any(below))
        return _any(below) & ~self.finished(at)

    def finishes(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Whether the node will be finished if it fires now."""
        if self.leaf:
            return pl.lit(self.leaf.once)
        after = [part.wants(at, now) & part.finishes(at, now) for part in self.parts]
        match self.trigger:
            case AfterAny() | OrFinally():
                return _any(after)
            case AfterAll():
                return _all(part.finished(at) | ends for part, ends in zip(self.parts, after, strict=True))
            case AfterEach():
                return self.in_force(len(self.parts) - 1, at) & after[-1]
            case AfterWatermark(late=None):
                return ~at[self.past] & now.complete
        return _NO

    # What happens to them

    def fired(self, at: Values, now: TriggerContext, fires: pl.Expr, cleared: pl.Expr = _NO, armed: pl.Expr = _NO) -> dict[str, pl.Expr]:
        """The columns after a firing, in which nothing stays pending. The masks say what becomes of this node."""
        cleared = cleared & ~self.finished(at)
        if self.leaf:
            return self.leaf.fired(at, fires, cleared, armed)
        if isinstance(self.trigger, AfterWatermark):
            return self._fired_sides(at, now, fires, cleared, armed)
        changes: dict[str, pl.Expr] = {}
        for number, part in enumerate(self.parts):
            part_fires = fires & self.in_force(number, at) & part.wants(at, now)
            part_cleared = cleared | (fires & ~part.wants(at, now)) if isinstance(self.trigger, AfterAny) else cleared
            part_armed = armed | (part_fires & part.finishes(at, now)) if isinstance(self.trigger, Repeatedly) else armed
            changes |= part.fired(at, now, part_fires, part_cleared, part_armed)
        return changes

    def _fired_sides(self, at: Values, now: TriggerContext, fires: pl.Expr, cleared: pl.Expr, armed: pl.Expr) -> dict[str, pl.Expr]:
        """AfterWatermark: passing the end arms both its sides."""
        passes = fires & ~at[self.past] & now.complete
        changes = {self.past: ~armed & (at[self.past] | passes)}
        for number, part in enumerate(self.parts):
            part_fires = fires & ~passes & self.in_force(number, at)
            changes |= part.fired(at, now, part_fires, cleared, armed | passes)
        return changes

    def armed(self, now: TriggerContext, pending: pl.Expr) -> dict[str, pl.Expr]:
        """The columns of a node in its first state; if it is in force it counts the rows that are pending."""
        if self.leaf:
            return self.leaf.armed(pending)
        sides = isinstance(self.trigger, AfterWatermark)
        changes: dict[str, pl.Expr] = {self.past: _NO} if sides else {}
        none = pl.lit(0, dtype=pl.Int64)
        for number, part in enumerate(self.parts):
            counts = pending
            if sides:
                counts = pl.when(self.in_force(number, changes)).then(pending).otherwise(none)
            elif isinstance(self.trigger, AfterEach) and number:
                counts = none
            changes |= part.armed(now, counts)
        return changes

    def took(self, at: Values, clocks: Clocks, given: pl.Expr = _YES) -> dict[str, pl.Expr]:
        """The columns after a batch's rows were given to the node, where `given` holds."""
        given = given & ~self.finished(at)
        if self.leaf:
            return self.leaf.took(at, clocks, given)
        below = (part.took(at, clocks, given & self.in_force(number, at)) for number, part in enumerate(self.parts))
        return reduce(or_, below, {})

    def merged(self, at: Values, now: TriggerContext, everywhere: Values, pending: pl.Expr) -> dict[str, pl.Expr]:
        """The columns of a window that replaces others.

        `at` has what the leaves made of theirs, and for AfterWatermark whether all had passed the end; `everywhere` tells of the latter
        whether none had. What cannot go on is armed anew (semantics 16.12).
        """
        if self.leaf:
            return self.leaf.merged(at, now)
        if isinstance(self.trigger, AfterWatermark):
            return self._merged_sides(at, now, everywhere, pending)
        changes: dict[str, pl.Expr] = {}
        for number, part in enumerate(self.parts):
            mine = part.merged(at, now, everywhere, pending)
            if isinstance(self.trigger, AfterEach):
                reached = _all(before.finished(changes) for before in self.parts[:number])
                mine = _chosen(reached, mine, part.armed(now, pl.lit(0, dtype=pl.Int64)))
            elif isinstance(self.trigger, Repeatedly):
                mine = _chosen(~part.finished(mine), mine, part.armed(now, pending))
            changes |= mine
        return changes

    def _merged_sides(self, at: Values, now: TriggerContext, everywhere: Values, pending: pl.Expr) -> dict[str, pl.Expr]:
        past = now.complete & at[self.past]
        changes, none = {self.past: past}, pl.lit(0, dtype=pl.Int64)
        for number, part in enumerate(self.parts):
            in_force = self.in_force(number, changes)
            goes_on = in_force & pl.when(past).then(at[self.past]).otherwise(everywhere[self.past])
            anew = part.armed(now, pl.when(in_force).then(pending).otherwise(none))
            changes |= _chosen(goes_on, part.merged(at, now, everywhere, pending), anew)
        return changes

    # How held windows that are merged are put together, before `merged` looks at them

    def joined(self, held: pl.Expr) -> list[pl.Expr]:
        """Aggregations over the held windows of a group, in order of their start."""
        found = self.leaf.joined(held) if self.leaf else [expression for part in self.parts for expression in part.joined(held)]
        if isinstance(self.trigger, AfterWatermark):
            past = pl.col(self.past).filter(held)
            found += [past.all().alias(self.past), (~past).all().alias(f"{self.past}:nowhere")]
        return found

    @property
    def sides(self) -> list[str]:
        """The columns of every AfterWatermark."""
        own = [self.past] if isinstance(self.trigger, AfterWatermark) else []
        return [*own, *(name for part in self.parts for name in part.sides)]


def _chosen(where: pl.Expr, one: Values, other: Values) -> dict[str, pl.Expr]:
    return {name: pl.when(where).then(one[name]).otherwise(other[name]) for name in one}


class TriggerTree:
    """The trigger of a specification whose nodes need columns.

    `passing` are what rows have to tell the leaves: partial columns that are not kept.
    """

    def __init__(self, trigger: Trigger, schema: Mapping[str, pl.DataType]) -> None:
        self.root = Node.of(trigger, schema)
        self.columns = self.root.columns
        self.passing: list[Part] = list({part.name: part for leaf in self.root.leaves for part in leaf.passing}.values())
        self.ordered = any(leaf.ordered for leaf in self.root.leaves)
        self._at: Values = {name: pl.col(name) for name in self.columns}

    def joined(self, held: pl.Expr) -> list[pl.Expr]:
        """Aggregations over the windows held and the new ones of a group, for :meth:`taken`."""
        came = pl.col(PENDING).filter(~held).sum().alias(CAME)
        return [*self.root.joined(held), held.sum().alias(KEPT), pl.col(PENDING).filter(held).sum().alias(BEFORE), came]

    def taken(self, windows: pl.DataFrame, now: TriggerContext, same: pl.Expr | None = None) -> pl.DataFrame:
        """Windows that got rows, as the rows leave their triggers.

        Args:
            windows: with the columns of :meth:`joined`, or none of these if all of them are new.
            now: the moment.
            same: which windows are held ones with their old bounds; None if that are all that are not new.
        """
        fresh, nothing = self.root.armed(now, pl.lit(0, dtype=pl.Int64)), pl.lit(0, dtype=pl.Int64)
        if KEPT not in windows.columns:
            windows = windows.with_columns(
                pl.col(PENDING).alias(CAME), *(value.cast(self.columns[name]).alias(name) for name, value in fresh.items())
            )
        else:
            started: Values = self._at
            if same is not None:
                nowhere = {name: pl.col(f"{name}:nowhere") for name in self.root.sides}
                started = _chosen(same, self._at, self.root.merged(self._at, now, nowhere, pl.col(BEFORE)))
            started = _chosen(pl.col(KEPT) == nothing, fresh, started)
            windows = windows.with_columns(value.cast(self.columns[name]).alias(name) for name, value in started.items())
        return windows.with_columns(value.alias(name) for name, value in self.root.took(self._at, now.clocks).items())

    def wants(self, now: TriggerContext) -> pl.Expr:
        """Whether the trigger wants to fire."""
        return self.root.wants(self._at, now)

    def closes(self, now: TriggerContext) -> pl.Expr:
        """Whether the trigger will be finished after this evaluation."""
        return self.root.finished(self._at) | (self.root.wants(self._at, now) & self.root.finishes(self._at, now))

    def fired(self, now: TriggerContext, fires: pl.Expr) -> list[pl.Expr]:
        """The columns after the trigger has fired where the mask holds."""
        return [value.cast(self.columns[name]).alias(name) for name, value in self.root.fired(self._at, now, fires).items()]

    def waits(self, clocks: Clocks) -> int | None:
        """A window that has waited to fire since then, or longer, may be due by processing time; None: none ever is."""
        return latest((leaf.every for leaf in self.root.leaves if isinstance(leaf, Periodic)), clocks.processing_time)
