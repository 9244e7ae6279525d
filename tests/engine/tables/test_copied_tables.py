"""Copies of tables are read again only if that is worth it."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from panewise.engine.tables.copied_tables import MOST, CopiedTables


@dataclass
class _Operator:
    """An operator with one table, which is replaced by each step."""

    state: Any = field(default_factory=lambda: SimpleNamespace(tables={"rows": object()}))

    def step(self) -> None:
        self.state = SimpleNamespace(tables={"rows": object()})


class _Copy(CopiedTables):
    """A copy of so many rows."""

    def __init__(self, rows: int) -> None:
        self.rows, self.reads = rows, 0
        super().__init__()

    def clear(self) -> None:
        pass

    def read(self, state: Any) -> bool:
        self.reads, self.size = self.reads + 1, self.rows
        return True


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


def test_a_copy_that_is_too_large_is_discarded() -> None:
    copy, operator = _Copy(MOST + 1), _Operator()
    assert copy.is_read(operator)
    copy.follow(operator)
    assert not copy.is_copy_of(operator)
    assert copy.size == 0
