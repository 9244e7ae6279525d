"""The loop of asyncio over what an operator emits: producers wait while it is behind (semantics 32.5)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, Self, TypeVar

from panewise.errors import InputError
from panewise.standalone.delivery import Core, Delivery

T = TypeVar("T")
R = TypeVar("R")


class OutputLoop(Generic[T]):
    """The outputs of an operator, for one loop at a time. It accepts an output when it requests the next one.

    Args:
        delivery: the outputs that wait.
        core: the operator.
        capacity: how many outputs may wait, at least 1.
    """

    def __init__(self, delivery: Delivery[T], core: Core, capacity: int) -> None:
        self._delivery, self._core, self._capacity = delivery, core, capacity
        self._outputs, self._changes = delivery.outputs, delivery.changes
        delivery.begin_loop()
        self._loop: _Loop[T] | None = None
        self._taken: T | None = None  # the output that the loop has, and has not accepted
        self._ended = self._full = False

    async def step(self, work: Callable[[], R]) -> R:
        """Waits for room, does a step, and returns its result. After :meth:`end` it raises an error."""
        await self._changes.until(lambda: self._ended or self._delivery.closed or self._has_room())
        if self._ended:
            raise InputError("an operator that has ended", "nothing is added after end()", "make a new one")
        result = work()
        with self._delivery.calls.within():
            self._core.commit_due()
        return result

    def end(self) -> None:
        """Refuses further steps, and stops the loop once no output waits."""
        self._ended = True
        self._changes.notify()

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

    def __aiter__(self) -> AsyncIterator[T]:
        """Begins a loop, which takes the place of an earlier one.

        The output that the earlier loop took last, and has not accepted, comes again.
        """
        self._taken, self._loop = None, _Loop(self._next)
        self._changes.notify()
        return self._loop

    async def _next(self, loop: "_Loop[T]") -> T:
        """Accepts the output before, and returns the next one."""
        self._check_loop(loop)
        if self._taken is not None:
            self._accept(self._taken)
        await self._changes.until(
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
        self._changes.notify()

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
