"""Rows that are emitted message by message, without a step of the engine for each (semantics 31.31).

An operator that emits rows could evaluate each message only by a step of the engine, which takes some
milliseconds. Here Python objects decide what a message or a watermark emits. A family supplies them
(:class:`panewise.engine.over.records.RecordRows`, :class:`panewise.engine.join.records.base.RecordJoin`).
They have a copy of the state, and read it again if a step has changed a table.

The messages wait. They are added to the state before anything else happens, as one batch. Then the clocks
move once for each input that has reported. What this batch emits is dropped, as it has been emitted before.

Invariant: the state is then that of the same messages, cut into batches in another way (semantics 3.1).
Cost: a test of each value of a message, and what the family's objects need to decide. A step of the engine is
shared by up to `MAX_WAITING` messages.

A message takes this path if:

- the operator is one that its family supports, and all columns have plain types;
- the message is valid and not late, and its values have the plain Python types of the columns.
"""

from typing import Any, Final, Self

import polars as pl

from panewise.engine.family_parts import engine_parts
from panewise.engine.protocol import Operator, Readings, Schemas
from panewise.engine.tables.copied_tables import CopiedTables
from panewise.spec import Specification
from panewise.standalone.buffer import highest
from panewise.standalone.direct_path import DirectPath
from panewise.standalone.emission import PaneColumns
from panewise.standalone.hosts import Host
from panewise.standalone.row_fit import RowFit, has_plain_types

MAX_WAITING: Final = 10_000  # messages


class RowPath(DirectPath):
    """The messages of an operator whose rows are emitted without a step of the engine."""

    enabled = True

    def __init__(
        self, spec: Specification, schemas: Schemas, host: Host, records: CopiedTables[Any, Readings]
    ) -> None:
        plan = host.operator.plan
        super().__init__({port: PaneColumns(plan.pane_schema, plan.ports[port]) for port in schemas})
        self._host, self._schemas, self._records = host, schemas, records
        self._fits = {port: RowFit(spec.ports[port], schema) for port, schema in schemas.items()}
        self._rows: dict[str, list[tuple[Any, ...]]] = {port: [] for port in schemas}  # that wait
        self._size = 0
        self._sources: dict[str | None, int | None] = {}  # the watermarks that wait, by what reported them
        self._is_copy = False  # whether the Python objects were a copy of the state at the last flush

    @classmethod
    def for_operator(cls, spec: Specification, schemas: Schemas, host: Host) -> Self | None:
        """Returns the path of an operator, None if its messages cannot take it."""
        plain = all(map(has_plain_types, schemas.values()))
        records = engine_parts(spec).record_rows(host.operator.plan) if plain else None
        return None if records is None else cls(spec, schemas, host, records)

    def add(self, message: Any, port: str) -> list[tuple[Any, ...]] | None:
        """Adds a message. Returns the rows that it emits; None if the engine must evaluate it."""
        if type(message) is not dict:
            return None
        if self._size >= MAX_WAITING:
            self.flush()
        timed = self._fits[port].row_of(message)
        if timed is None:
            return None
        emitted = self._records.add(self._host.operator.state, port, *timed)
        if emitted is not None:
            self._rows[port].append(timed[1])
            self._size += 1
        return emitted

    def move_clocks(
        self, clock: int | None, watermark: int | None, source: str | None
    ) -> list[tuple[Any, ...]] | None:
        """Moves the clocks. Returns the rows that this emits; None if the engine must do it."""
        emitted = self._records.advance(self._host.operator.state, clock, watermark, source)
        clocks = self._records.clocks
        if emitted is not None and clocks is not None:
            self.clock, self.watermark = clocks.processing_time, clocks.instant_watermark
            self._sources[source] = highest(self._sources.get(source), watermark)
        return emitted

    def flush(self) -> None:
        """Adds what waits to the state of the operator."""
        operator = self._host.operator
        self._is_copy = self._records.is_copy_of(operator.state)
        if self._size or self._records.clocks is not None:
            before = operator.state
            try:
                self._evaluate(operator)
            except BaseException:
                operator.replace_state(before)
                raise
            self._rows = {port: [] for port in self._rows}
            self._sources, self._size = {}, 0
            self.clock = self.watermark = None
            if self._is_copy:
                self._records.follow(operator.state)

    def _evaluate(self, operator: Operator) -> None:
        now, valid = operator.state.clocks.processing_time, {}
        for port, rows in self._rows.items():
            if rows:
                frame = pl.DataFrame(rows, self._schemas[port], orient="row")
                valid[port] = operator.plan.ports[port].validate(frame, now).valid
        if valid:
            operator.add_together(valid, {})
        if self._records.clocks is not None:
            for source, watermark in self._sources.items():
                operator.advance(self.clock, watermark, source)
            operator.replace_state(self._records.take_clocks(operator.state))

    def note_stored(self) -> None:
        """Notes that the state was stored. That may replace the operator, after a flush."""
        if self._is_copy:
            self._records.follow(self._host.operator.state)
