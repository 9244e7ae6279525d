"""S1's window operators for asyncio: producers wait while the consumer is slower."""

from typing import Any

from panewise.chrono import InstantLike
from panewise.errors import InputError
from panewise.standalone.arguments import check_number
from panewise.standalone.batches import Frame
from panewise.standalone.front import AsyncFront
from panewise.standalone.retained.operator import RetainedWindows
from panewise.standalone.retained.outputs import Classified, SessionKey, WindowOutput


class AsyncWindows(AsyncFront[WindowOutput]):
    """Retained windows whose outputs are read with `async for`, while others add messages.

    It starts no thread: steps and flushes run in the thread of the event loop. An output counts as accepted
    when the loop requests the next one. While `capacity` outputs are not accepted, whoever adds something
    waits. When all outputs are accepted, a flush follows an output, the opening of a window and an expiry, as
    in `mode="automatic"`. With a store, whoever waits continues after it.

    One loop at a time reads the operator. When it is closed, calls that wait raise an InputError. Windows and
    messages are read with the operator itself; its `drain` and `flush` would take outputs from the loop.

    Args:
        operator: a WindowedAggregator or a JoinWindowOperator with `mode="standalone"`. It is closed at the
            end of an `async with` block.
        capacity: how many outputs may wait. One step may emit more than one. Default: 100.

    Raises:
        InputError: for another operator, or a capacity that is not a whole number above zero.

    >>> import asyncio
    >>> from panewise import functions as F
    >>> from panewise.standalone import AggregatorSettings, WindowedAggregator
    >>> settings = AggregatorSettings(
    ...     measure="time", size=10, advance=10, retention_size=1000, retention_time="1 hour"
    ... )
    >>> async def produce(windows):
    ...     for offset, time in enumerate((1, 2, 13)):
    ...         await windows.add_message({"event_time": time}, offset)
    ...     await windows.end()
    >>> async def main():
    ...     operator = WindowedAggregator(settings, [F.count().alias("n")], {"event_time": "bigint"})
    ...     async with AsyncWindows(operator) as windows:
    ...         producer = asyncio.create_task(produce(windows))
    ...         found = [(output.window.start, output.window.value) async for output in windows]
    ...         await producer
    ...     return found
    >>> asyncio.run(main())
    [(0, {'n': 2})]

    Source: S1 "Basic Algorithm for Windowed Aggregators"; semantics 32.5, 32.6.
    """

    def __init__(self, operator: RetainedWindows, *, capacity: int = 100) -> None:
        check_number("capacity", capacity)
        value: object = operator
        if not isinstance(value, RetainedWindows):
            rule = "retained windows are a WindowedAggregator or a JoinWindowOperator"
            raise InputError(f"an operator of the type {type(value).__name__}", rule, "give one of these")
        if operator.mode == "automatic":
            rule = "in mode='automatic' the downstream receives all outputs"
            raise InputError("mode='automatic'", rule, "use mode='standalone'")
        super().__init__(operator, capacity)
        self.operator = operator

    async def add_message(
        self, message: Any, offset: int | None = None, *, now: InstantLike | None = None
    ) -> Classified:
        """Adds a message, as `add_message` of the operator does; waits while too much is emitted."""
        return await self._step(lambda: self.operator.add_message(message, offset, now=now))

    async def add_batch(
        self, rows: Frame, offset: int | None = None, *, now: InstantLike | None = None
    ) -> list[Classified]:
        """Adds the rows of a batch, as `add_batch` of the operator does; waits while too much is emitted."""
        return await self._step(lambda: self.operator.add_batch(rows, offset, now=now))

    async def timeout(self, now: InstantLike | None = None) -> None:
        """Reads the clock, and lets windows emit; waits while too much is emitted."""
        await self._step(lambda: self.operator.timeout(now))

    async def retire(self, end: InstantLike, session_key: SessionKey | None = None) -> int:
        """Removes full windows, as `retire` of the operator does; waits while too much is emitted."""
        return await self._step(lambda: self.operator.retire(end, session_key))
