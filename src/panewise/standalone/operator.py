"""An operator inside the caller's process: messages and batches in, emissions out."""

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import get_ident
from typing import Any, Literal, Never, TypeAlias

import polars as pl

from panewise.calls import FREE, one_at_a_time
from panewise.chrono import InstantLike, instant_us
from panewise.engine.family_parts import engine_parts
from panewise.engine.ingest.output import Counts
from panewise.engine.protocol import Operator, Schemas
from panewise.errors import StateError
from panewise.spec import Specification
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.standalone import materializable
from panewise.standalone.arguments import (
    check_commits,
    check_input,
    check_input_of_positions,
    check_number,
    check_words,
)
from panewise.standalone.batches import Frame, frame_for
from panewise.standalone.buffer import WaitingMessage
from panewise.standalone.callbacks import Callbacks, callbacks_of
from panewise.standalone.delivery import Delivery, Mode
from panewise.standalone.emission import Emission
from panewise.standalone.front import Front
from panewise.standalone.hosts import Host
from panewise.standalone.materialized import Materialized
from panewise.standalone.messages import Message, check_columns
from panewise.standalone.operator_core import OperatorCore
from panewise.standalone.operator_store import OperatorStore
from panewise.standalone.positions import RowPosition, checked_position
from panewise.standalone.schema import for_schemas, schemas_of
from panewise.stores import SessionStore, WindowStore

EvaluationMode: TypeAlias = Literal["each", "direct", "deferred", "batched"]


class StandaloneOperator(Front[Emission, OperatorCore]):
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
            step without rows counts as one. Refused in `mode="standalone"`, where only :meth:`flush` commits.
            Default: 1, each step is committed.
        callbacks: functions that are called in the life cycle of the operator, and before each write.
        materialize: a store that has the current result of each window after every step, to be read by key.
            It is a SessionStore for sessions, and a WindowStore for other windows of time. It belongs to the
            operator, but you close it. Default: None.
        initial_state: a file with the state of another operator or of a query, with which this one begins
            (semantics 48). A store that began with the same file continues as without it. Default: None.
        added_aggregates: if the state in `store` was made without some of the aggregates: "null", they are
            null in panes with rows from before, or "from_now_on", they do not count these (semantics 47.3).
            Default: "null".

    One call at a time uses an operator: a call beside that of another thread raises ConcurrentCallError.

    Raises:
        InputError: if an argument does not fit the specification or the mode.
        SpecError: if a column is missing, or has a type that the specification cannot use; if the windows
            have no results that a store can contain (semantics 31.16).
        StateError: if the store cannot be used, is open in another process, or was made with a specification
            that this one cannot continue (semantics 47.2), or with other types; if `initial_state` was made
            with another specification or other types, or the store has another state already.

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

    _of_loop = False  # whether a loop of asyncio accepts the outputs

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        spec: Specification,
        schema: Mapping[str, Any],
        *,
        mode: Mode = "standalone",
        downstream: Callable[[Emission], object] | None = None,
        buffer: int | None = 1,
        store: str | Path | OperatorStore | None = None,
        commit_rows: int = 1,
        callbacks: Callbacks | None = None,
        materialize: WindowStore | SessionStore | None = None,
        initial_state: str | Path | None = None,
        added_aggregates: AddedAggregates = "null",
    ) -> None:
        if buffer is not None:
            check_number("buffer", buffer)
        check_number("commit_rows", commit_rows)
        check_commits(mode, commit_rows, of_loop=self._of_loop)
        callbacks = callbacks_of(callbacks)
        delivery = Delivery(mode, downstream, callbacks, kind="emission")
        schemas = schemas_of(spec, schema)
        spec = for_schemas(spec, schemas)
        host = Host(spec, schemas, store, callbacks.write, initial_state, added_aggregates)
        try:
            check_change(host, materialize)
            results = _materialized(host.operator, schemas, materialize)
            self._buffer = buffer
            core = OperatorCore(
                host.operator.spec, schemas, host, delivery, results, buffer=buffer, commit_rows=commit_rows
            )
            super().__init__(delivery, core, continues=bool(host.notes))
        except BaseException:
            host.close()
            raise

    @property
    def spec(self) -> Specification:
        """The specification, as it fits the columns of the input."""
        return self._core.spec

    @property
    def watermark(self) -> int | None:
        """The watermark in microseconds; None if there is none yet, or it is a number of rows."""
        return self._core.watermark

    @property
    def evaluation(self) -> EvaluationMode:
        """How the operator evaluates messages (semantics 31.30). Only its speed depends on it.

        "batched": so many together as `buffer` says. "deferred": those that cannot emit anything yet are
        evaluated later, together. "direct": they emit early panes, OVER rows or rows of a join without
        a step of the engine (31.31). "each": each message when it is added, by a step of the engine.
        """
        if self._buffer != 1:
            return "batched"
        if self._core.records.enabled:
            return "direct"
        return "deferred" if self._core.deferral.enabled else "each"

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts of rows by input, since the first step (semantics 15.1). They survive a restart.

        Messages in the buffer are not counted yet.
        """
        with self._core.reading():
            return dict(self._core.totals)

    def positions(
        self,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        **others: Never,
    ) -> list[RowPosition]:
        """Returns the highest offset of each partition of an input, as `(source, partition, offset)`.

        They are those that the caller gave and, where the specification declares a position, those of valid
        rows. After a restart they are the positions of the last commit: the caller continues after them.
        Messages in the buffer do not count.
        """
        check_words("positions", others)
        with self._core.reading():
            name = self._core.port(input)
            declared, marks = self.spec.ports[name].position, self._core.host.operator.marks(name).table
            known = [] if declared is None or not declared.ordered or marks is None else marks.rows()
            return self._core.positions.with_marks(name, known)

    @one_at_a_time
    def export_state(self, file: str | Path, *, replace: bool = False) -> None:
        """Writes the whole state to a file, with which another operator or query can begin (semantics 48).

        Messages that wait are evaluated first. What the operator has emitted is not a part of the state:
        drain it before.

        Args:
            file: the file. It gets its name when it is complete.
            replace: whether a file of this name is replaced. Default: False.

        Raises:
            DeliveryDisabledError: if the downstream has refused what still waits.
            StateError: if the file exists and `replace` is False, or cannot be written.
        """
        self._delivery.check_open()
        self._core.export(file, replace=replace)

    def live(self) -> pl.DataFrame:
        """Returns the live windows: the keys, window_start, window_end, pending and closed.

        For OVER and joins these are the stored rows; those of joins name their side as `input`. Messages in
        the buffer are not in them.
        """
        with self._core.reading():
            return self._core.host.operator.live()

    def add_message(
        self,
        message: Message,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        position: RowPosition | None = None,
        **others: Never,
    ) -> None:
        """Adds one row.

        Args:
            message: the values by column. A column that is missing is null, and one that the schema lacks is
                refused. A value of another type than its column makes the row invalid, and the emission has
                the message among its `misfits`.
            input: the name of the input, if the operator has several.
            position: `(partition, offset)` or `(source, partition, offset)`. If the specification declares
                a position, its columns get the values, and replays are dropped (semantics 4).

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

    def _add_message(self, message: Message, name: str | None, position: RowPosition | None) -> None:
        self._delivery.check_ready()
        core, where, reached = self._core, self._core.port(name), checked_position(position)
        if core.ended:
            core.check_not_ended((where,))
        if type(message) is not dict and isinstance(message, Mapping):
            message = dict(message)
        if type(message) is dict and not core.columns[where].issuperset(message):
            check_columns(message, core.columns[where])
        if core.records.enabled and core.add_record(message, where, reached):
            return
        waits = core.deferral.takes(message)
        if not waits:
            core.catch_up()
        core.buffer.add(message, where, reached)
        if core.buffer.steps < (core.room() if waits else self._buffer or math.inf):
            return
        try:
            core.evaluate_buffer()
        except BaseException:
            core.buffer.remove_last()
            raise
        core.settle()

    @one_at_a_time
    def add_batch(
        self,
        rows: Frame | Mapping[str, Frame],
        input: str | None = None,  # noqa: A002 - the word of the semantics
        positions: Iterable[RowPosition] = (),
        **others: Never,
    ) -> None:
        """Adds a batch, which is evaluated at once, after the messages that wait.

        Args:
            rows: a Polars DataFrame, or a table or record batch of PyArrow. If the operator has several
                inputs, also such values by input: their rows arrive in one batch.
            input: the name of the input, if the operator has several. With rows by input it is that of the
                positions, and is left out without these.
            positions: the position of the last row of each partition in the batch.

        Raises:
            DeliveryDisabledError: if `downstream` has refused an emission that still waits.
            InputError: if a column is missing or has another type; if the input or a position is malformed;
                if an input with rows has ended.
        """
        check_words("add_batch", others)
        core = self._core
        reached = [position for position in map(checked_position, positions) if position is not None]
        core.prepare()
        if isinstance(rows, Mapping):
            check_input_of_positions(rows, input, reached)
        by_input = rows if isinstance(rows, Mapping) else {core.port(input): rows}
        frames = {core.port(name): frame_for(core.schemas[name], frame) for name, frame in by_input.items()}
        core.add(frames, [(core.port(input), position) for position in reached])

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
            watermark: the watermark; a lower one changes nothing. An int is microseconds since 1970 in UTC.
            clock: processing time, likewise; an earlier one changes nothing.
            input: the input that reports the watermark; None: all inputs.

        Raises:
            DeliveryDisabledError: if `downstream` has refused an emission that still waits.
            InputError: if there is no such input.
            SpecError: if an instant is not one.
        """
        check_words("advance", others)
        self._delivery.check_ready()
        check_input(self.spec, input)
        to = None if watermark is None else instant_us(watermark, "watermark")
        now = None if clock is None else instant_us(clock, "clock")
        self._core.advance(now, to, input)

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
        self._core.prepare()
        self._core.finish(None if input is None else self._core.port(input))

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
        self._core.catch_up()
        return self._core.buffer.clear()


def check_change(host: Host, materialize: object) -> None:
    """Refuses a changed specification beside a store of results, which are those of the old one."""
    if host.changed and materialize is not None:
        rule = "a store has the results of windows as the specification before defines them"
        fault = "materialize=... with a changed specification"
        raise StateError(fault, rule, "leave it out, or start from a new store")


def _materialized(
    operator: Operator, schemas: Schemas, store: WindowStore | SessionStore | None
) -> Materialized | None:
    """Returns the object that puts results of an operator into a store; None without a store."""
    if store is None:
        return None
    windows = materializable.check_materializable(operator.spec, schemas, operator.plan.pane_schema, store)
    results = engine_parts(operator.spec).current_results
    assert results is not None, "a family whose windows have results returns them"
    return Materialized(windows, store, results)
