"""What callers can do with every operator in process: take outputs, move the clock, close it (31, 32)."""

from collections.abc import AsyncIterator
from typing import Generic, Self, TypeVar

from panewise.calls import one_at_a_time
from panewise.chrono import InstantLike, instant_us
from panewise.standalone.delivery import Core, Delivery
from panewise.standalone.life_cycle import LifeCycle
from panewise.standalone.output_loop import OutputLoop

T = TypeVar("T")
C_co = TypeVar("C_co", bound=Core, covariant=True)


class Front(Generic[T, C_co]):
    """An operator in process. Its core does the steps, and its delivery has the outputs that wait.

    One call at a time uses an operator: a call beside that of another thread raises ConcurrentCallError.
    """

    def __init__(self, delivery: Delivery[T], core: C_co, *, continues: bool) -> None:
        self._delivery, self._core, self._calls = delivery, core, delivery.calls
        self.life_cycle = LifeCycle(delivery, core, continues=continues)

    @property
    def delivery_enabled(self) -> bool:
        """Whether messages can be added. False after `downstream` has refused an output."""
        return not self._delivery.disabled

    @property
    def clock(self) -> int:
        """The last reading of processing time in microseconds; 0 before the first one."""
        return self._core.clock

    @one_at_a_time
    def timeout(self, now: InstantLike | None = None) -> bool:
        """Delivers what waits from where it stopped, evaluates the messages that wait, and reads the clock.

        Args:
            now: processing time; None: the clock does not move.

        Returns:
            Whether delivery is enabled. If `downstream` refuses an output that waited before, the clock does
            not move. It has moved if an output that is due at `now` is the first that is refused.

        Raises:
            SpecError: if `now` is not an instant.
            StateError, StoreError: if the store cannot be used.
        """
        self._delivery.check_open()
        reading = None if now is None else instant_us(now, "now")
        if self._delivery.deliver():
            self._core.timeout(reading)
        return not self._delivery.disabled

    @one_at_a_time
    def get_result(self) -> list[T]:
        """Evaluates the messages that wait, and returns copies of all outputs that wait.

        The outputs stay, so a second call returns them again. After a commit that failed, it returns those
        that were not removed.

        Raises:
            InputError: in `mode="automatic"`, where `downstream` receives the outputs.
        """
        return [self._copied(one) for one in self._waiting("get_result()")]

    @one_at_a_time
    def drain(self) -> list[T]:
        """Evaluates the messages that wait, and returns and removes all outputs that wait.

        It makes nothing durable: after a restart from the last commit, the same rows have the same numbers.

        Raises:
            InputError: in `mode="automatic"`, where `downstream` receives the outputs.
        """
        found = self._waiting("drain()")
        self._delivery.clear()
        return found

    def _waiting(self, call: str) -> list[T]:
        delivery = self._delivery
        delivery.check_standalone(call)
        if not delivery.failed:
            delivery.check_open()
            self._core.collect()
        return list(delivery.outputs)

    def _copied(self, output: T) -> T:
        """Returns an output that the caller may change."""
        return output

    @one_at_a_time
    def flush(self) -> list[T]:
        """Evaluates the messages that wait, makes state and positions durable, and removes all outputs.

        First pass on what :meth:`get_result` returns: outputs that are removed here are not repeated after a
        restart. In `mode="automatic"` outputs are delivered, and nothing is removed.

        Returns:
            The outputs that it removed.

        Raises:
            DeliveryDisabledError: in `mode="automatic"`, if `downstream` refuses an output.
            StateError, StoreError: if the store cannot be written. It is then as after the commit before, and
                nothing is removed.
        """
        delivery = self._delivery
        delivery.check_open()
        if delivery.automatic:
            delivery.deliver()
            delivery.check_enabled()
        self._core.evaluate()
        delivery.check_enabled()
        found = list(delivery.outputs)
        self._core.commit()
        delivery.clear()
        return found

    @one_at_a_time
    def close(self) -> None:
        """Calls the callback `teardown`, and closes the store. It commits nothing.

        Outputs and buffered messages that wait are discarded: call :meth:`flush` before. With a store, what
        was added after the last commit is to be added again.
        """
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncFront(Generic[T]):
    """An operator whose outputs are read with `async for`, while others add messages.

    Args:
        operator: the operator.
        capacity: how many outputs may wait.
    """

    def __init__(self, operator: Front[T, Core], capacity: int) -> None:
        self._delivery, self._core = operator._delivery, operator._core
        self._outputs, self._close = OutputLoop(self._delivery, self._core, capacity), operator.close

    async def end(self) -> None:
        """Ends the loop over the outputs, once it has received them. Nothing can be added afterwards.

        This call waits for room. Then the messages that wait are evaluated. Windows that are not full emit
        nothing. The loop commits when it has accepted the last output.
        """
        await self._outputs.step(self._evaluate)
        self._outputs.end()

    def _evaluate(self) -> None:
        with self._delivery.calls.within():
            self._delivery.check_open()
            self._core.evaluate()

    def __aiter__(self) -> AsyncIterator[T]:
        """Begins a loop, which takes the place of an earlier one.

        The output that the earlier loop took last, and has not accepted, comes again.
        """
        return aiter(self._outputs)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._close()
