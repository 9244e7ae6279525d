"""A standalone operator behind its host: what waits before the steps of the engine, and when it commits.

Messages wait in a buffer, or because they cannot emit anything yet (:mod:`panewise.standalone.deferral`).
They are evaluated before a step that may emit, and before somebody looks at the state or the counts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from panewise.engine.ingest.output import Output
from panewise.engine.protocol import Operator
from panewise.standalone.deferral import Deferral
from panewise.standalone.delivery import Delivery
from panewise.standalone.driver import Driver
from panewise.standalone.emission import Emission

MAX_DEFERRED: Final = 10_000  # steps


class OperatorCore:
    """The steps of an operator of the engine, with deferral, delivery and commits.

    Args:
        driver: the steps.
        deferral: decides which messages may wait.
        delivery: where emissions wait.
        commit_rows: how many rows are added between two commits.
    """

    def __init__(
        self, driver: Driver, deferral: Deferral, delivery: Delivery[Emission], commit_rows: int
    ) -> None:
        self._driver, self._deferral, self._delivery = driver, deferral, delivery
        self._commit_rows = commit_rows

    @property
    def is_durable(self) -> bool:
        """Whether a commit survives the process."""
        return self._driver.host.is_durable

    @property
    def clock(self) -> int:
        """Processing time, with the readings that wait."""
        return self._driver.clock

    def ready(self) -> Driver:
        """Returns the driver for a further step, after the messages that wait have been evaluated."""
        self._delivery.check_ready()
        self.evaluate()
        self._delivery.check_enabled()
        return self._driver

    def step(self, work: Callable[[Operator], Iterable[Output]]) -> None:
        """Does a step after what waits has been evaluated, and settles it."""
        self.ready().step(work)
        self.settle()

    def collect(self) -> None:
        """Evaluates the messages in the buffer. Deferred messages stay, as they emit nothing."""
        if not self._driver.defers:
            self._driver.evaluate()

    def evaluate(self) -> None:
        """Evaluates all messages that wait, and delivers what they emit."""
        if self._driver.buffer.steps:
            self._driver.evaluate()
            self.settle()

    def catch_up(self) -> None:
        """Evaluates what was deferred."""
        if self._driver.defers:
            self.evaluate()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Marks a call that reads the state, after deferred steps have been evaluated.

        A function of the user may read during a call of the operator, unless deferred steps wait.
        """
        calls = self._delivery.calls
        if calls.is_mine:
            if self._driver.defers and self._driver.buffer.steps:
                calls.refuse()
            yield
            return
        with calls.within():
            self.catch_up()
            yield

    def defers_move(self, clock: int | None, watermark: int | None) -> bool:
        """Lets readings of the clocks wait, if they may. Returns whether they do."""
        if not self._deferral.moves(clock, watermark):
            return False
        if self._driver.buffer.steps >= self.room():
            self.evaluate()
        return True

    def room(self) -> int:
        """Returns the number of deferred steps at which they are evaluated, so that a commit is not late."""
        if not (self._delivery.commits and self.is_durable):
            return MAX_DEFERRED
        return min(MAX_DEFERRED, self._commit_rows - self._driver.uncommitted)

    def timeout(self, now: int | None) -> None:
        """Evaluates what waits and reads the clock, unless the downstream refuses an emission.

        A reading that may be deferred waits with the messages, and nothing is evaluated.
        """
        if now is not None and self.defers_move(now, None):
            return
        self.evaluate()
        if self._delivery.disabled:
            return
        if now is not None:
            self._driver.step(lambda operator: [operator.advance(processing_time=now)])
        self.settle()

    def drain(self) -> None:
        """Delivers what waits, then evaluates the buffer."""
        if self._delivery.deliver():
            self.evaluate()

    def settle(self) -> None:
        """Delivers what steps have emitted. With a downstream it then commits, if a commit is due."""
        if self._delivery.deliver() and self._delivery.automatic:
            self.commit_due()

    def commit_due(self) -> None:
        """Commits if enough rows have been added, and neither an emission nor a message waits."""
        if self.is_durable and not self._delivery.outputs and self._driver.uncommitted >= self._commit_rows:
            self.commit()

    def commit(self) -> None:
        """Commits. If that fails the operator is closed, as its store is as after the commit before."""
        try:
            self._driver.commit()
        except BaseException:
            self._close(failed=True)
            raise

    def close(self) -> None:
        """Evaluates deferred messages, calls the callback `teardown`, and releases the store, once."""
        self._close(failed=False)

    def _close(self, *, failed: bool) -> None:
        if self._delivery.closed:
            return
        try:
            if self._driver.defers:
                self._driver.evaluate()
        finally:
            self._delivery.close(self._driver.host.close, failed=failed)

    def save(self, name: str) -> None:
        """Saves the whole state under a name."""
        self.ready().save(name)

    def restore(self, name: str | None) -> bool:
        """Returns to a saved state, and emits what is due there at the present clock."""
        self.catch_up()
        now = self._driver.operator.state.clocks.processing_time
        step = self._driver.restore(name)
        if step is None:
            return False
        self._delivery.discard(lambda emission: emission.step >= step)
        self._deferral.reset()
        if name is not None:  # nothing can be due in the initial state
            self._driver.step(lambda operator: [operator.advance(processing_time=now)])
        self.settle()
        return True

    def evict(self, partition: Mapping[str, Any]) -> bool:
        """Evicts a partition, if the operator has partitions."""
        evict = self._driver.operator.evict
        if evict is not None:
            self.step(lambda _: [evict(partition)])
        return evict is not None
