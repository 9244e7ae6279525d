"""Ctrl-C while a script runs: it is noted, and the script ends where it can be left.

PySpark's own handler calls Spark from within the call that Ctrl-C has interrupted, on the same connection.
That breaks the connection, and each thread that uses it prints a stack trace.
"""

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import Any


class Interruption:
    """Notes Ctrl-C in the block of :meth:`noted`. A second Ctrl-C ends the command at once.

    Args:
        cancel: ends what Spark computes for the main thread. It is called in another thread.

    Attributes:
        requested: whether Ctrl-C was pressed.
    """

    def __init__(self, cancel: Callable[[], object]) -> None:
        self.cancel = cancel
        self.requested = False
        self._polled = False

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes Ctrl-C in the block, if this is the main thread. Only that one can have a handler."""
        if current_thread() is not main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def polled(self) -> Iterator[None]:
        """Cancels nothing while the main thread is in the block, where it soon calls :meth:`check` again."""
        self._polled = True
        try:
            yield
        finally:
            self._polled = False

    def check(self) -> None:
        """Raises KeyboardInterrupt if Ctrl-C was pressed."""
        if self.requested:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.check()
        self.requested = True
        if not self._polled:
            Thread(target=self.cancel, daemon=True).start()


def cancel_jobs(session: Any) -> None:
    """Cancels what a session computes."""
    from panewise.spark.session.driver import is_classic  # noqa: PLC0415 - this loads PySpark

    if is_classic(session):
        session.sparkContext.cancelAllJobs()
    else:
        session.interruptAll()


@contextmanager
def silent_stop(session: Any, *, is_new: bool) -> Iterator[None]:
    """Leaves out of standard error what queries log because they are stopped in this block.

    Spark interrupts their jobs, and their calls of Python. A session that is not new keeps its log.
    """
    from panewise.spark.session.driver import is_classic  # noqa: PLC0415 - this loads PySpark

    if is_new and is_classic(session):
        session.sparkContext.setLogLevel("OFF")
    logger = logging.getLogger("py4j")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
