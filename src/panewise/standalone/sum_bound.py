"""A bound of all sums of an operator, so that no sum of messages that wait can overflow."""

from typing import Any, Final

import polars as pl

from panewise.engine.aggregate.overflow import greatest
from panewise.standalone.driver import Driver
from panewise.standalone.messages import Message

_LIMIT: Final = 2**62


class SumBound:
    """The absolute values of all that was added, in one number for all columns.

    Invariant: the bound is at least the absolute value of each sum of the state and of the messages that
    wait. When it reaches its limit it is computed anew from the state, which forgets what has expired.

    Args:
        driver: the steps of the operator.
        columns: the columns of whole numbers that are summed.
    """

    def __init__(self, driver: Driver, columns: frozenset[str]) -> None:
        self._driver, self._columns = driver, columns
        self._bound: int | None = None  # None: unknown
        self._too_large = False  # whether the state alone is near the limit

    def forget(self) -> None:
        """Takes note that the state is another one."""
        self._bound = None

    def add(self, message: Message) -> bool:
        """Takes a message, and returns whether no sum can overflow. Otherwise the message must not wait."""
        if not self._columns:
            return True
        bound = self._known()
        if bound is None:
            return False
        for name in self._columns:
            value = message.get(name)
            if isinstance(value, int):  # larger ones than a column takes count, too
                bound += abs(value)
        self._bound = bound if bound < _LIMIT else None
        return bound < _LIMIT

    def add_batch(self, rows: pl.DataFrame) -> None:
        """Takes a batch, which does not wait."""
        if self._bound is not None:
            self._bound += sum(greatest(rows[name]) * rows.height for name in self._columns)

    def _known(self) -> int | None:
        """Returns the bound, computed from the state if need be; None if that is not possible."""
        if self._bound is None and not self._too_large and not self._driver.buffer.size:
            self._bound = self._of_state()
            self._too_large = self._bound >= _LIMIT // 2
        return None if self._too_large else self._bound

    def _of_state(self) -> int:
        operator: Any = self._driver.operator
        names = [part.name for part in operator.plan.aggregation.parts if part.sums in self._columns]
        tables = [table.all() for table in operator.state.tables.values()]
        return sum(_absolute(table[name]) for table in tables for name in names)


def _absolute(values: pl.Series) -> int:
    """Returns the sum of the absolute values."""
    return int(values.cast(pl.Int128).abs().sum())
