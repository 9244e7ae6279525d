"""Passes the emissions of an operator on, and commits what led to them (semantics 31, 32).

Invariant: a commit follows the delivery of all emissions that led to it. So each emission is delivered at
least once, and a repeated one has the numbers of the first time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from panewise.errors import DeliveryDisabledError, InputError
from panewise.standalone.answers import refuses
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.driver import Driver
from panewise.standalone.emission import Emission

Downstream: TypeAlias = Callable[[Emission], object]
MAX_DEFERRED: Final = 10_000  # steps


class Delivery:
    """The way of emissions from the outbox of a driver to a downstream.

    Args:
        driver: the steps of the operator.
        downstream: what receives emissions; None: they stay in the outbox.
        commit_rows: how many rows are added between two commits, if there is a downstream.
        callbacks: the functions of the life cycle.

    Attributes:
        commits: whether steps commit, as there is a downstream or a loop of asyncio.
        disabled: whether the downstream has refused an emission, which is the first in the outbox.
        closed: whether the operator is closed.
        failed: whether it is closed because a commit failed.
        changed: is called after each step and when the operator is closed, for the front of asyncio.
    """

    def __init__(
        self, driver: Driver, downstream: Downstream | None, commit_rows: int, callbacks: Callbacks
    ) -> None:
        self.driver, self.downstream, self.callbacks = driver, downstream, callbacks
        self._commit_rows, self.commits = commit_rows, downstream is not None
        self.disabled = self.closed = self.failed = False
        self.changed: Callable[[], object] = lambda: None

    def ready(self) -> Driver:
        """Returns the driver for a further step, after the messages that wait have been evaluated.

        Raises:
            DeliveryDisabledError: if the downstream has refused an emission.
            InputError: if the operator is closed.
        """
        self.check_open()
        self.check_enabled()
        self.evaluate()
        self.check_enabled()
        return self.driver

    def evaluate(self) -> None:
        """Evaluates the messages that wait."""
        if self.driver.buffer.steps:
            self.driver.evaluate()
            self.settle()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Marks a call that reads the state, after what was deferred has been evaluated.

        A function that the operator calls may read, too, if nothing is deferred.
        """
        calls = self.driver.calls
        if calls.is_mine:
            if self.driver.defers and self.driver.buffer.steps:
                calls.refuse()
            yield
            return
        with calls.one():
            self.catch_up()
            yield

    def catch_up(self) -> None:
        """Evaluates what was deferred."""
        if self.driver.defers:
            self.evaluate()

    def limit_deferred(self) -> None:
        """Evaluates what was deferred if a commit is due, or much has been deferred."""
        if self.driver.buffer.steps >= self.room():
            self.evaluate()

    def room(self) -> int:
        """Returns the number of deferred steps at which they are evaluated, so that a commit is not late."""
        if not (self.commits and self.driver.host.is_durable):
            return MAX_DEFERRED
        return min(MAX_DEFERRED, self._commit_rows - self.driver.uncommitted)

    def settle(self) -> None:
        """Delivers what steps have emitted and, if the state is durable, commits it."""
        self.changed()
        if self.downstream is not None and self.deliver() and self.driver.host.is_durable:
            self.commit(self._commit_rows)

    def deliver(self) -> bool:
        """Passes emissions to the downstream, in their order, until it refuses one.

        Returns whether it refused none. An emission leaves the outbox after it has been accepted, so one that
        raised is delivered again.
        """
        outbox = self.driver.outbox
        while outbox and self.downstream is not None:
            self.disabled = True
            self.callbacks.write("output")
            if refuses(self.downstream(outbox[0])):
                return False
            outbox.popleft()
        self.disabled = False
        return True

    def commit(self, rows: int = 1, accepted: int = 0) -> None:
        """Commits, and removes the emissions in the outbox, as many as `accepted`.

        If that fails the operator is closed, as its store is as after the commit before. Emissions stay.
        """
        try:
            self.driver.commit(rows, accepted)
        except BaseException:
            self.failed = True
            self.close()
            raise

    def close(self) -> None:
        """Calls the callback `teardown`, and releases the store. What was deferred is evaluated before."""
        if not self.closed:
            try:
                if self.driver.defers:
                    self.driver.evaluate()
            finally:
                self._release()

    def _release(self) -> None:
        self.closed = True
        self.changed()
        try:
            with self.driver.calls.released():
                self.callbacks.teardown()
        finally:
            self.driver.host.close()

    def check_enabled(self) -> None:
        """Raises DeliveryDisabledError if the downstream has refused an emission."""
        if self.disabled:
            waiting = len(self.driver.outbox)
            rule = "after the downstream has refused an emission nothing can be added"
            remedy = "call timeout() until it returns True, then repeat the call"
            raise DeliveryDisabledError(f"{waiting} emissions that wait", rule, remedy)

    def check_open(self) -> None:
        """Raises InputError if the operator is closed."""
        if self.closed:
            raise InputError("a closed operator", "a closed operator takes no calls", "make a new one")
