"""The core of standalone operators: steps of the engine, what waits before them, and when they are committed.

Messages wait in a buffer, or because they cannot emit anything yet (:mod:`panewise.standalone.deferral`).
They are evaluated before a step that may emit, and before the state or the counts are read. Each step becomes
emissions, which wait in the delivery.

Invariants:

- A call that raises changes neither the state nor the buffer. The engine replaces its state and never changes
  it, so the state before a step can be put back.
- A commit stores the state, the positions and the numbers of one and the same step together. It happens only
  when the caller has accepted the emissions of all steps up to it. So a repeated step finds the same state
  and the same numbers, and emits the same rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import polars as pl

from panewise.choices import is_choice
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.protocol import Operator, Schemas
from panewise.errors import InputError
from panewise.families import INPUT
from panewise.spec import Specification
from panewise.standalone.buffer import Buffer, highest
from panewise.standalone.core import Core
from panewise.standalone.deferral import Deferral
from panewise.standalone.delivery import Delivery
from panewise.standalone.direct_path import DirectPath
from panewise.standalone.emission import APPLIED, Emission, Numbering, PaneEmission
from panewise.standalone.hosts import Host
from panewise.standalone.materialized import Materialized
from panewise.standalone.messages import Message
from panewise.standalone.positions import PartitionPositions, RowPosition
from panewise.standalone.record_path import RecordPath
from panewise.standalone.row_path import RowPath

MAX_DEFERRED: Final = 10_000  # steps
Misfits: TypeAlias = Mapping[str, tuple[Message, ...]]


class OperatorCore(Core):
    """An operator of the engine, with what waits before it and after it.

    Args:
        buffer: how many messages are one batch. With 1 each message is a step of its own, also if it waits.

    Attributes:
        columns: the names of the columns of each port.
        ended: the ports whose input has ended, as of the state.
        totals: the counts by port, from the first step on.
        uncommitted: the steps since the last commit, each counted by its rows, at least 1.
    """

    def __init__(
        self,
        spec: Specification,
        schemas: Schemas,
        host: Host,
        delivery: Delivery[Emission],
        materialized: Materialized | None,
        *,
        buffer: int | None,
        commit_rows: int,
    ) -> None:
        self.spec, self.schemas, self.host, self._delivery = spec, schemas, host, delivery
        self.columns = {port: frozenset(columns) for port, columns in schemas.items()}
        self._materialized, self._commit_rows = materialized, commit_rows
        self.buffer, self._defers, self.uncommitted = Buffer(spec, schemas), buffer == 1, 0
        enabled = self._defers and materialized is None
        self.deferral = Deferral(spec, schemas, host, self.buffer, enabled=enabled)
        self.records = DirectPath()
        if enabled and not self.deferral.enabled:
            path = RecordPath.for_operator(spec, schemas, host) or RowPath.for_operator(spec, schemas, host)
            self.records = path or self.records
        self._recorded: dict[str, int] = {}  # by port, messages that the counts do not have yet
        self.positions = PartitionPositions.from_json(host.notes.get("positions", {}))
        self.numbering = Numbering(**host.notes.get("numbers", {}))
        self.totals = {port: Counts(**counts) for port, counts in host.notes.get("counts", {}).items()}
        self._note_ended()
        self._synchronise()
        if host.changed:
            self._step(lambda operator: [operator.evaluate_all()])

    @property
    def is_durable(self) -> bool:
        """Whether a commit survives the process."""
        return self.host.is_durable

    @property
    def clock(self) -> int:
        """Processing time, with the readings that wait."""
        now = highest(self.buffer.clock, self.records.clock)
        return highest(self.host.operator.state.clocks.processing_time, now) or 0

    @property
    def watermark(self) -> int | None:
        """The watermark, with the readings that wait; None if there is none, or it is a number of rows."""
        watermark = highest(self.buffer.watermark, self.records.watermark)
        return highest(self.host.operator.state.clocks.instant_watermark, watermark)

    def port(self, name: str | None) -> str:
        """Returns the name of a port."""
        ports = list(self.spec.ports)
        if name is None and len(ports) == 1:
            return ports[0]
        if not is_choice(name, ports):
            rule = f"the inputs of the operator are {ports}"
            raise InputError(f"input={name!r}", rule, "name one of them")
        return str(name)

    def check_not_ended(self, ports: Iterable[str]) -> None:
        """Refuses rows of inputs that have ended (12.2)."""
        for port in ports:
            if port in self.ended:
                which = "" if port == INPUT else f" of {port!r}"
                rule = "nothing is added after the end of input"
                raise InputError(f"rows{which} after finish", rule, "add the rows before finish")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Marks a call that reads the state, after the deferred steps have been evaluated.

        A function of the user, or a downstream, may read from within a call of the operator, but not while
        deferred steps wait. Messages that were evaluated without a step are moved into the state first.
        During a step there are none of these.
        """
        calls = self._delivery.calls
        if calls.is_mine:
            if self._defers and self.buffer.steps:
                calls.refuse()
            if self._recorded:
                self.flush_records()
            yield
            return
        with calls.within():
            self.catch_up()
            yield

    def prepare(self) -> None:
        """Evaluates the messages that wait before a further step."""
        self._delivery.check_ready()
        self.evaluate()
        self.flush_records()
        self._delivery.check_enabled()

    def add(
        self, frames: Mapping[str, pl.DataFrame], positions: Iterable[tuple[str, RowPosition]] = ()
    ) -> None:
        """Adds rows of one port or of several as one batch, and records their positions."""
        self.check_not_ended(frames)
        self._step(lambda operator: operator.add_batch(frames), rows=sum(map(len, frames.values())))
        self._record_positions(positions)
        self.settle()

    def advance(self, clock: int | None, watermark: int | None, port: str | None) -> None:
        """Moves the clocks, after the messages that wait. Readings that emit nothing may wait, too."""
        if not self._defers_reading(clock, watermark, port):
            self.prepare()
            self._step(lambda operator: [operator.advance(clock, watermark, port)])
            self.records.note_advanced(watermark)
            self.settle()

    def finish(self, port: str | None) -> None:
        """Ends an input, or all inputs."""
        self._step(lambda operator: [operator.finish(port)])
        self._note_ended()
        self.settle()

    def savepoint(self) -> Callable[[], None]:
        """Returns a function that undoes the steps from now on. The state is in memory, and nothing waits."""
        operator, state, numbering = self.host.operator, self.host.operator.state, self.numbering
        totals = dict(self.totals)

        def undo() -> None:
            operator.replace_state(state)
            self.numbering, self.totals = numbering, totals
            self._delivery.outputs.clear()
            self._note_ended()

        return undo

    def collect(self) -> None:
        """Evaluates the messages in the buffer. Deferred messages stay, as they emit nothing."""
        if not self._defers:
            self.evaluate_buffer()

    def evaluate(self) -> None:
        """Evaluates all messages that wait, and delivers what they emit."""
        if self.buffer.steps:
            self.evaluate_buffer()
            self.settle()

    def catch_up(self) -> None:
        """Evaluates what was deferred."""
        if self._defers:
            self.evaluate()
            self.flush_records()

    def evaluate_buffer(self) -> None:
        """Adds the messages that wait as one batch, then moves the clocks as they wait."""
        buffer = self.buffer
        if not buffer.steps:
            return
        frames, misfits = buffer.frames()

        def work(operator: Operator) -> Iterable[Output]:
            yield from operator.add_batch(frames)
            if buffer.readings:
                yield operator.advance(buffer.clock, buffer.watermark)

        self._step(work, misfits, buffer.steps, buffer.steps if self._defers else 1)
        self._record_positions(buffer.positions)
        buffer.clear()

    def room(self) -> int:
        """Returns how many steps may be deferred.

        At that number they are evaluated, so that a commit is not delayed.
        """
        if not (self._delivery.commits and self.is_durable):
            return MAX_DEFERRED
        return min(MAX_DEFERRED, self._commit_rows - self.uncommitted)

    def timeout(self, now: int | None) -> None:
        """Evaluates what waits and reads the clock, unless the downstream refuses an emission.

        A reading that may be deferred waits with the messages, and nothing is evaluated.
        """
        if now is not None and self._defers_reading(now, None):
            return
        self.evaluate()
        if self._delivery.disabled:
            return
        if now is not None:
            self._step(lambda operator: [operator.advance(processing_time=now)])
        self.settle()

    def drain(self) -> None:
        """Delivers what waits, then evaluates the buffer."""
        if self._delivery.deliver():
            self.evaluate()

    def evict(self, partition: Mapping[str, Any]) -> bool:
        """Evicts a partition, if the operator has partitions."""
        partitions = self.host.operator.partitions
        if partitions is None:
            return False
        self.prepare()
        self._step(lambda _: [partitions.evict(partition)])
        self.settle()
        return True

    def settle(self) -> None:
        """Delivers what steps have emitted. With a downstream it then commits, if a commit is due."""
        if self._delivery.deliver() and self._delivery.automatic:
            self.commit_due()

    def commit_due(self) -> None:
        """Commits if enough rows have been added, and neither an emission nor a message waits."""
        if self.is_durable and not self._delivery.outputs and self.uncommitted >= self._commit_rows:
            self.commit()

    def commit(self) -> None:
        """Stores state, positions and numbers of the last step, unless they are stored or a message waits.

        If that fails the operator is closed, as its store is as after the commit before.
        """
        if self.buffer.steps or not self.uncommitted:
            return
        self.flush_records()
        try:
            if self._materialized is not None and self.is_durable:
                self._materialized.commit()
            self.host.commit(self._notes_with_counts())
        except BaseException:
            self.close(failed=True)
            raise
        self.records.note_stored()
        self.uncommitted = 0

    def close(self, *, failed: bool = False) -> None:
        """Evaluates deferred messages, calls the callback `teardown`, and releases the store, once."""
        if self._delivery.closed:
            return
        try:
            if self._defers:
                self.evaluate_buffer()
                self.flush_records()
        finally:
            self._delivery.close(self.host.close, failed=failed)

    def save(self, name: str) -> None:
        """Saves the whole state under a name, with the positions and the numbers of the next step."""
        self.prepare()
        self.host.save(name, self._notes())

    def export(self, file: str | Path, *, replace: bool) -> None:
        """Writes the whole state to a file, with positions, numbers of the next step and counts."""
        self.prepare()
        self.host.export(file, self._notes_with_counts(), replace=replace)

    def restore(self, name: str | None) -> bool:
        """Returns to a saved state, or to the initial one, and emits what is due there at the present clock.

        Messages that wait are discarded, and emissions of later steps. Numbers and counts continue, so that a
        number never has two rows. After a restart the saved numbers may be the higher ones: then rows with
        numbers up to them have been emitted.
        """
        self.catch_up()
        now = self.host.operator.state.clocks.processing_time
        saved = self.host.saved(name)
        if saved is None:
            return False
        operator, notes, changed = saved
        if name is None:  # nothing can be due in the initial state, which gets the clock here
            self.host.put(operator.with_header({**operator.header(), "processing_time": now}))
        else:
            self.host.put(operator.state)
        self._note_ended()
        self.positions = PartitionPositions.from_json(notes.get("positions", {}))
        self.buffer.clear()
        numbers = Numbering(**notes.get("numbers", {}))
        self.numbering = self.numbering.at_least(numbers)
        self.uncommitted += 1
        self._synchronise()
        self._delivery.discard(lambda emission: emission.step >= numbers.step)
        if changed:
            self._step(lambda operator: [operator.evaluate_all()])
        if name is not None:
            self._step(lambda operator: [operator.advance(processing_time=now)])
        self.settle()
        return True

    def add_record(self, message: Any, port: str, position: RowPosition | None) -> bool:
        """Adds a message without a step of the engine, if it can be. Returns whether it was added."""
        panes = self.records.add(message, port)
        if panes is None:
            return False
        self._emit_records(panes, port, APPLIED)
        self._recorded[port] = self._recorded.get(port, 0) + 1
        if position is not None:
            self._record_positions([(port, position)])
        self.settle()
        return True

    def _emit_records(self, panes: list[tuple[Any, ...]], port: str, counts: Counts) -> None:
        """Puts what was emitted without a step of the engine into the delivery."""
        numbering = self.numbering
        if panes:
            columns = self.records.formats[port]
            self._delivery.outputs.append(PaneEmission(columns, panes, numbering, port, counts))
        self.numbering = numbering.after_panes(len(panes))
        self.uncommitted += 1

    def flush_records(self) -> None:
        """Moves what messages have changed without a step into the state and the counts."""
        self.records.flush()
        for port, rows in self._recorded.items():
            self.totals[port] = self.totals.get(port, Counts()) + Counts(rows_in=rows, applied=rows)
        self._recorded = {}

    def _defers_reading(self, clock: int | None, watermark: int | None, port: str | None = None) -> bool:
        """Takes a reading of the clocks without a step, if that is possible. Returns whether it was."""
        panes = self.records.move_clocks(clock, watermark, port)
        if panes is not None:
            first = next(iter(self.spec.ports))
            self._emit_records(panes, first, Counts())
            self._recorded.setdefault(first, 0)
            self.settle()
            return True
        if not self.deferral.defer_reading(clock, watermark):
            return False
        if self.buffer.steps >= self.room():
            self.evaluate()
        return True

    def _step(
        self,
        work: Callable[[Operator], Iterable[Output]],
        misfits: Misfits | None = None,
        rows: int = 0,
        steps: int = 1,
    ) -> None:
        """Does one step, and puts what it emits into the delivery. If it raises, nothing has changed.

        The step may take the place of several that emit nothing.
        """
        self.flush_records()
        operator = self.host.operator
        before = operator.state
        try:
            if self._materialized is None:
                outputs = list(work(operator))
            else:
                outputs = self._materialized.step(operator, lambda: list(work(operator)))
        except BaseException:
            operator.replace_state(before)
            raise
        left = dict(misfits or {})
        for output in outputs:
            emission, self.numbering = self.numbering.emission(output, left.pop(output.port, ()))
            self.totals[output.port] = self.totals.get(output.port, Counts()) + output.counts
            if not emission.is_empty:
                self._delivery.outputs.append(emission)
        self.numbering = self.numbering.following(steps)
        self.uncommitted += max(1, rows)

    def _record_positions(self, positions: Iterable[tuple[str, RowPosition]]) -> None:
        """Records the positions of rows that a step has added, each with its port."""
        for port, position in positions:
            self.positions.record(port, position)

    def _note_ended(self) -> None:
        """Sets `ended` from the state, after a step that ends an input, or after a reset."""
        self.ended = frozenset(filter(self.host.operator.state.has_ended, self.spec.ports))

    def _synchronise(self) -> None:
        """Makes the store of results equal to the state."""
        if self._materialized is not None:
            self._materialized.synchronise(self.host.operator)

    def _notes(self) -> dict[str, Any]:
        """Returns the positions and numbers, which are stored beside every copy of the state."""
        return {"positions": self.positions.to_json(), "numbers": vars(self.numbering)}

    def _notes_with_counts(self) -> dict[str, Any]:
        """Returns the same with the counts: the notes of a state that another operator continues."""
        return {**self._notes(), "counts": {port: vars(counts) for port, counts in self.totals.items()}}
