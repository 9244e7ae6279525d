"""Stores of the caller: an operator recovers from a crash at any write."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from panewise import InputError, StateError, Tumbling, WindowOperator
from panewise import functions as F
from panewise.standalone import AsyncOperator, OperatorStore, StandaloneOperator
from panewise.state.file_store import FileRunStore
from tests.nightly import first_here
from tests.standalone.test_operator import SPEC, TYPES, message, totals
from tests.standalone.test_store import events, lines, next_offset, play


class Crash(Exception):  # noqa: N818 - not an error of the store
    """The process stops."""


class Memory:
    """An operator store in this process. It can stop at a write, and then loses what is not committed."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Any] = {}
        self.writes = 0
        self.crash_at = -1
        self.in_commit = False

    @contextmanager
    def commit(self) -> Iterator[None]:
        before, self.in_commit = deepcopy(self.items), True
        try:
            yield
            self.write()
        except BaseException:
            self.items = before
            raise
        finally:
            self.in_commit = False

    def write(self) -> None:
        assert self.in_commit
        self.writes += 1
        if self.writes == self.crash_at:
            raise Crash

    def put(self, kind: str, name: str, value: Any) -> None:
        self.write()
        self.items[kind, name] = value

    def manifest(self) -> str | None:
        found: str | None = self.items.get(("manifest", ""))
        return found

    def put_manifest(self, text: str) -> None:
        self.put("manifest", "", text)

    def run(self, name: str) -> bytes:
        found: bytes = self.items["run", name]
        return found

    def put_run(self, name: str, data: bytes) -> None:
        self.put("run", name, data)

    def drop_run(self, name: str) -> None:
        self.write()
        del self.items["run", name]

    def copy(self, name: str) -> tuple[bytes, str] | None:
        return self.items.get(("copy", name))

    def put_copy(self, name: str, data: bytes, notes: str) -> None:
        self.put("copy", name, (data, notes))


MESSAGES = events(12)


def flushed(store: OperatorStore, found: list[Any]) -> None:
    """Adds all messages from the committed positions on. It passes results on before each commit."""
    operator = StandaloneOperator(SPEC, TYPES, store=store)
    for start in range(next_offset(operator), len(MESSAGES)):
        play(operator, MESSAGES, start, start + 1)
        if start % 3 == 2:
            found += operator.get_result()
            operator.flush()
    operator.finish()
    found += operator.get_result()
    operator.flush()


@pytest.mark.parametrize("step", first_here([3, 1]))
def test_an_operator_recovers_from_a_crash_at_any_write(step: int) -> None:
    """semantics 31.11, 31.4: a crash at a write of a commit leaves the commit before; numbers repeat."""
    whole, undisturbed = list[Any](), Memory()
    flushed(undisturbed, whole)
    assert undisturbed.writes > 10
    for at in range(1, undisturbed.writes + 1, step):
        store, found = Memory(), list[Any]()
        store.crash_at = at
        with pytest.raises(Crash):
            flushed(store, found)
        store.crash_at = -1
        flushed(store, found)
        assert lines(found) == lines(whole), at


def test_checkpoints_are_in_the_store_of_the_caller() -> None:
    """semantics 31.11, 33.2"""
    store = Memory()
    with StandaloneOperator(SPEC, TYPES, store=store) as operator:
        operator.add_message(message(1, 3))
        operator.life_cycle.checkpoint("one")
        operator.add_message(message(1, 4))
        operator.flush()
    with StandaloneOperator(SPEC, TYPES, store=store) as again:
        again.life_cycle.reset("one")
        again.finish()
        assert totals(again.drain()) == [3]


@pytest.mark.parametrize("front", [StandaloneOperator, AsyncOperator])
@pytest.mark.parametrize(("store", "missing"), [(5, "commit"), (object(), "commit")])
def test_other_values_are_no_stores(front: Any, store: Any, missing: str) -> None:
    with pytest.raises(InputError) as caught:
        front(SPEC, TYPES, store=store)
    assert caught.value.args[0].split(" | ") == [
        f"store={store!r}, without {missing}()",
        "a store is a directory, or an object with the methods of OperatorStore",
        "give the path of a directory",
    ]


def test_a_directory_may_be_any_path(tmp_path: Path) -> None:
    for path in (tmp_path / "a", str(tmp_path / "b")):
        StandaloneOperator(SPEC, TYPES, store=path).close()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "b"]


def test_an_operator_does_not_close_a_store_of_files_of_the_caller(tmp_path: Path) -> None:
    """semantics 31.11"""
    store = FileRunStore(tmp_path)
    for rows in (1, 2):
        with StandaloneOperator(SPEC, TYPES, store=store) as operator:
            operator.add_message(message(1, rows))
            operator.flush()
        assert store.manifest() is not None
    with pytest.raises(StateError):
        StandaloneOperator(WindowOperator(window=Tumbling(7), aggregates=[F.count()]), TYPES, store=store)
    assert store.manifest() is not None
    store.close()
