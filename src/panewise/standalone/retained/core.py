"""Retained windows behind their front: the steps of a message in S1's order (semantics 26.5), and flushes.

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

from panewise.chrono import MIN_INSTANT
from panewise.errors import InputError
from panewise.standalone.core import Core
from panewise.standalone.delivery import Delivery
from panewise.standalone.emission import RejectedMessage
from panewise.standalone.retained.content import Content
from panewise.standalone.retained.grids import Placement
from panewise.standalone.retained.outputs import Classified, Firing, WindowOutput
from panewise.standalone.retained.progress import Progress
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.state import RetainedState
from panewise.standalone.retained.window import Arrival, Message, RetainedWindow
from panewise.stores.keys import KeyValue


class WindowCore(Core):
    """The windows of an operator, and what happens to them when a message is added, or the clock moves.

    Attributes:
        flush_due: whether a flush follows the delivery of the outputs that wait.
    """

    def __init__(self, state: RetainedState, content: Content, delivery: Delivery[WindowOutput]) -> None:
        self.state, self._content, self._delivery = state, content, delivery
        self.flush_due = False
        self._begin()

    def _begin(self) -> None:
        self.state.begin()
        self._content.loaded(self.state.windows)

    @property
    def is_durable(self) -> bool:
        """Whether a flush survives the process."""
        return not self.state.in_memory

    @property
    def clock(self) -> int:
        """The last reading of processing time."""
        return self.state.progress.clock

    def add(self, message: Any, offset: int, now: int | None) -> Classified:
        """Adds a message, and delivers what it emits."""
        self.state.progress.read_clock(now)
        kind = self._added(message, offset)
        self.settle()
        return kind

    def _added(self, message: Any, offset: int) -> Classified:
        """Takes a message through the steps of S1, except the delivery of outputs."""
        state, progress = self.state, self.state.progress
        checked = state.validator.check(message, progress.clock)
        if isinstance(checked, str):
            return self._rejected(message, offset, "invalid", checked)
        row, time = checked
        if not state.grid.in_range(time):
            return self._rejected(message, offset, "invalid", "window out of range")
        repeated = progress.mark is not None and offset <= progress.mark
        if repeated and progress.restore_until is not None and offset <= progress.restore_until:
            return self._restore(row, time, offset)
        arrival = Arrival(row, offset, time, progress.received, state.keys.session_key(row))
        floor = state.retention.expired_until
        if state.grid.is_out(state.windows, arrival, floor):
            return self._rejected(message, offset, "out_of_retention", "out of retention")
        if repeated:
            progress.count("replays")
            return "replay"
        return self._applied(arrival, floor)

    def _applied(self, arrival: Arrival, floor: int) -> Classified:
        """Opens windows, adds a message to its windows, and lets windows emit."""
        state = self.state
        self._content.attempt(arrival, floor)
        state.store(arrival)
        kind, before = self._classified(arrival), state.window_progress()
        placement = state.grid.place(state.windows, arrival, floor)
        state.progress.apply(arrival.offset, arrival.time)
        self._follow(placement, before)
        for window in self._content.include(placement.windows, arrival):
            state.updates.pending(window, state.progress.clock)
        for window in placement.windows:
            state.windows.mark_changed(window)
        self._update(placement.windows)
        opens_tuple = bool(placement.opened) and not state.settings.by_time
        return "future" if opens_tuple and arrival.number else kind

    def _follow(self, placement: Placement, before: int) -> None:
        """Retracts merged sessions, and puts windows with new bounds into the queues."""
        state = self.state
        for window in placement.merged:
            self._emit(self._content.retraction(window))
        for window in placement.opened:
            state.updates.opened(window, before)
            state.retention.add(window)
        for window in placement.grown:
            state.updates.grown(window, before)
            state.retention.add(window)
        self.flush_due = self.flush_due or bool(placement.opened)

    def _update(self, touched: Iterable[RetainedWindow] = ()) -> None:
        """Lets the windows emit whose update policy says so, then removes those that have expired.

        If one of them raises an error, those that have not emitted are due again in the next step.
        """
        state, progress = self.state, self.state.progress
        due = deque(state.updates.due(touched, state.window_progress(), progress.clock))
        try:
            while due:
                self._fire(*due[0])
                due.popleft()
            if not state.restoring:  # otherwise a window may still have to correct what it emitted
                for window in state.retention.expired():
                    self._purge(window)
        except BaseException:
            self._due_again(due)
            raise

    def _due_again(self, due: Iterable[tuple[RetainedWindow, Firing]]) -> None:
        """Puts all windows back into the queues. Those that were due as full are not full again.

        So they become full in the next step, and emit as full.
        """
        state = self.state
        for window, firing in due:
            if firing == "full":
                window.reset_full()
        for window in state.windows:
            state.enqueue(window)

    def _purge(self, window: RetainedWindow) -> None:
        """Removes a window. What it has not emitted yet is emitted before."""
        if window.pending_since is not None:
            self._fire(window, "late" if window.full else "early")
        self.state.remove(window)
        self.flush_due = True
        self._retire_messages(window)

    def remove_full(self, end: int, session_key: KeyValue | None) -> int:
        """Removes the full windows that end at or before a time or an offset. Returns how many."""
        state, by_time = self.state, self.state.settings.by_time
        full = [
            window
            for window in state.windows.of_session_key(session_key)
            if window.full and (window.end if by_time else window.last_offset) <= end
        ]
        if by_time and state.settings.session_key is None:
            state.progress.raise_floor(window.end for window in full)
        for window in full:
            self._purge(window)
        self.settle()
        return len(full)

    def retire_fields(self, end: int, session_key: KeyValue | None, join_keys: tuple[Any, ...]) -> int:
        """Retires the applied messages with these equal fields. Returns how many of them could be read."""
        state, mark = self.state, self.state.progress.mark
        _check_prefix(state.settings, session_key, join_keys)
        if mark is None:
            return 0

        def readable() -> int:
            return sum(1 for _ in state.stored_messages(MIN_INSTANT, end, session_key, join_keys))

        before = readable()
        assert state.retirements is not None  # as there is a message store
        state.retirements.add_fields(end, session_key, join_keys, mark)
        return before - readable()

    def _retire_messages(self, window: RetainedWindow) -> None:
        """Retires the messages that no window in retention contains, after a window was removed."""
        state = self.state
        if state.retirements is None:
            return
        if window.session_key is None:
            state.retire_unreachable()
            return
        end = window.last_time + 1 if state.settings.by_time else window.last_offset
        mark = state.progress.mark
        assert mark is not None  # as a message has opened the window
        # A message that is restored later belongs to the windows in retention, so none waits for it.
        left = 0 if state.restoring else state.windows.count(window.session_key)
        state.retirements.add_session(end, window.session_key, mark, left=left)

    def _fire(self, window: RetainedWindow, firing: Firing) -> None:
        output = self._content.output(window, firing)
        window.note_emission(incomplete=self.state.restoring)
        self.state.windows.mark_changed(window)
        self._emit(output)

    def _emit(self, output: WindowOutput | None) -> None:
        if output is not None:
            self.state.progress.note_output(output.sequence)
            self._delivery.outputs.append(output)
            self.flush_due = True

    def _rejected(self, message: Any, offset: int, kind: Classified, reason: str) -> Classified:
        self.state.progress.count("invalid" if kind == "invalid" else "late")
        self._delivery.rejected.append(RejectedMessage(message, offset, reason))
        return kind

    def _classified(self, arrival: Arrival) -> Classified:
        """Returns where a message lies relative to the current window, before the message is placed."""
        if not self.state.settings.by_time:
            return "in_time"
        current = next(self.state.windows.backward(arrival.session_key), None)
        if current is None or current.start <= arrival.time < current.end:
            return "in_time"
        return "past" if arrival.time < current.start else "future"

    def _restore(self, message: Message, time: int, offset: int) -> Classified:
        """Puts a message back into the message store, and lets windows emit corrected results.

        The message has been applied before, so neither the mark nor the bounds of windows change.
        """
        state, progress = self.state, self.state.progress
        arrival = Arrival(message, offset, time, 0, state.keys.session_key(message))
        containing = state.containing(arrival)
        if containing:
            state.store(arrival)
        progress.count("replays")
        affected = self._content.corrected(containing, arrival)
        if offset == progress.restore_until:
            progress.end_restore()
        for window in affected:
            state.updates.pending(window, progress.clock)
        self._update(affected)
        return "restored"

    def timeout(self, now: int | None) -> None:
        """Reads the clock, and lets windows emit."""
        self.state.progress.read_clock(now)
        self._update()
        self.settle()

    def drain(self) -> None:
        """Delivers what waits."""
        self.settle()

    def settle(self) -> None:
        """Delivers outputs. It flushes if one was delivered, or a window was opened or removed."""
        state = self.state
        if state.windows.removed:
            state.files.forget(state.windows.removed)
        if self._delivery.deliver() and self._delivery.automatic:
            self.commit_due()

    def commit_due(self) -> None:
        """Flushes if that is due and no output waits."""
        if self.flush_due and not self._delivery.outputs:
            self.commit()

    def commit(self) -> None:
        """Makes messages, metadata and the position durable."""
        state, messages, retirements = self.state, self.state.messages, self.state.retirements
        changed = list(state.windows.changed.values())
        self._content.fold(changed)
        retired = {} if retirements is None else retirements.changes()
        state.files.flush(changed, state.windows.removed, state.progress.to_json(), retired)
        if messages is not None and retirements is not None and retirements.apply():
            messages.commit()
        state.windows.note_flush()
        self.flush_due = False

    def save(self, name: str) -> None:
        """Saves the state under a name, with the changes that have not been flushed."""
        self._delivery.check_enabled()
        state, windows = self.state, list(self.state.windows)
        self._content.fold(windows)
        if state.messages is None:
            state.files.save(name, windows, state.progress.to_json(), ())
            return
        with state.messages.dump(state.is_applied) as messages:
            state.files.save(name, windows, state.progress.to_json(), messages)

    def restore(self, name: str | None) -> bool:
        """Returns to a saved state, or to the initial one. Returns False if there is none of this name."""
        files = self.state.files
        stored = {} if name is None else files.saved(name)
        if stored is None:
            return False
        saved = Progress.from_json(stored)
        try:
            files.reset(name, saved.following(self.state.progress).to_json())
            self._begin()
        except BaseException:
            self.close()  # otherwise it would continue with a state that the files no longer have
            raise
        self._delivery.discard(lambda output: output.sequence > saved.sequence)
        self.flush_due = False
        self._update()
        self.settle()
        return True

    def close(self) -> None:
        """Calls the callback `teardown`, and releases the files."""
        self._delivery.close(self.state.files.close)


def _check_prefix(
    settings: AggregatorSettings, session_key: KeyValue | None, join_keys: tuple[Any, ...]
) -> None:
    """Raises InputError if the keys of messages do not begin with these equal fields."""
    layout = settings.layout()
    if layout[0] != "equal_fields":
        rule = "messages of equal fields retire if the keys of messages begin with these fields"
        remedy = "set window_scale='large', or retire windows"
        raise InputError(f"join_keys={join_keys!r}, keys of messages {layout}", rule, remedy)
    if settings.session_key is not None and session_key is None:
        rule = "the keys of messages of sessions begin with the session key"
        raise InputError(f"session_key=None, join_keys={join_keys!r}", rule, "give session_key=..., too")
