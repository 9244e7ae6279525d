"""The loop of asyncio over what an operator emits: producers wait while it is behind (semantics 32.5)."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from panewise.calls import Calls
from panewise.errors import ConcurrentCallError, InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Source(Generic[T]):
    """An operator, as far as the loop over its outputs needs it.

    Args:
        calls: which thread is within a call of the operator.
        outbox: the outputs that wait.
        is_durable: whether a commit has to follow when all outputs are accepted.
        check_open: raises InputError if the operator is closed.
        is_closed: returns whether it is closed.
        commit: commits what is due, if no output waits.
        finish: commits everything, at the end of the loop.
    """

    calls: Calls
    outbox: deque[T]
    is_durable: bool
    check_open: Callable[[], object]
    is_closed: Callable[[], bool]
    commit: Callable[[], object]
    finish: Callable[[], object]


class OutputLoop(Generic[T]):
    """The outputs of an operator, for one loop at a time. It accepts an output when it requests the next one.

    Args:
        source: the operator.
        capacity: how many outputs may wait, at least 1.
    """

    def __init__(self, source: Source[T], capacity: int) -> None:
        self._source, self._outbox, self._capacity = source, source.outbox, capacity
        self.changes = Changes()
        self._loop: _Loop[T] | None = None
        self._taken: T | None = None  # the output that the loop has, and has not accepted
        self._ended = self._full = False

    async def step(self, work: Callable[[], Any]) -> Any:
        """Does a step when there is room for what it emits, and returns its result."""
        await self.changes.until(lambda: self._ended or self._source.is_closed() or self._has_room())
        if self._ended:
            raise InputError("an operator that has ended", "nothing is added after end()", "make a new one")
        result = work()
        with self._source.calls.one():
            self._source.commit()
        return result

    def end(self) -> None:
        """Ends the loop once it has received what is emitted."""
        self._ended = True
        self.changes.notify()

    def _has_room(self) -> bool:
        """Returns whether something can be added.

        With a store there is room again when all outputs are accepted. Otherwise there might always be one
        that is not, and nothing would be committed.
        """
        if len(self._outbox) >= self._capacity:
            self._full = True
        elif not self._outbox or not self._source.is_durable:
            self._full = False
        return not self._full

    def __aiter__(self) -> AsyncIterator[T]:
        """Begins a loop, which takes the place of an earlier one.

        The output that the earlier loop took last, and has not accepted, comes again.
        """
        self._taken, self._loop = None, _Loop(self._next)
        self.changes.notify()
        return self._loop

    async def _next(self, loop: "_Loop[T]") -> T:
        """Accepts the output before, and returns the next one."""
        self._check_loop(loop)
        if self._taken is not None:
            self._accept(self._taken)
        await self.changes.until(
            lambda: self._outbox or self._ended or self._source.is_closed() or self._loop is not loop
        )
        self._check_loop(loop)
        if not self._outbox:
            with self._source.calls.one():
                self._source.finish()
            raise StopAsyncIteration
        self._taken = self._outbox[0]
        return self._taken

    def _accept(self, output: T) -> None:
        """Removes the output that the loop has done with."""
        with self._source.calls.one():
            self._taken = None
            if self._outbox and self._outbox[0] is output:  # not so after a reset
                self._outbox.popleft()
            self._source.commit()
        self.changes.notify()

    def _check_loop(self, loop: "_Loop[T]") -> None:
        self._source.check_open()
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


class Changes:
    """Wakes the tasks that wait for a change of an operator, in the order in which they began to wait.

    It needs no lock, as all tasks run in one event loop, and a step of the operator awaits nothing.
    """

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits until a condition is true.

        Raises:
            ConcurrentCallError: in another event loop than that of the first call, if that is not closed.
        """
        self._check_loop()
        while not condition():
            change = asyncio.get_running_loop().create_future()
            self._waiting[change] = None
            try:
                await change
            finally:
                self._waiting.pop(change, None)

    def _check_loop(self) -> None:
        """Refuses a second event loop: nothing in it would wake what waits in the first one."""
        running = asyncio.get_running_loop()
        if self._loop is not running:
            if self._loop is not None and not self._loop.is_closed():
                rule = "all calls that may wait are made in one event loop"
                remedy = "make the call there, as with asyncio.run_coroutine_threadsafe"
                raise ConcurrentCallError("a call in a second event loop", rule, remedy)
            self._loop = running

    def notify(self) -> None:
        """Lets all tasks that wait look at their conditions again."""
        for change in self._waiting:
            if not change.done():
                change.set_result(None)
