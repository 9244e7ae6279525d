"""Copies of tables are read again only if that is worth it."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from panewise.engine.kernels.python_rows import NotInPythonError
from panewise.engine.tables.copied_tables import MOST, CopiedTables, Row


@dataclass(frozen=True)
class _State:
    tables: dict[str, Any]
    clocks: int = 1


def _state() -> Any:
    """Returns a state with a table of 5,000 rows."""
    table = SimpleNamespace(newest=SimpleNamespace(height=1_000), runs=[SimpleNamespace(rows=4_000)])
    return _State({"rows": table})


class _Copy(CopiedTables[Any, int]):
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

    def add(self, state: Any, port: str, time: int, row: Row) -> None:
        """Leaves every row to the engine."""

    def _moved(
        self, clocks: int, processing_time: int | None, watermark: int | None, source: str | None
    ) -> int:
        return clocks if processing_time is None else processing_time

    def _advanced(self, state: Any, clocks: int) -> list[Row] | None:
        """Emits nothing at even times, and leaves odd ones to the engine."""
        return None if clocks % 2 else []


def test_a_copy_follows_the_tables_that_got_its_rows() -> None:
    copy, state = _Copy(10), _state()
    assert not copy.is_copy_of(state)
    assert copy.is_read(state)
    state = _state()
    assert not copy.is_copy_of(state)
    copy.follow(state)
    assert copy.is_read(state)
    assert copy.reads == 1


def test_a_copy_has_the_clocks_of_the_readings_that_it_has_taken() -> None:
    copy, state = _Copy(10), _state()
    assert copy.advance(state, 2, None, None) == []
    assert copy.advance(state, 3, None, None) is None
    assert copy.clocks == copy.clocks_of(state) == 2


def test_a_state_takes_the_clocks_that_wait_in_a_copy() -> None:
    copy, state = _Copy(10), _state()
    assert copy.clocks_of(state) == 1
    assert copy.advance(state, 0, None, None) == []
    assert copy.advance(state, None, None, None) == []
    assert copy.clocks_of(state) == 0
    assert copy.take_clocks(state) == _State(state.tables, 0)
    assert copy.clocks is None
    assert copy.take_clocks(state) == state


def test_a_large_copy_is_not_read_after_each_step() -> None:
    """Otherwise late rows, each of which is a step of the engine, would read the whole state each."""
    copy = _Copy(5_000)
    were_read = [copy.is_read(_state()) for _ in range(12)]
    assert were_read == [True, *[False] * 4] * 2 + [True, False]


def test_tables_that_cannot_be_read_are_not_read_for_each_message() -> None:
    """A NaN among many stored rows would otherwise make each message as slow as a read of all of them."""
    copy, state = _Copy(5_000), _state()
    copy.error = True
    assert [copy.is_read(state) for _ in range(12)] == [False] * 12
    assert copy.reads == 3
    assert copy.size == 0


def test_a_copy_that_is_too_large_is_discarded() -> None:
    copy, state = _Copy(MOST + 1), _state()
    assert copy.is_read(state)
    copy.follow(state)
    assert not copy.is_copy_of(state)
    assert copy.size == 0
