"""Calls that wait until an operator has changed: the tasks of asyncio that made them are then woken."""

import asyncio
from collections.abc import Callable

from panewise.errors import ConcurrentCallError


class WaitingCalls:
    """Wakes the tasks whose calls wait for a change of an operator, in the order in which they began to wait.

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
        """Refuses a second event loop, because it could not wake the tasks that wait in the first one."""
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
