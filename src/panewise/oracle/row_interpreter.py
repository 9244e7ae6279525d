"""What the interpreters of OVER and deduplication have in common (semantics 29.3, 29.11, 45.11)."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.oracle.columns import checked_types
from panewise.oracle.outputs import Output, empty_output, rows_after_finish
from panewise.oracle.progress.clocks import Clock, Clocks
from panewise.oracle.received_offsets import ReceivedOffsets
from panewise.oracle.rows import Row, arrival_order, invalid_reason, read_row


class RowInterpreter(ABC):
    """Validates and counts rows, finds those that are in time, and moves the clocks.

    Each method takes one event and returns the output after it. The emitted rows take the place of panes.

    Args:
        spec: the specification of the operator.
        types: types of columns, as for :class:`panewise.oracle.Interpreter`.
    """

    _spec: Any

    def __init__(self, spec: Any, types: dict[str, str] | None = None) -> None:
        self._spec, self._types = spec, checked_types(types)
        self._clocks = Clocks(spec)
        self._positions = ReceivedOffsets()

    @abstractmethod
    def _check_names(self, rows: list[dict[str, Any]]) -> None:
        """Refuses input columns that have the name of a column that the operator adds."""

    @abstractmethod
    def _take(self, row: Row) -> None:
        """Takes a row that is in time."""

    @abstractmethod
    def _emit(self) -> list[dict[str, Any]]:
        """Returns the rows that an evaluation emits."""

    @abstractmethod
    def windows(self) -> list[dict[str, Any]]:
        """Returns what is stored, in the order of (end, start, keys)."""

    def progress(self) -> dict[str, Any]:
        """Returns the clocks, and what :meth:`windows` returns."""
        now = self.now
        return {
            "processing_time": now.processing_time,
            "watermark": now.extended_watermark,
            "windows": self.windows(),
        }

    def change(self, spec: Any) -> Output:
        """Continues with another specification of the input, or other names (semantics 47)."""
        self._spec = spec
        self._clocks.change(spec)
        return empty_output()

    def add(self, rows: Iterable[dict[str, Any]]) -> Output:
        """Adds a batch.

        Raises:
            InputError: after finish.
            SpecError: if an input column has the name of a column that the operator adds.
        """
        output, added = empty_output(), list(rows)
        self._check_names(added)
        for row in self._in_time(added, output):
            self._take(row)
        output["panes"] = self._emit()
        if self._clocks.report_seen():
            output["panes"] += self._emit()
        return output

    def watermark(self, to: int, source: str | None = None) -> Output:
        """Moves the watermark; with several inputs, that of the input `source`."""
        self._clocks.report(to, source)
        return empty_output() | {"panes": self._emit()}

    def clock(self, to: int) -> Output:
        """Moves the processing time."""
        self._clocks.read(to)
        return empty_output() | {"panes": self._emit()}

    def finish(self) -> Output:
        """Ends the input, so that all rows that wait are taken and emitted."""
        self.now.finish()
        return empty_output() | {"panes": self._emit()}

    @property
    def now(self) -> Clock:
        """The clocks of the operator."""
        return self._clocks.common

    def _in_time(self, rows: list[dict[str, Any]], output: Output) -> Iterator[Row]:
        """Yields the rows of a batch that are applied, in arrival order. Counts all rows in the output."""
        if self.now.finished:
            raise rows_after_finish()
        for added in arrival_order(self._spec, self._types, rows):
            row = self._applied(added, output)
            if row is not None:
                yield row

    def _applied(self, added: dict[str, Any], output: Output) -> Row | None:
        """Validates and counts a row; returns it if it is applied, None otherwise."""
        counts = output["counts"]
        counts["rows_in"] += 1
        reason = invalid_reason(self._spec, self._types, added, self.now.processing_time)
        if reason is not None:
            output["invalid"].append({"row": dict(added), "reason": reason})
            counts["invalid"] += 1
            return None
        row = read_row(self._spec, self._types, added, self.now.processing_time)
        self._clocks.record_time(row.values, row.time)
        if self._positions.is_replay(self._spec.position, row.values):
            counts["replays"] += 1
            return None
        watermark = self.now.watermark
        if self._spec.event_time is not None and watermark is not None and row.time < watermark:
            late_by = min(watermark - row.time, MAX_INSTANT)
            entry = {"row": dict(added), "reason": "behind", "windows": [], "late_by": late_by}
            output["late"].append(entry | {"partial": False})
            counts["late"] += 1
            return None
        counts["applied"] += 1
        return row
