"""Steps of an operator: each event becomes emissions in an outbox; a commit stores what led to them.

Invariants:

- A call that raises changes neither the state nor the buffer. The engine replaces its state and never changes
  it, so the state before a step can be put back.
- A commit stores the state, the positions and the numbers of one and the same step together. It happens only
  when the caller has accepted the emissions of all steps up to it. So a repeated step finds the same state
  and the same numbers, and emits the same rows.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import polars as pl

from panewise.engine.ingest.output import Counts, Output
from panewise.engine.protocol import Operator, Schemas
from panewise.errors import InputError
from panewise.families import INPUT
from panewise.spec import Specification
from panewise.standalone.buffer import Buffer, highest
from panewise.standalone.emission import Emission, Numbering
from panewise.standalone.hosts import Host
from panewise.standalone.materialized import Materialized
from panewise.standalone.messages import Message
from panewise.standalone.positions import PartitionPositions, Position

Misfits: TypeAlias = Mapping[str, tuple[Message, ...]]


class Driver:
    """An operator of the engine, with what waits before it and behind it.

    Args:
        spec: the specification.
        schemas: the columns of each port.
        host: the operator, and the place of its state.
        outputs: the emissions that the caller has not accepted yet, the oldest first. A step adds its own.
        materialized: the store that follows the results of windows, None if there is none.

    Attributes:
        columns: the names of the columns of each port.
        ended: the ports whose input has ended, as of the state.
        defers: whether each message is a step of its own, also if it waits (:class:`Deferral`). Otherwise all
            messages that wait are one batch.
        totals: the counts by port, from the first step on.
        uncommitted: the steps since the last commit, each counted by its rows, at least 1.
    """

    def __init__(
        self,
        spec: Specification,
        schemas: Schemas,
        host: Host,
        outputs: deque[Emission],
        materialized: Materialized | None = None,
        *,
        defers: bool = False,
    ) -> None:
        self.spec, self.schemas, self.host, self._outputs = spec, schemas, host, outputs
        self.columns = {port: frozenset(of) for port, of in schemas.items()}
        self._materialized = materialized
        self.buffer = Buffer(spec, schemas)
        self.defers, self.uncommitted = defers, 0
        self.read_notes()
        self.note_ended()
        self._synchronise()

    def note_ended(self) -> None:
        """Sets `ended` from the state, after a step that ends an input, or after a reset."""
        self.ended = frozenset(filter(self.operator.state.has_ended, self.spec.ports))

    def check_not_ended(self, ports: Iterable[str]) -> None:
        """Refuses rows of inputs that have ended (12.2).

        Raises:
            InputError: if one of these ports has ended.
        """
        for port in ports:
            if port in self.ended:
                which = "" if port == INPUT else f" of {port!r}"
                rule = "nothing is added after the end of input"
                raise InputError(f"rows{which} after finish", rule, "add the rows before finish")

    def read_notes(self) -> None:
        """Sets positions, numbers and counts to those of the last commit."""
        notes = self.host.notes
        self.positions = PartitionPositions.from_json(notes.get("positions", {}))
        self.numbering = Numbering(**notes.get("numbers", {}))
        self.totals = {port: Counts(**counts) for port, counts in notes.get("counts", {}).items()}

    @property
    def operator(self) -> Operator:
        """The operator of the engine."""
        return self.host.operator

    @property
    def watermark(self) -> int | None:
        """The watermark, with the readings that wait; None if there is none, or it is a number of rows."""
        return highest(self.operator.state.clocks.instant_watermark, self.buffer.watermark)

    @property
    def clock(self) -> int:
        """Processing time, with the readings that wait."""
        return highest(self.operator.state.clocks.processing_time, self.buffer.clock) or 0

    def add(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Adds rows of one port or of several as one batch."""
        self.step(lambda operator: operator.add_batch(frames), rows=sum(map(len, frames.values())))

    def evaluate(self) -> None:
        """Adds the messages that wait as one batch, then moves the clocks as they wait."""
        buffer = self.buffer
        if not buffer.steps:
            return
        frames, misfits = buffer.frames()

        def work(operator: Operator) -> Iterable[Output]:
            yield from operator.add_batch(frames)
            if buffer.moves:
                yield operator.advance(buffer.clock, buffer.watermark)

        self.step(work, misfits, buffer.steps, buffer.steps if self.defers else 1)
        self.reached(buffer.positions)
        buffer.clear()

    def step(
        self,
        work: Callable[[Operator], Iterable[Output]],
        misfits: Misfits | None = None,
        rows: int = 0,
        steps: int = 1,
    ) -> None:
        """Does one step, and puts what it emits into the outbox. If it raises, nothing has changed.

        The step may take the place of several that emit nothing.
        """
        operator = self.operator
        before = operator.state
        try:
            outputs = self._worked(operator, work)
        except BaseException:
            operator.state = before
            raise
        left = dict(misfits or {})
        for output in outputs:
            emission, self.numbering = self.numbering.emission(output, left.pop(output.port, ()))
            self.totals[output.port] = self.totals.get(output.port, Counts()) + output.counts
            if not emission.is_empty:
                self._outputs.append(emission)
        self.numbering = self.numbering.following(steps)
        self.uncommitted += max(1, rows)

    def _worked(self, operator: Operator, work: Callable[[Operator], Iterable[Output]]) -> list[Output]:
        """Returns the outputs of a step, after the results that it changed have been put in their store."""
        if self._materialized is None:
            return list(work(operator))
        return self._materialized.step(operator, lambda: list(work(operator)))

    def _synchronise(self) -> None:
        """Makes the store of results equal to the state."""
        if self._materialized is not None:
            self._materialized.synchronise(self.operator)

    def reached(self, positions: Iterable[tuple[str, Position]]) -> None:
        """Records the positions of rows that a step has added, each with its port."""
        for port, position in positions:
            self.positions.reach(port, position)

    def commit(self) -> None:
        """Stores state, positions and numbers of the last step, unless they are stored or a message waits."""
        if self.buffer.steps or not self.uncommitted:
            return
        if self._materialized is not None and self.host.is_durable:
            self._materialized.commit()
        self.host.commit(self.notes())
        self.uncommitted = 0

    def save(self, name: str) -> None:
        """Saves the whole state under a name, with the positions and the numbers of the next step."""
        self.host.save(name, {"positions": self.positions.to_json(), "numbers": vars(self.numbering)})

    def restore(self, name: str | None) -> int | None:
        """Returns to a saved state, or to the initial one.

        Messages that wait are discarded. Numbers and counts continue, so that a number never has two rows.
        After a restart the saved numbers may be the higher ones: then rows with numbers up to them have been
        emitted.

        Processing time does not turn back: the initial state gets it here, as nothing can be due in it.

        Returns:
            The number of the first step after the saved state; None if there is none of this name. Emissions
            with this number or a higher one are those of later steps.
        """
        copy = self.host.saved(name)
        if copy is None:
            return None
        operator, notes = copy
        state = operator.state
        if name is None:
            now = self.operator.state.clocks.processing_time
            state = operator.with_header({**operator.header(), "processing_time": now})
        self.host.put(state)
        self.note_ended()
        self.positions = PartitionPositions.from_json(notes.get("positions", {}))
        self.buffer.clear()
        saved = Numbering(**notes.get("numbers", {}))
        self.numbering = self.numbering.at_least(saved)
        self.uncommitted += 1
        self._synchronise()
        return saved.step

    def notes(self) -> dict[str, Any]:
        """Returns what a commit stores besides the state."""
        return {
            "positions": self.positions.to_json(),
            "numbers": vars(self.numbering),
            "counts": {port: vars(counts) for port, counts in self.totals.items()},
        }

    def port(self, given: str | None) -> str:
        """Returns the name of a port.

        Raises:
            InputError: if there is none of this name, or the operator has several and none is named.
        """
        ports = list(self.spec.ports)
        if given is None and len(ports) == 1:
            return ports[0]
        if given not in ports:
            raise InputError(
                f"input={given!r}", f"the inputs of this operator are {ports}", "name one of them"
            )
        return str(given)
