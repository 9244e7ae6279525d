"""Copies of tables are read again only if that is worth it."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from panewise.engine.kernels.python_rows import NotInPythonError
from panewise.engine.tables.copied_tables import MOST, CopiedTables


def _state() -> Any:
    """Returns a state with a table of 5,000 rows."""
    table = SimpleNamespace(newest=SimpleNamespace(height=1_000), runs=[SimpleNamespace(rows=4_000)])
    return SimpleNamespace(tables={"rows": table})


@dataclass
class _Operator:
    """An operator with one table, which is replaced by each step."""

    state: Any = field(default_factory=_state)

    def step(self) -> None:
        self.state = _state()


class _Copy(CopiedTables):
    """A copy of so many rows."""

    def __init__(self, rows: int) -> None:
        self.rows, self.reads, self.error = rows, 0, False
        super().__init__()

    def clear(self) -> None:
        pass

    def read(self, state: Any) -> bool:
        self.reads, self.size = self.reads + 1, self.rows
        if self.error:
            raise NotInPythonError
        return True

    def add(self, operator: Any, port: str, time: int, row: tuple[Any, ...], clocks: Any) -> None:
        """Leaves every row to the engine."""

    def advance(self, operator: Any, clocks: Any) -> None:
        """Leaves every clock to the engine."""


def test_a_copy_follows_the_tables_that_got_its_rows() -> None:
    copy, operator = _Copy(10), _Operator()
    assert not copy.is_copy_of(operator)
    assert copy.is_read(operator)
    operator.step()
    assert not copy.is_copy_of(operator)
    copy.follow(operator)
    assert copy.is_read(operator)
    assert copy.reads == 1


def test_a_large_copy_is_not_read_after_each_step() -> None:
    """Otherwise late rows, each of which is a step of the engine, would read the whole state each."""
    copy, operator = _Copy(5_000), _Operator()
    were_read = []
    for _ in range(12):
        operator.step()
        were_read.append(copy.is_read(operator))
    assert were_read == [True, *[False] * 4] * 2 + [True, False]


def test_tables_that_cannot_be_read_are_not_read_for_each_message() -> None:
    """A NaN among many stored rows would otherwise make each message as slow as a read of all of them."""
    copy, operator = _Copy(5_000), _Operator()
    copy.error = True
    assert [copy.is_read(operator) for _ in range(12)] == [False] * 12
    assert copy.reads == 3
    assert copy.size == 0


def test_a_copy_that_is_too_large_is_discarded() -> None:
    copy, operator = _Copy(MOST + 1), _Operator()
    assert copy.is_read(operator)
    copy.follow(operator)
    assert not copy.is_copy_of(operator)
    assert copy.size == 0
