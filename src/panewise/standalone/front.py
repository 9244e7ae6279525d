"""What callers can do with every operator in process: take outputs, move the clock, close it (31, 32).

With asyncio, producers wait while the loop over the outputs is slower (semantics 32.5).
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, Self, TypeVar

from panewise.calls import one_at_a_time
from panewise.chrono import InstantLike, instant_us
from panewise.errors import InputError
from panewise.standalone.core import Core
from panewise.standalone.delivery import Delivery
from panewise.standalone.life_cycle import LifeCycle

T = TypeVar("T")
R = TypeVar("R")
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
            now: processing time, an int in microseconds since 1970-01-01 UTC; None: the clock does not move.

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
        return [self._copied(output) for output in self._waiting("get_result()")]

    @one_at_a_time
    def drain(self) -> list[T]:
        """Evaluates the messages that wait, and returns and removes all outputs that wait.

        It makes nothing durable: after a restart from the last commit, the same rows have the same numbers.

        Raises:
            InputError: in `mode="automatic"`, where `downstream` receives the outputs.
        """
        outputs = self._waiting("drain()")
        self._delivery.clear()
        return outputs

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
        outputs = list(delivery.outputs)
        self._core.commit()
        delivery.clear()
        return outputs

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

    One loop at a time reads the outputs. It accepts an output when it requests the next one.

    Args:
        operator: the operator.
        capacity: how many outputs may wait, at least 1.
    """

    def __init__(self, operator: Front[T, Core], capacity: int) -> None:
        # Both fronts are of one module: this one accepts the outputs in place of the caller of the other one.
        self._delivery, self._core, self._capacity = operator._delivery, operator._core, capacity
        self._outputs, self._waiting_calls = self._delivery.outputs, self._delivery.waiting_calls
        self._close = operator.close
        self._delivery.begin_loop()
        self._loop: _Loop[T] | None = None
        self._taken: T | None = None  # the output that the loop has, and has not accepted
        self._ended = self._full = False

    async def end(self) -> None:
        """Ends the loop over the outputs, once it has received them. Nothing can be added afterwards.

        This call waits for room. Then the messages that wait are evaluated. Windows that are not full emit
        nothing. The loop commits when it has accepted the last output.
        """
        await self._step(self._evaluate)
        self._ended = True
        self._waiting_calls.notify()

    def _evaluate(self) -> None:
        with self._delivery.calls.within():
            self._delivery.check_open()
            self._core.evaluate()

    def __aiter__(self) -> AsyncIterator[T]:
        """Begins a loop, which takes the place of an earlier one.

        The output that the earlier loop took last, and has not accepted, comes again.
        """
        self._taken, self._loop = None, _Loop(self._next)
        self._waiting_calls.notify()
        return self._loop

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._close()

    async def _step(self, work: Callable[[], R]) -> R:
        """Waits for room, does a step, and returns its result. After :meth:`end` it raises an error."""
        await self._waiting_calls.until(lambda: self._ended or self._delivery.closed or self._has_room())
        if self._ended:
            raise InputError("an operator that has ended", "nothing is added after end()", "make a new one")
        result = work()
        with self._delivery.calls.within():
            self._core.commit_due()
        return result

    def _has_room(self) -> bool:
        """Returns whether something can be added.

        With a store, once it was full, there is room again when all outputs are accepted. Otherwise there
        might always be one that is not, and nothing would be committed.
        """
        if len(self._outputs) >= self._capacity:
            self._full = True
        elif not self._outputs or not self._core.is_durable:
            self._full = False
        return not self._full

    async def _next(self, loop: "_Loop[T]") -> T:
        """Accepts the output before, and returns the next one."""
        self._check_loop(loop)
        if self._taken is not None:
            self._accept(self._taken)
        await self._waiting_calls.until(
            lambda: self._outputs or self._ended or self._delivery.closed or self._loop is not loop
        )
        self._check_loop(loop)
        if not self._outputs:
            with self._delivery.calls.within():
                self._core.commit()
            raise StopAsyncIteration
        self._taken = self._outputs[0]
        return self._taken

    def _accept(self, output: T) -> None:
        """Removes the output that the loop has done with."""
        with self._delivery.calls.within():
            self._taken = None
            if self._outputs and self._outputs[0] is output:  # not so after a reset
                self._outputs.popleft()
            self._core.commit_due()
        self._waiting_calls.notify()

    def _check_loop(self, loop: "_Loop[T]") -> None:
        self._delivery.check_open()
        if self._loop is not loop:
            rule = "one loop at a time reads an operator, the one that began last"
            raise InputError("a loop that another one has replaced", rule, "read in one task")


class _Loop(Generic[T]):
    """A loop over the outputs of an operator."""

    def __init__(self, following: "Callable[[_Loop[T]], Awaitable[T]]") -> None:
        self._following = following

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        return await self._following(self)
