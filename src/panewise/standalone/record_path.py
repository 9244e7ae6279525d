"""Messages whose early panes are computed without a step of the engine (semantics 31.31).

Without a buffer each message is a batch of its own. An operator that emits early panes could evaluate each of
them only by a step of the engine, which takes some milliseconds. Here a message updates its windows as Python
objects (:mod:`panewise.engine.windows.records`), which move into the state of the operator before anything
else happens.

A message takes this path if:

- the operator is one that :func:`panewise.engine.windows.records.supports`, and nothing but windows and given
  watermarks decides what becomes of its rows;
- every value of the message fits its column, and those that the operator reads have the plain Python type;
- none of its windows is complete.

Readings of the clock, and watermarks that complete no window, also take it.
"""

from typing import Any, Self

from panewise.engine.family_parts import WindowsInPython, engine_parts
from panewise.engine.protocol import Schemas
from panewise.spec import Specification
from panewise.standalone.buffer import highest
from panewise.standalone.deferrable import WindowEnds, ends_by_message, has_no_other_rules
from panewise.standalone.direct_path import DirectPath
from panewise.standalone.emission import PaneColumns
from panewise.standalone.hosts import Host
from panewise.standalone.message_fit import MessageFit


class RecordPath(DirectPath):
    """The messages of an operator that are added without a step of the engine."""

    enabled = True

    def __init__(self, schemas: Schemas, host: Host, windows: WindowsInPython, ends: WindowEnds) -> None:
        ((port, schema), *_), plan, spec = schemas.items(), host.operator.plan, windows.spec
        super().__init__({port: PaneColumns(plan.pane_schema, plan.ports[port])})
        self._host, self._windows, self._ends = host, windows, ends
        read = {*spec.keys, *(measure.column for measure in spec.measures if measure.column is not None)}
        self._fit = MessageFit(spec, schema, exact=read)
        self._has_changed = False

    @classmethod
    def for_operator(cls, spec: Specification, schemas: Schemas, host: Host) -> Self | None:
        """Returns the path of an operator, None if its messages cannot take it."""
        windows = engine_parts(spec).record_windows(host.operator.plan)
        if windows is None or windows.spec.watermark is not None or not has_no_other_rules(windows.spec):
            return None
        ends = ends_by_message(windows.spec, next(iter(schemas.values())))
        return None if ends is None else cls(schemas, host, windows, ends)

    def add(self, message: Any, port: str) -> list[tuple[Any, ...]] | None:
        """Adds a message. Returns its panes; None if the engine must evaluate it."""
        if type(message) is not dict:
            return None
        time = self._fit.time_of(message)
        if time is None or not self._fit.fits(message):
            return None
        clocks = self._host.operator.state.clocks
        watermark = highest(clocks.instant_watermark, self.watermark)
        if clocks.finished or (watermark is not None and not self._ends.all_open(time, watermark)):
            return None
        now = highest(clocks.processing_time, self.clock) or 0
        self._host.next_due()  # before the windows of the state change here
        panes = self._windows.add(self._host.operator.state, time, message, now)
        self._has_changed |= panes is not None
        return panes

    def move_clocks(
        self, clock: int | None, watermark: int | None, source: str | None
    ) -> list[tuple[Any, ...]] | None:
        """Moves the clocks if that emits nothing, and returns no panes. Otherwise it returns None."""
        if self._host.operator.state.clocks.finished:
            return None
        if watermark is not None and watermark >= min(self._windows.first_end, self._host.next_due()):
            return None
        self.clock, self.watermark = highest(self.clock, clock), highest(self.watermark, watermark)
        self._has_changed = True
        return []

    def flush(self) -> None:
        """Moves what has changed into the state of the operator."""
        if not self._has_changed:
            return
        self._windows.flush(self._host.operator, self.clock, self.watermark)
        self.clock = self.watermark = None
        self._has_changed = False

    def note_stored(self) -> None:
        """Notes that since the last flush the state was stored."""
        self.note_advanced(None)

    def note_advanced(self, watermark: int | None) -> None:
        """Notes that since the last flush only the clocks have moved."""
        self._windows.follow(self._host.operator.state, watermark)
