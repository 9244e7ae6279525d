"""An operator for asyncio: producers wait while the consumer is behind."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from panewise.chrono import InstantLike
from panewise.engine.ingest.output import Counts
from panewise.errors import InputError
from panewise.spec import Specification
from panewise.standalone.buffer import WaitingMessage
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.emission import Emission
from panewise.standalone.frames import Frame
from panewise.standalone.life_cycle import LifeCycle
from panewise.standalone.messages import Message
from panewise.standalone.operator import StandaloneOperator, delivery_of
from panewise.standalone.operator_store import OperatorStore
from panewise.standalone.positions import Position
from panewise.stores import SessionStore, WindowStore


class AsyncOperator:
    """A standalone operator whose emissions are read with `async for`, while others add messages.

    It starts no thread: steps and commits run in the thread of the event loop. An emission counts as accepted
    when the loop over the operator requests the next one. While `capacity` emissions are not accepted,
    whoever adds something waits. With a store, a commit follows when all emissions are accepted, and
    whoever waits continues after it.

    One loop at a time reads the operator. When it is closed, calls that wait raise an InputError.

    Args:
        spec, schema, buffer, store, commit_rows, callbacks, materialize: as for :class:`StandaloneOperator`.
        capacity: how many emissions may wait. One step may emit more than one. Default: 100.

    Raises:
        InputError: if an argument does not fit the specification.
        SpecError: if a column is missing, or has a type that the specification cannot use.
        StateError: if the store cannot be used.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.sum("v").alias("total")])
    >>> async def produce(operator):
    ...     for v in (2, 3):
    ...         await operator.add_message({"event_time": 1, "v": v})
    ...     await operator.finish()
    ...     await operator.end()
    >>> async def main():
    ...     async with AsyncOperator(spec, {"event_time": "bigint", "v": "bigint"}) as operator:
    ...         producer = asyncio.create_task(produce(operator))
    ...         totals = [row["total"] async for one in operator for row in one.rows.to_dicts()]
    ...         await producer
    ...     return totals
    >>> asyncio.run(main())
    [5]

    Source: S1 "Windowed Aggregator" (downstream that refuses); semantics 32.5.
    """

    def __init__(
        self,
        spec: Specification,
        schema: Mapping[str, Any],
        *,
        capacity: int = 100,
        buffer: int | None = 1,
        store: str | Path | OperatorStore | None = None,
        commit_rows: int = 1,
        callbacks: Callbacks | None = None,
        materialize: WindowStore | SessionStore | None = None,
    ) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            raise InputError(f"capacity={capacity!r}", "it is a whole number above zero", "give 1 or more")
        self._operator = StandaloneOperator(
            spec,
            schema,
            buffer=buffer,
            store=store,
            commit_rows=commit_rows,
            callbacks=callbacks,
            materialize=materialize,
        )
        self._delivery, self._outbox = delivery_of(self._operator), delivery_of(self._operator).driver.outbox
        self._capacity, self._commit_rows = capacity, commit_rows
        self._changes = _Changes()
        self._delivery.changed = self._changes.notify
        self._loop: _Loop | None = None
        self._taken: Emission | None = None  # the emission that the loop has, and has not accepted
        self._ended = self._full = False

    @property
    def life_cycle(self) -> LifeCycle:
        """The life cycle of the operator. Its calls wait for nothing."""
        return self._operator.life_cycle

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts of rows by input, as those of :class:`StandaloneOperator`."""
        return self._operator.counts

    def positions(self, port: str | None = None) -> list[Position]:
        """Returns the highest offset of each partition, as :meth:`StandaloneOperator.positions` does."""
        return self._operator.positions(port)

    def remove_waiting(self) -> list[WaitingMessage]:
        """Removes the messages that wait, as :meth:`StandaloneOperator.remove_waiting` does."""
        return self._operator.remove_waiting()

    async def add_message(
        self, message: Message, port: str | None = None, position: Position | None = None
    ) -> None:
        """Adds one row, as :meth:`StandaloneOperator.add_message` does; waits while too much is emitted."""
        await self._do(lambda operator: operator.add_message(message, port, position))

    async def add_batch(
        self, rows: Frame | Mapping[str, Frame], port: str | None = None, positions: Iterable[Position] = ()
    ) -> None:
        """Adds a batch, as :meth:`StandaloneOperator.add_batch` does; waits while too much is emitted."""
        await self._do(lambda operator: operator.add_batch(rows, port, positions))

    async def advance(
        self,
        *,
        watermark: InstantLike | None = None,
        clock: InstantLike | None = None,
        input: str | None = None,  # noqa: A002 - the word of the semantics
    ) -> None:
        """Moves the clocks, as :meth:`StandaloneOperator.advance` does; waits while too much is emitted."""
        await self._do(lambda operator: operator.advance(watermark=watermark, clock=clock, input=input))

    async def timeout(self, now: InstantLike | None = None) -> None:
        """Evaluates the buffer, and reads the clock; waits while too much is emitted."""
        await self._do(lambda operator: operator.timeout(now))

    async def finish(self, port: str | None = None) -> None:
        """Ends an input, or all inputs; waits while too much is emitted."""
        await self._do(lambda operator: operator.finish(port))

    async def end(self) -> None:
        """Ends the loop over the operator, once it has received what is emitted.

        The messages in the buffer are evaluated first. Nothing can be added afterwards. It waits while too
        much is emitted.
        """
        await self._do(lambda operator: operator.timeout())
        self._ended = True
        self._changes.notify()

    async def _do(self, work: Callable[[StandaloneOperator], object]) -> None:
        """Does a step when there is room for what it emits."""
        await self._changes.until(lambda: self._ended or self._delivery.closed or self._has_room())
        if self._ended:
            raise InputError("an operator that has ended", "nothing is added after end()", "make a new one")
        work(self._operator)
        self._commit()

    def _has_room(self) -> bool:
        """Returns whether something can be added.

        With a store there is room again when all emissions are accepted. Otherwise there might always be one
        that is not, and nothing would be committed.
        """
        if len(self._outbox) >= self._capacity:
            self._full = True
        elif not self._outbox or not self._delivery.driver.host.is_durable:
            self._full = False
        return not self._full

    def _commit(self) -> None:
        """Commits if no emission waits and enough rows have been added."""
        if self._delivery.driver.host.is_durable:
            self._delivery.commit(self._commit_rows)

    def __aiter__(self) -> AsyncIterator[Emission]:
        """Begins a loop, which takes the place of an earlier one.

        The emission that the earlier loop took last, and has not accepted, comes again.
        """
        self._taken, self._loop = None, _Loop(self._next)
        self._changes.notify()
        return self._loop

    async def _next(self, loop: "_Loop") -> Emission:
        """Accepts the emission before, and returns the next one."""
        self._check_loop(loop)
        if self._taken is not None:
            self._accept(self._taken)
        await self._changes.until(
            lambda: self._outbox or self._ended or self._delivery.closed or self._loop is not loop
        )
        self._check_loop(loop)
        if not self._outbox:
            self._delivery.commit()
            raise StopAsyncIteration
        self._taken = self._outbox[0]
        return self._taken

    def _accept(self, emission: Emission) -> None:
        """Removes the emission that the loop has done with."""
        self._taken = None
        if self._outbox and self._outbox[0] is emission:  # not so after a reset
            self._outbox.popleft()
        self._commit()
        self._changes.notify()

    def _check_loop(self, loop: "_Loop") -> None:
        self._delivery.check_open()
        if self._loop is not loop:
            rule = "one loop at a time reads an operator, the one that began last"
            raise InputError("a loop that another one has replaced", rule, "read in one task")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._operator.close()


class _Loop:
    """A loop over the emissions of an operator."""

    def __init__(self, following: "Callable[[_Loop], Awaitable[Emission]]") -> None:
        self._following = following

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Emission:
        return await self._following(self)


class _Changes:
    """Wakes the tasks that wait for a change of an operator, in the order in which they began to wait.

    It needs no lock, as all tasks run in one event loop, and a step of the operator awaits nothing.
    """

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits until a condition is true."""
        while not condition():
            change = asyncio.get_running_loop().create_future()
            self._waiting[change] = None
            try:
                await change
            finally:
                self._waiting.pop(change, None)

    def notify(self) -> None:
        """Lets all tasks that wait look at their conditions again."""
        for change in self._waiting:
            if not change.done():
                change.set_result(None)
