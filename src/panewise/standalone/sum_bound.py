"""An upper bound of the absolute values of all sums, so that no sum of messages that wait overflows."""

from datetime import datetime
from typing import Any, Final

import polars as pl

from panewise.engine.aggregate.overflow import greatest
from panewise.standalone.driver import Driver
from panewise.standalone.messages import Message

_LIMIT: Final = 2**62  # half of what 64 bits contain, so that a message that reaches it does not overflow
_OF_DATETIME: Final = 2**58  # larger than the microseconds of every datetime, which an event time may be
_PAUSE: Final = 10  # messages between two computations, which read the whole state


class SumBound:
    """The bound: a bound of the sums in the state, and the absolute values of all that was added since.

    Invariant: while the bound is known, it is at least the absolute value of each sum of the state and of the
    messages that wait. When it reaches its limit, it is computed anew from the state, from which windows have
    expired. Until it is below the limit, messages do not wait.

    Args:
        driver: the steps of the operator.
        columns: the columns of whole numbers that are summed.
        merges: whether windows merge, as sessions do. Then the bound of the state contains all sums together.
    """

    def __init__(self, driver: Driver, columns: frozenset[str], *, merges: bool) -> None:
        self._driver, self._columns, self._merges = driver, columns, merges
        self._bound: int | None = None  # None: unknown
        self._pause = 0

    def forget(self) -> None:
        """Makes the bound unknown, as it was computed from another state."""
        self._bound, self._pause = None, 0

    def add(self, message: Message) -> bool:
        """Adds a message, and returns whether no sum can overflow. Otherwise the message must not wait."""
        if not self._columns:
            return True
        bound = self._compute() if self._bound is None else self._bound
        if bound is None:
            return False
        for name in self._columns:
            value = message.get(name)
            if isinstance(value, int):
                bound += abs(value) if -(2**63) <= value < 2**63 else 0  # others fit no column
            elif isinstance(value, datetime):
                bound += _OF_DATETIME
        self._set(bound)
        return self._bound is not None

    def add_batch(self, rows: pl.DataFrame) -> None:
        """Adds a batch, which does not wait."""
        if self._bound is not None:
            self._bound += sum(greatest(rows[name]) * rows.height for name in self._columns)

    def _compute(self) -> int | None:
        """Returns the bound of the state; None soon after another computation, and while messages wait."""
        if self._pause or self._driver.buffer.size:
            self._pause = max(0, self._pause - 1)
            return None
        self._set(self._of_state())
        return self._bound

    def _set(self, bound: int) -> None:
        self._bound, self._pause = (bound, 0) if bound < _LIMIT else (None, _PAUSE)

    def _of_state(self) -> int:
        operator: Any = self._driver.operator
        names = [part.name for part in operator.plan.aggregation.parts if part.sums in self._columns]
        tables = [table.all() for table in operator.state.tables.values()]
        of_all = _total if self._merges else greatest
        return sum(of_all(table[name]) for table in tables for name in names)


def _total(values: pl.Series) -> int:
    """Returns the sum of the absolute values."""
    return int(values.cast(pl.Int128).abs().sum())
