"""A copy of the tables of an operator as Python objects, which is read again once the tables are others.

Tables never change: each step of the engine makes other ones. Invariant: a copy is used only with the tables
that it was read from, or that have got exactly the rows that were added to it. It is enough to compare which
objects they are.

Cost: a comparison for each table and call. A copy is read in one pass over the rows. One that has
grown beyond `MOST` rows is discarded. After a copy is lost, the engine takes calls first: the more, the more
rows the last reading had (:meth:`CopiedTables.is_read`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import Field, replace
from operator import is_
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias, TypeVar

from panewise.engine.kernels.python_rows import NotInPythonError
from panewise.engine.tables.stored_table import StoredTable

Row: TypeAlias = tuple[Any, ...]

TRIMMED: Final = 64  # rows that are removed from a copy together
MOST: Final = 1 << 20  # rows that a copy may have; they take much more memory than rows of a table
_WORTH: Final = 1_000  # rows that are read in about a third of the time of a step of the engine


class WithTables(Protocol):
    """A state, as far as copies of its tables know it: a dataclass, whose fields can be replaced."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def tables(self) -> Mapping[str, StoredTable]:
        """The tables by name."""

    @property
    def clocks(self) -> Any:
        """The clocks. Their class depends on the family."""


S = TypeVar("S", bound=WithTables)
C = TypeVar("C")


def stored_rows(tables: Iterable[StoredTable]) -> int:
    """Returns the number of rows that tables store, with those that have expired or are hidden."""
    return sum(table.newest.height + sum(run.rows for run in table.runs) for table in tables)


class CopiedTables(ABC, Generic[S, C]):
    """A copy of the tables of a state of type S, whose rows are added and emitted one by one.

    If :meth:`is_copy_of` is true, it has the rows of the tables, and those that have been added to it since.

    Attributes:
        size: the number of rows in the copy.
        clocks: the clocks after the readings that the state does not have yet, None if it has all.
    """

    def __init__(self) -> None:
        self.clocks: C | None = None
        self._tables: list[StoredTable] | None = None
        self._last_read = 0  # rows
        self._calls = 0  # without a copy since then
        self.size = 0
        self.clear()

    @abstractmethod
    def clear(self) -> None:
        """Removes all rows of the copy."""

    @abstractmethod
    def read(self, state: S) -> bool:
        """Reads the tables of a state into an empty copy. Returns whether they are small enough.

        Raises:
            NotInPythonError: if they have a value that only the engine handles.
        """

    @abstractmethod
    def add(self, state: S, port: str, time: int, row: Row) -> list[Row] | None:
        """Adds a valid row that is not late. Returns what is emitted; None if the engine must add it."""

    def advance(
        self, state: S, processing_time: int | None, watermark: int | None, source: str | None
    ) -> list[Row] | None:
        """Moves the clocks. Returns what is emitted; None if the engine must move them."""
        clocks = self._moved(self.clocks_of(state), processing_time, watermark, source)
        emitted = self._advanced(state, clocks)
        if emitted is not None:
            self.clocks = clocks
        return emitted

    @abstractmethod
    def _moved(self, clocks: C, processing_time: int | None, watermark: int | None, source: str | None) -> C:
        """Returns the clocks after a reading."""

    @abstractmethod
    def _advanced(self, state: S, clocks: C) -> list[Row] | None:
        """Returns what is emitted at these clocks; None if the engine must emit it."""

    def clocks_of(self, state: S) -> C:
        """Returns the clocks after all readings: those of the state, unless readings wait here."""
        clocks: C = state.clocks if self.clocks is None else self.clocks
        return clocks

    def take_clocks(self, state: S) -> S:
        """Returns the state with the clocks after all readings. They no longer wait here."""
        state = replace(state, clocks=self.clocks_of(state))
        self.clocks = None
        return state

    def forget(self) -> None:
        """Discards the copy."""
        self._tables, self.size = None, 0
        self.clear()

    def is_copy_of(self, state: S) -> bool:
        """Returns whether this is a copy of the tables of a state."""
        return self._tables is not None and all(map(is_, self._tables, state.tables.values()))

    def follow(self, state: S) -> None:
        """Notes that the tables of a state have what was added. A large copy is discarded."""
        if self.size > MOST:
            self.forget()
        else:
            self._tables = list(state.tables.values())

    def is_read(self, state: S) -> bool:
        """Reads the tables of a state, if this is no copy of them. Returns whether it is one then.

        After a copy was lost, or tables could not be read, calls are left to the engine first: one for each
        `_WORTH` rows of the last reading. So repeated reading takes less time than these steps.
        """
        if self.is_copy_of(state):
            return True
        self.forget()
        self._calls += 1
        if self._calls * _WORTH < self._last_read:
            return False
        self._calls = 0
        if not self._can_read(state):
            self._last_read = stored_rows(state.tables.values())
            self.forget()
            return False
        self._last_read = self.size
        self._tables = list(state.tables.values())
        return True

    def _can_read(self, state: S) -> bool:
        try:
            return self.read(state)
        except NotInPythonError:
            return False
