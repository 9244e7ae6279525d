"""An operator inside the caller's process: messages and batches in, emissions out."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import get_ident
from typing import Any, Literal, Never, Self, TypeAlias

import polars as pl

from panewise.calls import FREE, one_at_a_time
from panewise.chrono import InstantLike, instant_us
from panewise.engine.ingest.output import Counts
from panewise.engine.protocol import Schemas
from panewise.errors import InputError
from panewise.spec import Specification
from panewise.standalone import materializable
from panewise.standalone.arguments import check_input, check_mode, check_number, check_words
from panewise.standalone.buffer import WaitingMessage
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.checkpointing import steps_of
from panewise.standalone.deferral import Deferral
from panewise.standalone.delivery import Delivery, Downstream
from panewise.standalone.driver import Driver
from panewise.standalone.emission import Emission
from panewise.standalone.frames import Frame, frame_for
from panewise.standalone.hosts import Host, MemoryHost, StoreHost
from panewise.standalone.life_cycle import LifeCycle
from panewise.standalone.materialized import Materialized
from panewise.standalone.messages import Message, check_columns
from panewise.standalone.operator_store import OperatorStore, opened
from panewise.standalone.positions import Position, checked
from panewise.standalone.schema import for_schemas, schemas_of
from panewise.stores import SessionStore, WindowStore

Mode: TypeAlias = Literal["standalone", "automatic"]


class StandaloneOperator:
    """An operator of any specification inside the caller's process. It needs no Spark and starts no thread.

    It reads no clock: the caller gives the watermark and processing time. Event times are microseconds, or
    aware datetimes. In `mode="standalone"` emissions wait until :meth:`get_result`, :meth:`drain` or
    :meth:`flush` returns them. In `mode="automatic"` each step passes them to `downstream`, in their order.

    Args:
        spec: what to run: windows, a chain, OVER, a deduplication, policy windows, a join, a cogroup or
            windowed streams.
        schema: the columns of the input, each with a type of Polars or one of "bigint", "int", "smallint",
            "tinyint", "double", "float", "string", "boolean", "decimal(p,s)", "timestamp", "timestamp_ntz",
            "date", "binary", "array<T>", "struct<a:T,b:T>" and "map<K,V>". With several inputs: such a
            mapping for each input, by its name.
        mode: "standalone" or "automatic". Default: "standalone".
        downstream: with `mode="automatic"` a function that receives each emission. If it returns False or
            raises, it has refused the emission, and delivery is disabled (semantics 32).
        buffer: how many messages :meth:`add_message` collects before they are evaluated as one batch; None:
            they wait until something else happens. Default: 1, each message is a batch. Messages that cannot
            emit anything yet may then be evaluated later, without a visible difference.
        store: a directory for the state, or an object of yours that is an :class:`OperatorStore`. Default:
            None, the state is in memory.
        commit_rows: with a store in `mode="automatic"`: how many rows are added between two commits, where a
            step without rows counts as one. Default: 1, each step is committed.
        callbacks: functions that are called in the life cycle of the operator, and before each write.
        materialize: a store that has the current result of each window after every step, to be read by key.
            It is a SessionStore for sessions, and a WindowStore for other windows of time. It belongs to the
            operator, but you close it. Default: None.

    One call at a time uses an operator: a call beside that of another thread raises ConcurrentCallError.

    Raises:
        InputError: if an argument does not fit the specification or the mode.
        SpecError: if a column is missing, or has a type that the specification cannot use; if the windows
            have no results that a store can contain (semantics 31.16).
        StateError: if the store cannot be used, is open in another process, or was made with another
            specification or other types.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.sum("v").alias("total")])
    >>> operator = StandaloneOperator(spec, {"event_time": "bigint", "v": "bigint"})
    >>> for v in (2, 3):
    ...     operator.add_message({"event_time": 1, "v": v})
    >>> operator.advance(watermark=10)
    >>> [row["total"] for emission in operator.drain() for row in emission.rows.to_dicts()]
    [5]

    Source: S1 "Basic Algorithm for Windowed Aggregators"; semantics 31 to 32.5.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        spec: Specification,
        schema: Mapping[str, Any],
        *,
        mode: Mode = "standalone",
        downstream: Downstream | None = None,
        buffer: int | None = 1,
        store: str | Path | OperatorStore | None = None,
        commit_rows: int = 1,
        callbacks: Callbacks | None = None,
        materialize: WindowStore | SessionStore | None = None,
    ) -> None:
        check_mode(mode, downstream)
        check_number("buffer", buffer)
        check_number("commit_rows", commit_rows)
        schemas, callbacks = schemas_of(spec, schema), callbacks or Callbacks()
        spec = for_schemas(spec, schemas)
        host = _host(spec, schemas, store, callbacks)
        try:
            results = _materialized(spec, schemas, host, materialize)
            self._driver, self._buffer = Driver(spec, schemas, host, results), buffer
            self._driver.defers, self._calls = buffer == 1, self._driver.calls
            self._deferral = Deferral(self._driver, enabled=buffer == 1 and materialize is None)
            self._delivery = Delivery(self._driver, downstream, commit_rows, callbacks)
            steps = steps_of(self._delivery, self._deferral)
            self.life_cycle = LifeCycle(steps, callbacks, continues=bool(host.notes))
        except BaseException:
            host.close()
            raise

    @property
    def spec(self) -> Specification:
        """The specification, as it fits the columns of the input."""
        return self._driver.spec

    @property
    def delivery_enabled(self) -> bool:
        """Whether messages and batches can be added. False after `downstream` has refused an emission."""
        return not self._delivery.disabled

    @property
    def watermark(self) -> int | None:
        """The watermark in microseconds; None if there is none yet, or it is a number of rows."""
        return self._driver.watermark

    @property
    def clock(self) -> int:
        """The last reading of processing time in microseconds; 0 before the first one."""
        return self._driver.clock

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts of rows by input, since the first step (semantics 15.1). They survive a restart.

        Messages in the buffer are not counted yet.
        """
        with self._delivery.reading():
            return dict(self._driver.totals.by_port)

    def positions(
        self,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        **others: Never,
    ) -> list[Position]:
        """Returns the highest offset of each partition of an input, as `(source, partition, offset)`.

        They are those that the caller gave and, where the specification declares a position, those of valid
        rows. After a restart they are the positions of the last commit: the caller continues behind them.
        Messages in the buffer do not count.
        """
        check_words("positions", others)
        with self._delivery.reading():
            name = self._driver.port(input)
            declared, marks = self.spec.ports[name].position, self._driver.operator.marks(name).table
            known = [] if declared is None or not declared.ordered or marks is None else marks.rows()
            return self._driver.positions.with_marks(name, known)

    def live(self) -> pl.DataFrame:
        """Returns the live windows: the keys, window_start, window_end, pending and closed.

        For OVER and joins these are the stored rows; those of joins name their side as `input`. Messages in
        the buffer are not in them.
        """
        with self._delivery.reading():
            return self._driver.operator.live()

    def add_message(
        self,
        message: Message,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        position: Position | None = None,
        **others: Never,
    ) -> None:
        """Adds one row.

        Args:
            message: the values by column. A column that is missing is null, and one that the schema lacks is
                refused. A value of another type than its column makes the row invalid, and the emission has
                the message among its `misfits`.
            input: the name of the input, if the operator has several.
            position: `(partition, offset)` or `(source, partition, offset)`. If the specification declares
                a position, the values go into its columns, and replays are dropped (semantics 4).

        Raises:
            DeliveryDisabledError: if `downstream` has refused an emission that still waits.
            InputError: if the message, the input or the position is malformed; if the input has ended.
        """
        if others:
            check_words("add_message", others)
        calls, me = self._calls, get_ident()  # as `one_at_a_time` does, without the cost of another call
        if calls.owner:
            calls.refuse()
        calls.owner = me
        try:
            self._add_message(message, input, position)
        finally:
            calls.owner = FREE

    def _add_message(self, message: Message, name: str | None, position: Position | None) -> None:
        self._delivery.check_open()
        self._delivery.check_enabled()
        driver, where, reached = self._driver, self._driver.port(name), checked(position)
        if driver.ended:
            driver.check_not_ended((where,))
        if type(message) is not dict and isinstance(message, Mapping):
            message = dict(message)
        if type(message) is dict and not driver.columns[where].issuperset(message):
            check_columns(message, driver.columns[where])
        waits = self._deferral.takes(message)
        if not waits:
            self._delivery.catch_up()
        driver.buffer.add(message, where, reached)
        if driver.buffer.steps < (self._delivery.room() if waits else self._buffer or math.inf):
            return
        try:
            driver.evaluate()
        except BaseException:
            driver.buffer.remove_last()
            raise
        self._delivery.settle()

    @one_at_a_time
    def add_batch(
        self,
        rows: Frame | Mapping[str, Frame],
        input: str | None = None,  # noqa: A002 - the word of the semantics
        positions: Iterable[Position] = (),
        **others: Never,
    ) -> None:
        """Adds a batch, which is evaluated at once, after the messages that wait.

        Args:
            rows: a Polars DataFrame, or a table or record batch of PyArrow. If the operator has several
                inputs, also such values by input: their rows arrive in one batch.
            input: the name of the input, if the operator has several.
            positions: the position of the last row of each partition in the batch.

        Raises:
            DeliveryDisabledError: if `downstream` has refused an emission that still waits.
            InputError: if a column is missing or has another type; if the input or a position is malformed;
                if an input with rows has ended.
        """
        check_words("add_batch", others)
        driver = self._delivery.ready()
        given = rows if isinstance(rows, Mapping) else {driver.port(input): rows}
        frames = {driver.port(name): frame_for(driver.schemas[name], one) for name, one in given.items()}
        reached = [(driver.port(input), one) for one in map(checked, positions) if one is not None]
        self._add(frames)
        driver.reached(reached)
        self._delivery.settle()

    def _add(self, frames: Mapping[str, pl.DataFrame]) -> None:
        self._driver.check_not_ended(frames)
        self._driver.add(frames)

    @one_at_a_time
    def advance(
        self,
        *,
        watermark: InstantLike | None = None,
        clock: InstantLike | None = None,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        **others: Never,
    ) -> None:
        """Moves the clocks, after the messages that wait are evaluated.

        Args:
            watermark: the watermark; a lower one changes nothing.
            clock: processing time; an earlier one changes nothing.
            input: the input that reports the watermark; None: all inputs.

        Raises:
            DeliveryDisabledError: if `downstream` has refused an emission that still waits.
            InputError: if there is no such input.
            SpecError: if an instant is not one.
        """
        check_words("advance", others)
        self._delivery.check_open()
        self._delivery.check_enabled()
        check_input(self.spec, input)
        to = None if watermark is None else instant_us(watermark, "watermark")
        now = None if clock is None else instant_us(clock, "clock")
        if self._deferral.moves(now, to):
            self._delivery.limit_deferred()
            return
        driver = self._delivery.ready()
        driver.step(lambda operator: [operator.advance(now, to, input)])
        self._delivery.settle()

    @one_at_a_time
    def timeout(self, now: InstantLike | None = None) -> bool:
        """Delivers what waits from where it stopped, evaluates the buffer, and reads the clock.

        Args:
            now: processing time; None: the clock does not move.

        Returns:
            Whether delivery is enabled. If `downstream` refuses again, the clock does not move.

        Raises:
            SpecError: if `now` is not an instant.
        """
        return self._timeout(now)

    def _timeout(self, now: InstantLike | None) -> bool:
        self._delivery.check_open()
        reading = None if now is None else instant_us(now, "now")
        delivery = self._delivery
        if not delivery.deliver():
            return False
        if reading is not None and self._deferral.moves(reading, None):
            delivery.limit_deferred()
            return not delivery.disabled
        delivery.evaluate()
        if delivery.disabled:
            return False
        if reading is not None:
            self._driver.step(lambda operator: [operator.advance(processing_time=reading)])
        delivery.settle()
        return not delivery.disabled

    @one_at_a_time
    def finish(
        self,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        **others: Never,
    ) -> None:
        """Ends an input, or all inputs: windows become complete, and rows that are added later are refused.

        A watermark or a reading of the clock may follow. To end an input again changes nothing.

        Raises:
            DeliveryDisabledError: if `downstream` has refused an emission that still waits.
        """
        check_words("finish", others)
        driver = self._delivery.ready()
        name = None if input is None else driver.port(input)
        driver.step(lambda operator: [operator.finish(name)])
        driver.note_ended()
        self._delivery.settle()

    @one_at_a_time
    def get_result(self) -> list[Emission]:
        """Evaluates the buffer, and returns a copy of all emissions that wait.

        They stay, so a second call returns them again. After a commit that failed, it returns those that
        were not removed.

        Raises:
            InputError: in `mode="automatic"`, where `downstream` receives the emissions.
        """
        return self._emitted()

    def _emitted(self) -> list[Emission]:
        if self._delivery.downstream is not None:
            rule = "in mode='automatic' the downstream receives all emissions"
            raise InputError("get_result()", rule, "use mode='standalone', or timeout()")
        if not self._delivery.failed:
            self._delivery.check_open()
            if not self._driver.defers:  # what is deferred emits nothing
                self._driver.evaluate()
        return list(self._driver.outbox)

    @one_at_a_time
    def drain(self) -> list[Emission]:
        """Evaluates the buffer, and returns and removes all emissions that wait.

        It commits nothing: after a restart from the last commit, the same rows have the same numbers.

        Raises:
            InputError: in `mode="automatic"`, where `downstream` receives the emissions.
        """
        found = self._emitted()
        self._driver.outbox.clear()
        return found

    @one_at_a_time
    def flush(self) -> list[Emission]:
        """Evaluates the buffer, removes all emissions, and makes state and positions durable.

        First pass on what :meth:`get_result` returns: emissions that are removed here are not repeated after
        a restart. In `mode="automatic"` emissions are delivered, and nothing is removed.

        Returns:
            The emissions that it removed.

        Raises:
            DeliveryDisabledError: in `mode="automatic"`, if `downstream` refuses an emission.
            StateError: if the store cannot be written. It is then as after the commit before, and nothing is
                removed: :meth:`get_result` and :meth:`drain` still return the emissions.
        """
        self._delivery.check_open()
        found = [] if self._delivery.downstream else self._emitted()
        self._timeout(None)
        self._delivery.check_enabled()
        self._delivery.commit(accepted=len(found))
        return found

    @one_at_a_time
    def remove_waiting(self) -> list[WaitingMessage]:
        """Removes the messages that wait, and returns them with their inputs and positions.

        If the evaluation of a buffer raises an error, its messages stay. Remove them, and add again those
        that raise none.

        >>> from panewise import Tumbling, UserAggregate, WindowOperator
        >>> def with_inverse(total, v):
        ...     return total + 1 / v
        >>> inverses = UserAggregate.fold(
        ...     "inverses", 0.0, with_inverse, combine=float.__add__, result="double"
        ... )
        >>> spec = WindowOperator(window=Tumbling(10), aggregates=[inverses("v").alias("total")])
        >>> operator = StandaloneOperator(spec, {"event_time": "bigint", "v": "bigint"}, buffer=None)
        >>> for v in (4, 0):
        ...     operator.add_message({"event_time": 1, "v": v})
        >>> try:
        ...     operator.finish()
        ... except Exception:  # a division by zero
        ...     removed = operator.remove_waiting()
        >>> for message, input, position in removed[:1]:
        ...     operator.add_message(message, input, position)
        >>> operator.finish()
        >>> [row["total"] for emission in operator.drain() for row in emission.rows.to_dicts()]
        [0.25]
        """
        self._delivery.check_open()
        self._delivery.catch_up()
        return self._driver.buffer.clear()

    @one_at_a_time
    def close(self) -> None:
        """Calls the callback `teardown`, and closes the store. It commits nothing.

        Messages and emissions that wait are discarded: call :meth:`flush` before. With a store, what was
        added after the last commit is to be added again, from :meth:`positions` on.
        """
        self._delivery.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def add_flagged(operator: StandaloneOperator, frames: Mapping[str, pl.DataFrame]) -> None:
    """Adds a batch whose rows may be flagged as misfits, for the runtime of tests."""
    with operator._calls.one():
        operator._delivery.ready()
        operator._add(frames)
        operator._delivery.settle()


def delivery_of(operator: StandaloneOperator) -> Delivery:
    """Returns the way of an operator's emissions, for the front of asyncio."""
    return operator._delivery


def _host(spec: Specification, schemas: Schemas, store: Any, callbacks: Callbacks) -> Host:
    """Returns the place of an operator's state."""
    if store is None:
        return MemoryHost(spec, schemas)
    found, close = opened(store)
    return StoreHost(spec, schemas, found, callbacks.write, close)


def _materialized(spec: Any, schemas: Schemas, host: Host, store: Any) -> Materialized | None:
    """Returns what puts the results of an operator into a store, None without a store."""
    if store is None:
        return None
    materializable.check(spec, schemas, host.operator.plan.pane_schema, store)
    return Materialized(spec, store)
