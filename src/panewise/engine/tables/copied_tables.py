"""A copy of the tables of an operator as Python objects, which is read again once the tables are others."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import is_
from typing import Any, Final

from panewise.engine.kernels.python_rows import NotInPythonError
from panewise.engine.tables.stored_table import StoredTable

TRIMMED: Final = 64  # rows that are removed from a copy together
MOST: Final = 1 << 20  # rows that a copy may have; they take much more memory than rows of a table
_WORTH: Final = 1_000  # rows that are read in about a third of the time of a step of the engine


def stored_rows(tables: Iterable[StoredTable]) -> int:
    """Returns the number of rows that tables store, with those that have expired or are hidden."""
    return sum(table.newest.height + sum(run.rows for run in table.runs) for table in tables)


class CopiedTables(ABC):
    """A copy of the tables of an operator, whose rows are added and emitted one by one.

    Invariant: if :meth:`is_copy_of` is true, the copy has the rows of the tables, and those that have been
    added to it since. Tables never change, so it is enough to compare which objects they are.

    Attributes:
        size: the number of rows in the copy.
    """

    def __init__(self) -> None:
        self._tables: list[StoredTable] | None = None
        self._last_read = 0  # rows
        self._calls = 0  # without a copy since then
        self.size = 0
        self.clear()

    @abstractmethod
    def clear(self) -> None:
        """Removes all rows of the copy."""

    @abstractmethod
    def read(self, state: Any) -> bool:
        """Reads the tables of a state into an empty copy. Returns whether they are small enough.

        Raises:
            NotInPythonError: if they have a value that only the engine handles.
        """

    @abstractmethod
    def add(
        self, operator: Any, port: str, time: int, row: tuple[Any, ...], clocks: Any
    ) -> list[tuple[Any, ...]] | None:
        """Adds a valid row that is not late. Returns what is emitted; None if the engine must add it."""

    @abstractmethod
    def advance(self, operator: Any, clocks: Any) -> list[tuple[Any, ...]] | None:
        """Moves the clocks. Returns what is emitted; None if the engine must move them."""

    def forget(self) -> None:
        """Discards the copy."""
        self._tables, self.size = None, 0
        self.clear()

    def is_copy_of(self, operator: Any) -> bool:
        """Returns whether this is a copy of the tables of an operator."""
        return self._tables is not None and all(map(is_, self._tables, operator.state.tables.values()))

    def follow(self, operator: Any) -> None:
        """Notes that the tables of an operator have what was added. A large copy is discarded."""
        if self.size > MOST:
            self.forget()
        else:
            self._tables = list(operator.state.tables.values())

    def is_read(self, operator: Any) -> bool:
        """Reads the tables of an operator, if this is no copy of them. Returns whether it is one then.

        After a large copy was lost, or tables could not be read, some calls are left to the engine first. So
        reading takes no longer than these steps of the engine, also if that happens again and again.
        """
        if self.is_copy_of(operator):
            return True
        self.forget()
        self._calls += 1
        if self._calls * _WORTH < self._last_read:
            return False
        self._calls = 0
        if not self._can_read(operator.state):
            self._last_read = stored_rows(operator.state.tables.values())
            self.forget()
            return False
        self._last_read = self.size
        self._tables = list(operator.state.tables.values())
        return True

    def _can_read(self, state: Any) -> bool:
        try:
            return self.read(state)
        except NotInPythonError:
            return False
