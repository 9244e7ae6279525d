"""Processing time and watermarks of an operator and of its keys (semantics 2.1, 6.8, 8.1, 12)."""

import math
from dataclasses import dataclass, replace
from typing import Any

from panewise.chrono import saturating_add
from panewise.errors import InputError
from panewise.oracle.progress.multi_input import InputClocks
from panewise.spec import (
    Entry,
    FixedLag,
    Inputs,
    StreamTime,
    counted,
    counted_by_key,
    has_key_watermarks,
    row_driven,
)

Key = tuple[Any, ...]


@dataclass
class Clock:
    """Processing time and watermark of an operator or a key.

    The watermark is minus infinity while it is None, and plus infinity once `finished` (semantics 12, 12.2).
    Windows that end at the `floor` or before it stay expired (semantics 47.5).
    """

    processing_time: int = 0
    watermark: int | None = None
    finished: bool = False
    floor: int | None = None

    @property
    def extended_watermark(self) -> float | None:
        """The watermark; None before the first one, plus infinity after the end of input."""
        return math.inf if self.finished else self.watermark

    def finish(self) -> None:
        """Ends the input (semantics 12.2)."""
        self.finished = True

    def raise_watermark(self, to: int | None) -> None:
        """Moves the watermark forward; a lower one, or None, changes nothing (semantics 12)."""
        if to is not None:
            self.watermark = to if self.watermark is None else max(self.watermark, to)

    def set_floor(self, to: int | None) -> None:
        """Sets the end up to which windows stay expired (semantics 47.5)."""
        self.floor = to

    def reached(self, instant: int | None) -> bool:
        """Returns whether the watermark has reached the instant; None is reached only at the end of input."""
        if self.finished:
            return True
        return self.watermark is not None and instant is not None and self.watermark >= instant


class Clocks:
    """The clocks of one operator.

    Attributes:
        common: the clocks of the operator, for all keys that have no watermark of their own.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.count()], watermark=FixedLag(3))
    >>> clocks = Clocks(spec)
    >>> clocks.read(20), clocks.of_key(()).watermark
    (None, 17)
    """

    def __init__(self, spec: Entry) -> None:
        self._spec = spec
        self.common = Clock()
        self._inputs = InputClocks(spec.watermark) if isinstance(spec.watermark, Inputs) else None
        self._of_keys: dict[Key, int] = {}
        self._seen: int | None = None  # for StreamTime(per="all"): highest event time in the batch
        self._rows_watermark: int | None = None  # and the watermark of all rows so far
        self._silent_since: int | None = None  # and the last clock reading at which there were valid rows

    def of_key(self, key: Key) -> Clock:
        """Returns the clocks that apply to the rows and windows of a key (semantics 8.1, 12.8)."""
        if not has_key_watermarks(self._spec.watermark) and not counted_by_key(self._spec.window):
            return self.common
        return replace(self.common, watermark=self._of_keys.get(key))

    def read(self, to: int) -> None:
        """Moves processing time, and the watermarks that depend on it (semantics 2.1, 6.8, 12.4, 12.6)."""
        now = self.common.processing_time = max(self.common.processing_time, to)
        if self._spec.time == "processing":
            self.common.raise_watermark(now)
        elif isinstance(self._spec.watermark, FixedLag):
            self.common.raise_watermark(now - self._spec.watermark.lag.us)
        elif self._inputs is not None:
            self.common.raise_watermark(self._inputs.clock(now))
        elif isinstance(self._spec.watermark, StreamTime) and self._spec.watermark.idle_after is not None:
            self._move_while_idle(now, self._spec.watermark.idle_after.us)

    def _move_while_idle(self, now: int, idle_after: int) -> None:
        """Moves the watermark of a silent stream with the clock (semantics 12.12)."""
        if self._silent_since is None:
            self._silent_since = now
        if self._rows_watermark is not None and now - self._silent_since >= idle_after:
            self.common.raise_watermark(saturating_add(self._rows_watermark, now - self._silent_since))

    def report(self, to: int, source: str | None) -> None:
        """Takes a watermark from outside; with several inputs, that of the input `source`.

        Raises:
            InputError: if a watermark from outside has no meaning: with windows of rows, processing time, and
                watermarks driven by rows (semantics 6.8, 8.6, 12.8 to 12.10).
        """
        if counted(self._spec.window):
            rule = "the watermark of windows of rows is the number of rows received (semantics 8.6)"
            raise InputError("a watermark from outside", rule, "add rows")
        if isinstance(self._spec.watermark, StreamTime):
            rule = "with StreamTime rows drive the watermark (semantics 12.8, 12.10)"
            raise InputError("a watermark from outside", rule, "add rows")
        if self._spec.time == "processing":
            rule = "with time='processing' the watermark is processing time (semantics 6.8)"
            raise InputError("a watermark from outside", rule, "move the clock")
        if row_driven(self._spec.watermark) is not None:
            rule = "with Inputs(column=...) rows drive the watermarks of their inputs (semantics 12.9)"
            raise InputError("a watermark from outside", rule, "add rows")
        if self._inputs is None:
            self.common.raise_watermark(to)
            return
        assert source is not None, "one of several inputs"
        self.common.raise_watermark(self._inputs.report(source, to, self.common.processing_time))

    def change(self, spec: Entry) -> None:
        """Continues with the clocks of a specification that has other delays (semantics 47.8)."""
        self._spec = spec
        if self._inputs is not None and isinstance(spec.watermark, Inputs):
            self._inputs.inputs = spec.watermark

    def raise_key_watermarks(self, latest: dict[Key, int]) -> set[Key]:
        """Moves, after a batch, the watermarks of single keys; returns the keys whose watermark has moved.

        `latest` has the highest event time or row number of each key in the batch (semantics 8.1, 12.8).
        """
        if counted_by_key(self._spec.window):
            self._of_keys |= {key: number + 1 for key, number in latest.items()}
            return set(latest)
        if not isinstance(self._spec.watermark, StreamTime) or self._spec.watermark.per == "all":
            return set()
        reached = {key: saturating_add(time, -self._spec.watermark.delay.us) for key, time in latest.items()}
        further = {
            key: watermark
            for key, watermark in reached.items()
            if key not in self._of_keys or watermark > self._of_keys[key]
        }
        self._of_keys |= further
        return set(further)

    def record_time(self, values: dict[str, Any], time: int) -> None:
        """Records the event time of a valid row, if rows drive the watermark (semantics 12.9, 12.10)."""
        if isinstance(self._spec.watermark, StreamTime) and self._spec.watermark.per == "all":
            self._seen = time if self._seen is None else max(time, self._seen)
        inputs = row_driven(self._spec.watermark)
        if inputs is not None and self._inputs is not None:
            self._inputs.record_time(values[str(inputs.column)], time)

    def report_seen(self) -> bool:
        """Moves the watermark that rows drive, after a batch (semantics 12.9, 12.10).

        Returns whether a valid row of the batch reported, so that an evaluation is due.
        """
        if isinstance(self._spec.watermark, StreamTime) and self._seen is not None:
            watermark = saturating_add(self._seen, -self._spec.watermark.delay.us)
            self._rows_watermark = (
                watermark if self._rows_watermark is None else max(watermark, self._rows_watermark)
            )
            self.common.raise_watermark(watermark)
            self._seen = None
            if self._silent_since is not None:
                self._silent_since = self.common.processing_time
            return True
        if self._inputs is None or not self._inputs.seen:
            return False
        self.common.raise_watermark(self._inputs.report_seen(self.common.processing_time))
        return True
