"""Joins with windows: pairs are emitted when their window fires (semantics 37.10 to 37.13).

A window operator of the rows of both sides decides which rows are late, and when windows fire. Each of its
panes lists the numbers of the rows of the window.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from panewise.chrono import MAX_INSTANT, Duration, saturating_add
from panewise.oracle.join.applied import Applied, Pair
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.partners import condition_is_true, has_null_key
from panewise.oracle.join.windows_of_sides import WindowsOfSides
from panewise.oracle.windows.interpreter import Interpreter
from panewise.spec.aggregates.order_sensitive import collect_list
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.windowing import ROW_NUMBER, row_key, window_operator
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.windows.kinds import Calendar, Cumulating, Hopping, Tumbling

_NUMBERS = "numbers"
Numbers: TypeAlias = frozenset[int]


@dataclass(frozen=True)
class Item:
    """Something that a window contains: a pair, or one row alone. Rows are given by their places."""

    left: int | None
    right: int | None


Identity: TypeAlias = tuple[Any, ...]  # of a window: its keys and its bounds
Emitted: TypeAlias = dict[Item, dict[str, Any]]  # what a window contains, each with the pane that emitted it


class WindowJoin(WindowsOfSides):
    """Emits the differences between the contents of a window at two firings."""

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        assert isinstance(spec.match, SameWindow)
        operator = Interpreter(_windows(spec))
        super().__init__(spec.keys, clocks, operator)
        self._spec, self._match, self._emitted = spec, spec.match, emitted
        # What each window contained at its last firing, each with the pane that emitted it.
        self._emitted_by: dict[Identity, Emitted] = {}
        # The timings of the firings of each window that have emitted rows.
        self._timings: dict[Identity, list[str]] = {}
        # What sessions contained that have merged into one that has not fired yet, with their rows.
        self._merged: list[tuple[Numbers, Emitted]] = []

    def change(self, spec: JoinOperator) -> None:
        """Continues with another trigger or lateness (semantics 47.19)."""
        assert isinstance(spec.match, SameWindow)
        self._spec, self._match = spec, spec.match
        self._panes += self._operator.change(_windows(spec))["panes"]

    def evaluate(self) -> list[dict[str, Any]]:
        """Moves the clocks of the windows, and returns what they emit."""
        return [row for pane in _firings(self._moved()) for row in self._fired(pane)]

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows (semantics 40.4)."""
        watermark, behind = self._clocks.lower(), self._behind()
        if watermark == math.inf:
            return MAX_INSTANT
        if watermark == -math.inf or behind is None:
            return None
        floor, lateness = self._operator.now.floor, self._match.allowed_lateness
        at = saturating_add(int(watermark), -behind)
        if floor is None or lateness == "unlimited":
            return at
        return max(at, saturating_add(floor, lateness.us - behind))

    def _behind(self) -> int | None:
        """Returns how far `join_time` may lie behind the watermark of the windows; None if without limit."""
        lateness, window = self._match.allowed_lateness, self._match.window
        if lateness == "unlimited":
            return None
        if self._spec.timestamp == "window":
            return lateness.us
        if isinstance(window, Calendar):
            days = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[window.unit] * window.n + 2
            return lateness.us + days * 24 * 60 * 60 * 1_000_000
        if isinstance(window, Tumbling | Hopping | Cumulating) and isinstance(window.size, Duration):
            return lateness.us + window.size.us
        return None

    def _fired(self, pane: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the rows that a window emits at its new pane.

        A pane that is retracted without a new one belongs to a session that has merged into another session.
        """
        numbers, name = frozenset(pane[_NUMBERS]), _window(pane)
        old = self._emitted_by.pop(name, {})
        timings = self._timings.pop(name, [])
        if pane["op"] == "-":
            if self._match.accumulation == "retracting":
                return self._rows_of(old, "-")
            self._merged.append((numbers, old))
            return []
        for merged in [session for session in self._merged if session[0] <= numbers]:
            self._merged.remove(merged)
            old = {**merged[1], **old}
        items, pane = list(self._items(numbers, last=pane["is_last"])), _numbered(pane, timings)
        remaining = old if self._match.accumulation == "discarding" or old.keys() == set(items) else {}
        new = {item: remaining.get(item, pane) for item in items}
        if not pane["is_last"]:
            self._emitted_by[name], self._timings[name] = new, timings
        dropped = {item: of for item, of in old.items() if new.get(item) is not of}
        retracted = [] if self._match.accumulation == "accumulating" else self._rows_of(dropped, "-")
        fresh = {item: of for item, of in new.items() if item not in remaining}
        if fresh:
            timings.append(pane["timing"])
        return [*retracted, *self._rows_of(fresh, "+")]

    def _items(self, numbers: Numbers, *, last: bool) -> Iterator[Item]:
        """Yields what a window with these rows contains (semantics 37.12). After `last` no row can come."""
        rows = [self._rows[number] for number in sorted(numbers)]
        lefts, rights = ([applied for applied in rows if applied.side == side] for side in (LEFT, RIGHT))
        pairs = [(left, right) for left in lefts for right in rights if self._are_partners(left, right)]
        partnered = {applied.place for pair in pairs for applied in pair}
        if self._spec.how == "semi":
            yield from (_alone(applied) for applied in lefts if applied.place in partnered)
            return
        if self._spec.how != "anti":
            yield from (Item(left.place, right.place) for left, right in pairs)
        if self._spec.unmatched == "early" or last:
            outer = [applied for applied in rows if applied.side in self._spec.outer_sides]
            yield from (_alone(applied) for applied in outer if applied.place not in partnered)

    def _are_partners(self, left: Applied, right: Applied) -> bool:
        return not has_null_key(left.row) and condition_is_true(self._spec.condition, left.row, right.row)

    def _rows_of(self, emitted: Emitted, op: str) -> list[dict[str, Any]]:
        return [self._row_of(item, op, emitted[item]) for item in sorted(emitted, key=self._order)]

    def _row_of(self, item: Item, op: str, pane: dict[str, Any]) -> dict[str, Any]:
        if item.left is not None and item.right is not None:
            return self._emitted.pair(self._rows[item.left].row, self._rows[item.right].row, op, pane)
        alone = self._the_one(item)
        return self._emitted.alone(alone.side, alone.row, op, pane)

    def _order(self, item: Item) -> tuple[Any, ...]:
        """Returns the place of an item among those of its window (semantics 40.3)."""
        if item.left is not None and item.right is not None:
            earlier, later = sorted((item.left, item.right))
            return 0, *Pair(later=self._rows[later], earlier=self._rows[earlier]).order
        return 1, *self._the_one(item).order

    def _the_one(self, item: Item) -> Applied:
        place = item.right if item.left is None else item.left
        assert place is not None
        return self._rows[place]


def _windows(spec: JoinOperator) -> WindowOperator:
    return window_operator(spec, collect_list(ROW_NUMBER).alias(_NUMBERS))


def _numbered(pane: dict[str, Any], before: list[str]) -> dict[str, Any]:
    """Returns a pane, numbered after the firings with these timings that emitted rows (semantics 37.21)."""
    place = -1 if pane["timing"] == "EARLY" else sum(timing != "EARLY" for timing in before)
    return {**pane, "index": len(before), "nonspeculative_index": place, "is_first": not before}


def _alone(applied: Applied) -> Item:
    return Item(applied.place, None) if applied.side == LEFT else Item(None, applied.place)


def _firings(panes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the panes without the retractions that a new pane of their window follows."""
    for pane, after in pairwise([*panes, None]):
        assert pane is not None
        if pane["op"] == "+" or after is None or after["op"] == "-" or _window(after) != _window(pane):
            yield pane


def _window(pane: dict[str, Any]) -> Identity:
    keys = [repr(value) for name, value in pane.items() if name.startswith(row_key(0)[:-1])]
    return (*keys, pane["window_start"], pane["window_end"])
