"""An operator for asyncio: producers wait while the consumer is slower."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Never

from panewise.chrono import InstantLike
from panewise.engine.ingest.output import Counts
from panewise.spec import Specification
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.standalone.arguments import check_number
from panewise.standalone.batches import Frame
from panewise.standalone.buffer import WaitingMessage
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.emission import Emission
from panewise.standalone.front import AsyncFront
from panewise.standalone.life_cycle import LifeCycle
from panewise.standalone.messages import Message
from panewise.standalone.operator import EvaluationMode, StandaloneOperator
from panewise.standalone.operator_store import OperatorStore
from panewise.standalone.positions import RowPosition
from panewise.stores import SessionStore, WindowStore


class _OperatorOfLoop(StandaloneOperator):
    _of_loop = True


class AsyncOperator(AsyncFront[Emission]):
    """A standalone operator whose emissions are read with `async for`, while others add messages.

    It starts no thread: steps and commits run in the thread of the event loop. An emission counts as accepted
    when the loop over the operator requests the next one. While `capacity` emissions are not accepted,
    whoever adds something waits. With a store, a commit follows when all emissions are accepted, and
    whoever waits continues after it.

    One loop at a time reads the operator. When it is closed, calls that wait raise an InputError.

    All arguments but `capacity` are those of :class:`StandaloneOperator`.

    Args:
        capacity: how many emissions may wait. One step may emit more than one. Default: 100.

    Raises:
        InputError: if an argument does not fit the specification.
        SpecError: if a column is missing, or has a type that the specification cannot use.
        StateError: if the store cannot be used.

    >>> import asyncio
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

    def __init__(  # noqa: PLR0913 - each is a choice of its own
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
        initial_state: str | Path | None = None,
        added_aggregates: AddedAggregates = "null",
    ) -> None:
        check_number("capacity", capacity)
        self._operator = _OperatorOfLoop(
            spec,
            schema,
            buffer=buffer,
            store=store,
            commit_rows=commit_rows,
            callbacks=callbacks,
            materialize=materialize,
            initial_state=initial_state,
            added_aggregates=added_aggregates,
        )
        super().__init__(self._operator, capacity)

    @property
    def life_cycle(self) -> LifeCycle:
        """The life cycle of the operator. Its calls wait for nothing."""
        return self._operator.life_cycle

    @property
    def evaluation(self) -> EvaluationMode:
        """How the operator evaluates messages, as that of :class:`StandaloneOperator`."""
        return self._operator.evaluation

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts of rows by input, as those of :class:`StandaloneOperator`."""
        return self._operator.counts

    def positions(
        self,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        **others: Never,
    ) -> list[RowPosition]:
        """Returns the highest offset of each partition, as :meth:`StandaloneOperator.positions` does."""
        return self._operator.positions(input, **others)

    def remove_waiting(self) -> list[WaitingMessage]:
        """Removes the messages that wait, as :meth:`StandaloneOperator.remove_waiting` does."""
        return self._operator.remove_waiting()

    async def export_state(self, file: str | Path, *, replace: bool = False) -> None:
        """Writes the whole state to a file, as :meth:`StandaloneOperator.export_state` does.

        Messages that wait are evaluated first. What the operator has emitted is not a part of the state. As
        other calls, it is refused after :meth:`end`.
        """
        await self._step(lambda: self._operator.export_state(file, replace=replace))

    async def add_message(
        self,
        message: Message,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        position: RowPosition | None = None,
        **others: Never,
    ) -> None:
        """Adds one row, as :meth:`StandaloneOperator.add_message` does; waits while too much is emitted."""
        await self._step(lambda: self._operator.add_message(message, input, position, **others))

    async def add_batch(
        self,
        rows: Frame | Mapping[str, Frame],
        input: str | None = None,  # noqa: A002 - the word of the semantics
        positions: Iterable[RowPosition] = (),
        **others: Never,
    ) -> None:
        """Adds a batch, as :meth:`StandaloneOperator.add_batch` does; waits while too much is emitted."""
        await self._step(lambda: self._operator.add_batch(rows, input, positions, **others))

    async def advance(
        self,
        *,
        watermark: InstantLike | None = None,
        clock: InstantLike | None = None,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        **others: Never,
    ) -> None:
        """Moves the clocks, as :meth:`StandaloneOperator.advance` does; waits while too much is emitted."""
        await self._step(
            lambda: self._operator.advance(watermark=watermark, clock=clock, input=input, **others)
        )

    async def timeout(self, now: InstantLike | None = None) -> None:
        """Evaluates the buffer, and reads the clock; waits while too much is emitted."""
        await self._step(lambda: self._operator.timeout(now))

    async def finish(
        self,
        input: str | None = None,  # noqa: A002 - the word of the semantics
        **others: Never,
    ) -> None:
        """Ends an input, or all inputs; waits while too much is emitted."""
        await self._step(lambda: self._operator.finish(input, **others))
