"""The steps of a message through S1's window operators, in S1's order (semantics 26.5).

The message is checked for retention and replay. Then its windows are opened, it is added to them, and the
update policies let windows emit.

Invariant: a message that raises an error is not applied. What could raise because of the message, such as the
function of a user, is tried before the first change. Then the message is stored. If emitting raises, as for a
sum that does not fit its type, the message has been applied, and the windows that have not emitted are due
again in the next step.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

from panewise.standalone.retained.base import WindowState
from panewise.standalone.retained.codec import to_json
from panewise.standalone.retained.grids import Placement
from panewise.standalone.retained.outputs import Classified, Firing, RejectedMessage, WindowOutput
from panewise.standalone.retained.window import Arrival, Message, Window


class WindowSteps(WindowState):
    """What happens to windows when a message is added, or the clock moves."""

    def _added(self, message: Any, offset: int) -> Classified:
        """Takes a message through the steps of S1, except the delivery of outputs."""
        progress = self._progress
        checked = self._rows.check(message, progress.clock)
        if isinstance(checked, str):
            return self._rejected(message, offset, "invalid", checked)
        row, time = checked
        if not self._grid.in_range(time):
            return self._rejected(message, offset, "invalid", "window out of range")
        repeated = progress.mark is not None and offset <= progress.mark
        if repeated and progress.restore_until is not None and offset <= progress.restore_until:
            return self._restore(row, time, offset)
        arrival = Arrival(row, offset, time, progress.received, self._keys.session_key(row))
        floor = self._retention.floor_at(progress.watermark)
        if self._grid.is_out(self._windows, arrival, floor):
            return self._rejected(message, offset, "out_of_retention", "out of retention")
        if repeated:
            progress.count("replays")
            return "replay"
        return self._applied(arrival, floor)

    def _applied(self, arrival: Arrival, floor: int) -> Classified:
        """Opens windows, adds a message to its windows, and lets windows emit."""
        self._try(arrival, floor)
        self._store(arrival)
        kind, before = self._classified(arrival), self._window_progress()
        placement = self._grid.place(self._windows, arrival, floor)
        self._progress.apply(arrival.offset, arrival.time)
        self._follow(placement, before)
        for window in self._include(placement.windows, arrival):
            self._updates.pending(window, self._progress.clock)
        for window in placement.windows:
            self._windows.touch(window)
        self._update(placement.windows)
        opens_tuple = bool(placement.opened) and not self._settings.by_time
        return "future" if opens_tuple and arrival.number else kind

    def _follow(self, placement: Placement, before: int) -> None:
        """Retracts merged sessions, and puts windows with new bounds into the queues.

        Args:
            placement: the windows of the message.
            before: the progress before the message was applied.
        """
        for window in placement.merged:
            self._emit(self._retraction(window))
        for window in placement.opened:
            self._updates.opened(window, before)
            self._retention.add(window)
        for window in placement.grown:
            self._updates.grown(window, before)
            self._retention.add(window)
        self._flush_due = self._flush_due or bool(placement.opened)

    def _update(self, touched: Iterable[Window] = ()) -> None:
        """Lets the windows emit whose policy says so, then removes those that have expired.

        If one of them raises an error, those that have not emitted are due again in the next step.
        """
        progress = self._progress
        due = deque(self._updates.due(touched, self._window_progress(), progress.clock))
        try:
            while due:
                self._fire(*due[0])
                due.popleft()
            if not self.restoring:  # otherwise a window may still have to correct what it emitted
                for window in self._retention.expired(self._windows, progress.watermark, progress.received):
                    self._purge(window)
        except BaseException:
            self._due_again(due)
            raise
        progress.floor = self._retention.floor

    def _due_again(self, due: Iterable[tuple[Window, Firing]]) -> None:
        """Puts all windows back into the queues. Those that were due as full are not full again.

        So they become full in the next step, and emit as full.
        """
        for window, firing in due:
            window.full = window.full and firing != "full"
        for window in self._windows:
            self._updates.add(window)
            self._retention.add(window)

    def _purge(self, window: Window) -> None:
        """Removes a window. What it has not emitted yet is emitted before."""
        if window.pending_since is not None:
            self._fire(window, "late" if window.full else "early")
        self._remove(window)
        self._flush_due = True
        self._retire(window)

    def _remove(self, window: Window) -> None:
        self._windows.remove(window)
        self._retention.removed(window, self._windows)
        self._end_restore_without_windows()

    def _retire(self, window: Window) -> None:
        """Retires the messages that no window in retention contains, after a window was removed."""
        if self._retirements is None:
            return
        if window.session_key is None:
            self._retire_to_first()
            return
        end = window.last_time + 1 if self._settings.by_time else window.last_offset
        mark = self._progress.mark
        assert mark is not None  # as a message has opened the window
        # A message that is restored later belongs to the windows in retention, so none waits for it.
        left = 0 if self.restoring else self._windows.count(window.session_key)
        self._retirements.add_session(end, window.session_key, mark, left=left)

    def _fire(self, window: Window, firing: Firing) -> None:
        output = self._output(window, firing)
        window.pending_since = None
        self._windows.touch(window)
        window.incomplete = window.incomplete or self.restoring
        self._emit(output)

    def _emit(self, output: WindowOutput | None) -> None:
        if output is not None:
            self._progress.sequence = output.sequence
            self._outbox.outputs.append(output)
            self._flush_due = True

    def _store(self, arrival: Arrival) -> None:
        if self._messages is not None:
            self._messages.add(
                to_json(arrival.message, self._schema),
                offset=arrival.offset,
                time=arrival.time,
                session_key=arrival.session_key,
                join_keys=self._keys.join_keys(arrival.message),
            )

    def _rejected(self, message: Any, offset: int, kind: Classified, reason: str) -> Classified:
        self._progress.count("invalid" if kind == "invalid" else "late")
        self._outbox.rejected.append(RejectedMessage(message, offset, reason))
        return kind

    def _classified(self, arrival: Arrival) -> Classified:
        """Returns where a message lies relative to the current window, before the message is placed."""
        if not self._settings.by_time:
            return "in_time"
        current = next(self._windows.backward(arrival.session_key), None)
        if current is None or current.start <= arrival.time < current.end:
            return "in_time"
        return "past" if arrival.time < current.start else "future"

    def _restore(self, message: Message, time: int, offset: int) -> Classified:
        """Puts a message back into the message store, and lets windows emit corrected results.

        The message has been applied before, so neither the mark nor the bounds of windows change.
        """
        progress = self._progress
        arrival = Arrival(message, offset, time, 0, self._keys.session_key(message))
        containing = self._containing(arrival)
        if containing:
            self._store(arrival)
        progress.count("replays")
        affected = self._corrected(containing, arrival)
        if offset == progress.restore_until:
            progress.restore_until = None
        for window in affected:
            self._updates.pending(window, progress.clock)
        self._update(affected)
        return "restored"
