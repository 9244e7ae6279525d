"""The input of operators that emit input rows: OVER and deduplication (semantics 29.3, 29.11, 45.11)."""

from collections.abc import Iterable, Iterator
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.errors import InputError
from panewise.oracle.columns import check_type
from panewise.oracle.outputs import Output
from panewise.oracle.progress.clock import Clock
from panewise.oracle.progress.clocks import Clocks
from panewise.oracle.replays import ReceivedOffsets
from panewise.oracle.rows import Row, arrival_order, invalid_reason, read


class RowInput:
    """Validates and counts rows, and finds those that are in time.

    Attributes:
        types: the types of columns that are known.
        clocks: the clocks of the operator.
    """

    def __init__(self, spec: Any, types: dict[str, str] | None) -> None:
        self.types = dict(types or {})
        for column, kind in self.types.items():
            check_type(column, kind)
        self._spec = spec
        self.clocks = Clocks(spec)
        self._positions = ReceivedOffsets()

    @property
    def now(self) -> Clock:
        """The clocks of the operator."""
        return self.clocks.common

    def in_time(self, rows: Iterable[dict[str, Any]], output: Output) -> Iterator[Row]:
        """Yields the rows of a batch that are applied, in arrival order. All rows are counted in the output.

        Raises:
            InputError: after the end of input.
        """
        if self.now.finished:
            raise InputError(
                "rows after finish", "nothing is added after the end of input", "add the rows before finish"
            )
        for given in arrival_order(self._spec, self.types, list(rows)):
            row = self._applied(given, output)
            if row is not None:
                yield row

    def _applied(self, given: dict[str, Any], output: Output) -> Row | None:
        """Validates and counts a row; returns it if it is applied, None otherwise."""
        counts = output["counts"]
        counts["rows_in"] += 1
        reason = invalid_reason(self._spec, self.types, given, self.now.processing_time)
        if reason is not None:
            output["invalid"].append({"row": dict(given), "reason": reason})
            counts["invalid"] += 1
            return None
        row = read(self._spec, self.types, given, self.now.processing_time)
        self.clocks.record_time(row.values, row.time)
        if self._positions.is_replay(self._spec.position, row.values):
            counts["replays"] += 1
            return None
        watermark = self.now.watermark
        if self._spec.event_time is not None and watermark is not None and row.time < watermark:
            late_by = min(watermark - row.time, MAX_INSTANT)
            entry = {"row": dict(given), "reason": "behind", "windows": [], "late_by": late_by}
            output["late"].append(entry | {"partial": False})
            counts["late"] += 1
            return None
        counts["applied"] += 1
        return row
