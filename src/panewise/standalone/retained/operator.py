"""What S1's two window operators have in common: messages and time in, outputs out, flush and restore.

Invariant: a flush follows the delivery of all outputs that led to it. So an output is delivered at least
once, and a repeated one has the number and the content of the first time.
"""

from typing import Any

from panewise.calls import one_at_a_time, one_thread_at_a_time
from panewise.chrono import InstantLike, instant_us
from panewise.engine.ingest.output import Counts
from panewise.errors import InputError
from panewise.spec.column_values import is_long
from panewise.standalone.frames import Frame, frame_for
from panewise.standalone.output_loop import OutputLoop, Source
from panewise.standalone.retained.checkpointing import WindowCheckpoints
from panewise.standalone.retained.codec import rows_of
from panewise.standalone.retained.outbox import Mode
from panewise.standalone.retained.outputs import Classified, RejectedMessage, WindowOutput, copy_of


class RetainedWindows(WindowCheckpoints):
    """The windows of a stream that stay for a retention. Base of the two operators.

    One call at a time uses an operator: a call beside that of another thread raises ConcurrentCallError.
    """

    @one_at_a_time
    def add_message(
        self, message: Any, offset: int | None = None, *, now: InstantLike | None = None
    ) -> Classified:
        """Adds a message.

        Args:
            message: the values by column. A column that is missing is null. One that the schema lacks is
                refused.
            offset: its offset. Offsets increase; one that is not above the mark, the highest offset of an
                applied message, is a replay. Default: one after the mark. A rejected message does not move
                the mark, so the next message without an offset has the same one.
            now: processing time; an earlier one than before changes nothing.

        Returns:
            What became of it. "in_time", "past" or "future": it was applied, and its event time is in the
            current window, before it, or after it. The current window is the one with the highest start.
            For windows of messages it is "future" if it opens a window, but "in_time" if it is the first
            message of all. "replay": it was applied before. "restored": it went at most to the message
            store. "out_of_retention" or "invalid": it was rejected.

        Raises:
            DeliveryDisabledError: if `downstream` or `error_output` has refused what still waits.
            InputError: if the message is no mapping or has an unknown column; if the offset is no whole
                number of 64 bits.
            SpecError: if `now` is not an instant.
            AggregateOverflowError: if a sum does not fit its type. The message is not added.
            StoreError: if the store cannot be used. `counts` says whether the message was applied; what was
                due is due again in the next call.

        An error of `downstream` or `error_output` leaves this call, too. What it refused waits, and delivery
        is disabled until `timeout` returns True. The message has been applied or rejected, and is not
        repeated.
        """
        return self._add_message(message, offset, now)

    def _add_message(self, message: Any, offset: int | None, now: InstantLike | None) -> Classified:
        self._check_open()
        self._outbox.check_enabled()
        at = self._offset(offset)
        self._move_clock(now)
        kind = self._added(message, at)
        self._settle()
        return kind

    @one_at_a_time
    def add_batch(
        self, rows: Frame, offset: int | None = None, *, now: InstantLike | None = None
    ) -> list[Classified]:
        """Adds the rows of a batch, one after the other. If delivery is disabled, the rest is not added.

        A row that is invalid or out of retention is rejected, as a message is. A row that raises an error
        ends the call: the rows before it have been added, those after it have not. `counts` says how many.

        Args:
            rows: a Polars DataFrame, or a table or record batch of PyArrow.
            offset: the offset of the first row; the others follow it. Default: the next offset.
            now: processing time.

        Returns:
            What became of each row that was added, see `add_message`. The list is shorter than the batch if
            the downstream refused an output.

        Raises:
            DeliveryDisabledError: if `downstream` or `error_output` had refused something before.
            InputError: if a column is missing or has another type, or the offset is no whole number.
            SpecError, AggregateOverflowError, StoreError: as `add_message`, and errors of `downstream` and
                `error_output`.
        """
        self._check_open()
        self._outbox.check_enabled()
        first, kinds = self._offset(offset), list[Classified]()
        for number, row in enumerate(rows_of(frame_for(self._schema, rows))):
            kinds.append(self._add_message(row, first + number, now))
            if self._outbox.disabled:
                break
        return kinds

    @one_at_a_time
    def timeout(self, now: InstantLike | None = None) -> bool:
        """Delivers the outputs that wait from where it stopped, reads the clock, and lets windows emit.

        Args:
            now: processing time; None: the clock does not move.

        Returns:
            Whether delivery is enabled. If `downstream` refuses an output that waited before, the clock does
            not move. It has moved if an output of this call is the first that is refused.

        Raises:
            SpecError: if `now` is not an instant.
            StoreError: if the store cannot be used.
        """
        self._check_open()
        reading = None if now is None else instant_us(now, "now")
        if not self._outbox.deliver():
            return False
        self._move_clock(reading)
        self._update()
        self._settle()
        return not self._outbox.disabled

    @one_at_a_time
    def get_result(self) -> list[WindowOutput]:
        """Returns copies of all outputs that wait. They stay, and a copy may be changed.

        Raises:
            InputError: in `mode="automatic"`, where `downstream` receives them.
        """
        self._check_standalone("get_result()")
        return [copy_of(output) for output in self._outbox.outputs]

    @one_at_a_time
    def drain(self) -> list[WindowOutput]:
        """Returns all outputs that wait, and removes them. It makes nothing durable.

        Raises:
            InputError: in `mode="automatic"`, where `downstream` receives them.
        """
        self._check_standalone("drain()")
        found = list(self._outbox.outputs)
        self._outbox.outputs.clear()
        return found

    @one_at_a_time
    def drain_rejected(self) -> list[RejectedMessage]:
        """Returns the rejected messages that wait, and removes them. With an `error_output` none waits."""
        self._check_open()
        found = list(self._outbox.rejected)
        self._outbox.rejected.clear()
        return found

    @one_at_a_time
    def flush(self) -> list[WindowOutput]:
        """Makes messages, metadata and the position durable, in this order, and clears the outputs.

        In `mode="automatic"` outputs are delivered before, and none is cleared.

        Returns:
            The outputs that it cleared.

        Raises:
            DeliveryDisabledError: in `mode="automatic"`, if `downstream` refuses an output.
            StoreError: if the files cannot be written. Outputs are then not cleared.
        """
        return self._flush()

    def _flush(self) -> list[WindowOutput]:
        self._check_open()
        if self._outbox.automatic:
            self._outbox.deliver()
            self._outbox.check_enabled()
        self._write()
        found = list(self._outbox.outputs)
        self._outbox.outputs.clear()
        return found

    @property
    @one_thread_at_a_time
    def restore_from(self) -> int | None:
        """The offset from which messages are to be repeated to restore the message store.

        It is the lowest offset of a window in retention. None if nothing is missing. Messages below it
        change nothing.
        """
        return min((one.start_offset for one in self._windows), default=None) if self.restoring else None

    @one_at_a_time
    def end_restore(self) -> None:
        """Ends the restoring, if the input no longer has the message with the highest offset."""
        self._check_open()
        self._progress.restore_until = None

    @property
    def counts(self) -> Counts:
        """The counts of messages since the first one: `applied`, `replays`, `late` and `invalid`.

        Messages out of retention are counted as late, and restored ones as replays.
        """
        return self._progress.counts

    @property
    def position(self) -> int | None:
        """The offset of the last flush, None before it. After a restart the caller continues after it."""
        return self._files.position

    @property
    def clock(self) -> int:
        """The last reading of processing time in microseconds; 0 before the first one."""
        return self._progress.clock

    @property
    def mode(self) -> Mode:
        """The mode, "standalone" or "automatic"."""
        return "automatic" if self._outbox.automatic else "standalone"

    @property
    def delivery_enabled(self) -> bool:
        """Whether messages can be added. False after `downstream` has refused an output."""
        return not self._outbox.disabled

    def _check_standalone(self, call: str) -> None:
        """Raises InputError in `mode="automatic"`, and as `_check_open`."""
        self._check_open()
        if self._outbox.automatic:
            rule = "in mode='automatic' the downstream receives all outputs"
            raise InputError(call, rule, "use mode='standalone', or timeout()")

    def _offset(self, offset: Any) -> int:
        if offset is None:
            offset = 0 if self._progress.mark is None else self._progress.mark + 1
        if not is_long(offset):
            raise InputError(f"offset={offset!r}", "an offset is a whole number of 64 bits", "give an int")
        return int(offset)


def output_loop(operator: RetainedWindows, capacity: int) -> OutputLoop[WindowOutput]:
    """Returns the outputs of an operator for the front of asyncio. A flush follows when all are accepted."""
    outbox = operator._outbox

    def commit() -> None:
        if operator._flush_due and not outbox.outputs:
            operator._flush()

    source = Source(
        outbox.calls,
        outbox.outputs,
        not operator._in_memory,
        operator._check_open,
        lambda: operator._closed,
        commit,
        operator._flush,
    )
    loop = OutputLoop(source, capacity)
    outbox.changed = loop.changes.notify
    return loop
