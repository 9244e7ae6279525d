"""The interpreter of deduplications (semantics 45). It takes one row at a time."""

from dataclasses import dataclass
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.errors import SpecError
from panewise.oracle.progress.clocks import Key
from panewise.oracle.row_interpreter import RowInterpreter
from panewise.oracle.rows import Row, place_of_stored, stored_window
from panewise.spec import DeduplicateOperator


@dataclass
class _PlacedRow:
    """A row that was in time, with its place among all of these (semantics 45.5)."""

    row: Row
    number: int


@dataclass
class _Group:
    """A group (semantics 45.2).

    Attributes:
        anchor: the event time of the row that opened it.
        chosen: the row that is chosen so far.
        emitted: the row that was last emitted and not retracted, if there is one.
    """

    key: Key
    anchor: int
    chosen: _PlacedRow
    emitted: _PlacedRow | None = None


class DeduplicateInterpreter(RowInterpreter):
    """Interprets one deduplication; each method takes one event and returns the output after it.

    The emitted rows take the place of panes.

    >>> oracle = DeduplicateInterpreter(DeduplicateOperator(keys=["id"], within=10))
    >>> output = oracle.add([{"event_time": t, "id": "a"} for t in (0, 9, 10)])
    >>> [row["event_time"] for row in output["panes"]]
    [0, 10]

    Source: semantics 45.
    """

    _spec: DeduplicateOperator

    def __init__(self, spec: DeduplicateOperator, types: dict[str, str] | None = None) -> None:
        super().__init__(spec, types)
        self._arrived = 0
        self._waiting: list[_PlacedRow] = []
        self._groups: list[_Group] = []  # in the order in which they were opened

    def _check_names(self, rows: list[dict[str, Any]]) -> None:
        if self._spec.emit == "retracting" and any("op" in row for row in rows):
            rule = "the column op marks retractions, so no input column has this name"
            raise SpecError("'op' twice", rule, "rename the column of the input")

    def _take(self, row: Row) -> None:
        self._arrived += 1
        self._waiting.append(_PlacedRow(row, self._arrived))

    def windows(self) -> list[dict[str, Any]]:
        """Returns the waiting rows and the groups that are stored (semantics 45.14)."""
        rows = [(placed.row.key, placed.row.time, placed.row.time + 1, 1) for placed in self._waiting]
        complete = self._spec.emit == "complete"
        groups = [
            (group.key, group.anchor, self._end(group), int(complete and group.emitted is None))
            for group in self._groups
        ]
        keys, timed = self._spec.keys, self._spec.event_time is not None
        windows = [
            stored_window(dict(zip(keys, key, strict=True)), start, end, timed=timed, pending=pending)
            for key, start, end, pending in [*rows, *groups]
        ]
        return sorted(windows, key=lambda window: place_of_stored(window, keys))

    # Rows out

    def _emit(self) -> list[dict[str, Any]]:
        """Takes the rows that can be taken, and returns the rows to emit."""
        ready = [placed for placed in self._waiting if self._is_ready(placed)]
        self._waiting = [placed for placed in self._waiting if not self._is_ready(placed)]
        if self._spec.waits:
            ready.sort(key=lambda placed: (placed.row.time, placed.number))
        for placed in ready:
            self._group(placed)
        match self._spec.emit:
            case "at_once":
                emitted = self._not_yet_emitted(self._groups)
            case "retracting":
                emitted = self._replaced()
            case _:
                emitted = self._not_yet_emitted([group for group in self._groups if self._is_known(group)])
        self._groups = [group for group in self._groups if not self._reached(self._end(group))]
        return emitted

    def _is_ready(self, placed: _PlacedRow) -> bool:
        return not self._spec.waits or self._reached(placed.row.time + 1)

    def _reached(self, instant: int | None) -> bool:
        if instant is not None and instant > MAX_INSTANT:
            instant = MAX_INSTANT
        return self.now.reached(instant)

    def _end(self, group: _Group) -> int | None:
        """Returns the instant at which a group is complete; None if only the end of input completes it."""
        us = self._spec.within_us
        return None if us is None else group.anchor + us

    def _group(self, placed: _PlacedRow) -> None:
        """Lets a row join a group, or open one (semantics 45.2)."""
        near = [
            group
            for group in self._groups
            if group.key == placed.row.key
            and (self._spec.within_us is None or abs(placed.row.time - group.anchor) < self._spec.within_us)
        ]
        if not near:
            self._groups.append(_Group(placed.row.key, placed.row.time, placed))
            return
        group = min(near, key=lambda group: group.anchor)
        if self._is_better(placed, group.chosen):
            group.chosen = placed

    def _is_better(self, placed: _PlacedRow, other: _PlacedRow) -> bool:
        """Returns whether a row is chosen in the place of another one (semantics 45.5)."""
        mine, others = (
            (each.row.time if self._spec.by == "event_time" else 0, each.number) for each in (placed, other)
        )
        return mine < others if self._spec.keep == "first" else mine > others

    def _is_known(self, group: _Group) -> bool:
        """Returns whether no other row can be chosen (semantics 45.7)."""
        first = self._spec.waits and self._spec.keep == "first" and self._spec.by == "event_time"
        return first or self._reached(self._end(group))

    def _not_yet_emitted(self, groups: list[_Group]) -> list[dict[str, Any]]:
        new = [group for group in groups if group.emitted is None]
        for group in new:
            group.emitted = group.chosen
        return [placed.row.values for placed in sorted((group.chosen for group in new), key=self._order)]

    def _order(self, placed: _PlacedRow) -> tuple[int, int]:
        """Returns the place of an emitted row (semantics 45.10)."""
        return (placed.row.time if self._spec.waits else 0, placed.number)

    def _replaced(self) -> list[dict[str, Any]]:
        """Returns the newly chosen rows, each after the retraction of the row that it replaces."""
        emitted = []
        changed = [group for group in self._groups if group.emitted is not group.chosen]
        for group in sorted(changed, key=lambda group: group.chosen.number):
            if group.emitted is not None:
                emitted.append({**group.emitted.row.values, "op": "-"})
            emitted.append({**group.chosen.row.values, "op": "+"})
            group.emitted = group.chosen
        return emitted
