"""Which messages and readings of clocks may wait, although each is a step of its own.

A step of the engine takes some milliseconds. But most messages, and most readings of a clock, emit nothing.
If they are evaluated later, together with others of their kind, every output is the same, provided that:

- the operator is one of :mod:`panewise.standalone.deferrable`;
- every value of a message fits its column, and no window of the message is complete;
- a watermark, given or moved by a message, completes no window: neither one of the state nor one of a message
  that waits.

What waits has emitted nothing. So it is evaluated before a step that may emit, and when the state or the
counts are read. To decide costs a test of each value, and a look at the state once for each evaluation.
"""

from typing import Any

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.engine.protocol import Schemas
from panewise.spec import Specification
from panewise.standalone.buffer import Buffer, highest
from panewise.standalone.deferrable import WindowEnds, delay_of, ends_of, ignores_clock, is_deferrable
from panewise.standalone.hosts import Host
from panewise.standalone.message_fit import MessageFit


class Deferral:
    """Decides which messages and readings of clocks may wait."""

    def __init__(
        self, spec: Specification, schemas: Schemas, host: Host, buffer: Buffer, *, enabled: bool
    ) -> None:
        schema = next(iter(schemas.values()))
        self._host, self._buffer = host, buffer
        self._ends: WindowEnds | None = None
        if not enabled or not is_deferrable(spec):
            return
        self._ends = ends_of(spec, schema)
        if self._ends is None:
            return
        self._fit = MessageFit(spec, schema)
        self._ignores_clock, self._delay = ignores_clock(spec), delay_of(spec)
        self._first_end = MAX_INSTANT  # the first end of the windows of the messages that wait

    @property
    def enabled(self) -> bool:
        """Whether messages of this operator may wait."""
        return self._ends is not None

    def takes(self, message: Any) -> bool:
        """Returns whether a message may wait. The caller then adds it to those that wait.

        Values that are no dicts may not.
        """
        if self._ends is None or type(message) is not dict:
            return False
        time = self._fit.time_of(message)
        if time is None or not self._fit.fits(message) or not self._is_open(time):
            return False
        end = self._ends.first(time)
        first_end = min(end, self._first_end) if self._buffer.size else end
        if self._delay is not None:
            watermark = saturating_add(time, -self._delay)
            if watermark >= min(first_end, self._host.next_due()):
                return False
            self._buffer.raise_watermark(watermark)
        self._first_end = first_end
        return True

    def defer_reading(self, clock: int | None, watermark: int | None) -> bool:
        """Adds a reading of the clocks to what waits, if it may wait. Returns whether it does."""
        if self._ends is None or self._host.operator.state.clocks.finished:
            return False
        if clock is not None and not self._ignores_clock:
            return False
        watermark = watermark if self._delay is None else None  # else rows move it, and this has no meaning
        first_end = self._first_end if self._buffer.size else MAX_INSTANT
        if watermark is not None and watermark >= min(first_end, self._host.next_due()):
            return False
        self._buffer.add_reading(clock, watermark)
        return True

    def _is_open(self, time: int) -> bool:
        """Returns whether no window of a row is complete."""
        assert self._ends is not None
        clocks = self._host.operator.state.clocks
        if clocks.finished:
            return False
        watermark = highest(clocks.instant_watermark, self._buffer.watermark)
        return watermark is None or self._ends.all_open(time, watermark)
