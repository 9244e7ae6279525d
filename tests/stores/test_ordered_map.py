"""Both ordered maps against a dict, with scans and snapshots that stay open while the map changes."""

import gc
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from panewise.errors import InputError, StoreError
from panewise.stores import DurableMap, MemoryMap
from panewise.stores.ordered_map import after, prefix_end
from tests.engine.effort import runs

KEYS = st.binary(max_size=2).map(lambda raw: bytes(byte % 3 + 97 for byte in raw))
VALUES = st.binary(max_size=2)
ENDS = st.none() | KEYS | KEYS.map(after)


def part(model: dict[bytes, bytes], start: bytes, end: bytes | None, backward: bool) -> list[Any]:
    found = sorted((k, v) for k, v in model.items() if start <= k and (end is None or k < end))
    return found[::-1] if backward else found


class AnyMap(RuleBasedStateMachine):
    """semantics 34, 34.3"""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[bytes, bytes] = {}
        self.scans: list[tuple[Any, list[Any]]] = []
        self.snapshots: list[tuple[Any, dict[bytes, bytes]]] = []
        self.map: Any = self.opened()

    def opened(self) -> Any:
        return MemoryMap()

    @rule(key=KEYS, value=VALUES)
    def put(self, key: bytes, value: bytes) -> None:
        self.map.put(key, value)
        self.model[key] = value

    @rule(key=KEYS)
    def delete(self, key: bytes) -> None:
        assert self.map.delete(key) == (self.model.pop(key, None) is not None)

    @rule(start=KEYS, end=ENDS)
    def delete_range(self, start: bytes, end: bytes | None) -> None:
        doomed = part(self.model, start, end, False)
        assert self.map.delete_range(start, end) == len(doomed)
        for key, _ in doomed:
            del self.model[key]

    @rule(key=KEYS)
    def get(self, key: bytes) -> None:
        assert self.map.get(key) == self.model.get(key)

    @rule(start=KEYS, end=ENDS, backward=st.booleans())
    def scan(self, start: bytes, end: bytes | None, backward: bool) -> None:
        self.scans.append(
            (self.map.scan(start, end, backward=backward), part(self.model, start, end, backward))
        )

    @precondition(lambda self: self.scans)
    @rule(data=st.data())
    def step(self, data: st.DataObject) -> None:
        scan, expected = data.draw(st.sampled_from(self.scans))
        assert next(scan, None) == (expected.pop(0) if expected else None)

    @rule()
    def snapshot(self) -> None:
        self.snapshots.append((self.map.snapshot(), dict(self.model)))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data(), key=KEYS, start=KEYS, end=ENDS, backward=st.booleans())
    def look(self, data: st.DataObject, key: bytes, start: bytes, end: bytes | None, backward: bool) -> None:
        snapshot, model = data.draw(st.sampled_from(self.snapshots))
        assert snapshot.get(key) == model.get(key)
        assert list(snapshot.scan(start, end, backward=backward)) == part(model, start, end, backward)

    @precondition(lambda self: self.snapshots)
    @rule()
    def close_snapshot(self) -> None:
        snapshot, _ = self.snapshots.pop(0)
        scan = snapshot.scan()
        snapshot.close()
        assert list(scan) == []
        with pytest.raises(StoreError, match="a closed snapshot"):
            snapshot.get(b"")

    @rule()
    def commit(self) -> None:
        self.map.commit()
        assert self.map.pending == 0

    def teardown(self) -> None:
        for scan, expected in self.scans:
            assert list(scan) == expected
        assert list(self.map.scan()) == part(self.model, b"", None, False)
        left = self.map.scan()
        self.map.close()
        assert list(left) == []


class AnyDurableMap(AnyMap):
    """semantics 34, 34.3, 34.4"""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.committed: dict[bytes, bytes] = {}
        super().__init__()

    def opened(self) -> Any:
        return DurableMap(self.folder, sync=False, cache_bytes=1 << 20)

    @rule()
    def commit(self) -> None:
        super().commit()
        self.committed = dict(self.model)

    @rule(commit=st.booleans())
    def reopen(self, commit: bool) -> None:
        self.map.close(commit=commit)
        self.map, self.scans, self.snapshots = self.opened(), [], []
        self.model = dict(self.model if commit else self.committed)
        self.committed = dict(self.model)
        assert list(self.map.scan()) == part(self.model, b"", None, False)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)


TestMemoryMap = AnyMap.TestCase
TestMemoryMap.settings = runs(150, steps=40)
TestDurableMap = AnyDurableMap.TestCase
TestDurableMap.settings = runs(25, steps=30)


@contextmanager
def each(kind: str, directory: Path) -> Iterator[Any]:
    opened: Any = MemoryMap() if kind == "memory" else DurableMap(directory)
    yield opened
    opened.close()


@pytest.mark.parametrize("kind", ["memory", "durable"])
def test_after_close_nothing_works(kind: str, tmp_path: Path) -> None:
    with each(kind, tmp_path) as entries:
        entries.put(b"a", b"1")
        entries.close()
        calls = (
            lambda: entries.get(b"a"),
            lambda: entries.put(b"a", b"2"),
            lambda: entries.delete(b"a"),
            lambda: entries.delete_range(),
            entries.scan,
            entries.snapshot,
            entries.commit,
        )
        for call in calls:
            with pytest.raises(StoreError, match=r"^a closed map "):
                call()


def test_what_a_snapshot_pins_is_released() -> None:
    """semantics 34.3: by `close`, after the last entry, and when nothing refers to it."""
    entries: MemoryMap[bytes] = MemoryMap()
    for number in range(10):
        entries.put(b"%d" % number, b"")
    closed, ended, left = entries.scan(), entries.scan(), entries.scan()
    next(left)
    assert len(entries._snapshots) == 3
    closed.close()
    assert len(list(ended)) == 10
    assert len(entries._snapshots) == 1
    del left
    gc.collect()
    assert entries._snapshots == {}


@pytest.mark.parametrize("kind", ["memory", "durable"])
def test_a_key_that_is_no_bytes_damages_no_snapshot(kind: str, tmp_path: Path) -> None:
    """semantics 34.3"""
    with each(kind, tmp_path) as entries:
        entries.put(b"a", b"1")
        with entries.snapshot() as snapshot:
            for key in ("b", bytearray(b"b"), None):
                with pytest.raises(InputError, match="the keys of a map are bytes"):
                    entries.put(key, b"1")
            entries.put(b"b", b"2")
            assert list(snapshot.scan()) == [(b"a", b"1")]


@pytest.mark.parametrize("kind", ["memory", "durable"])
def test_a_map_has_bytes_alone(kind: str, tmp_path: Path) -> None:
    """semantics 34: what is no bytes is refused in memory, too, and is neither stored nor looked for."""
    with each(kind, tmp_path) as entries:
        entries.put(b"a", b"1")
        with entries.snapshot() as snapshot:
            for key in ("a", bytearray(b"a"), 1, None):
                for call in (entries.get, entries.delete, snapshot.get, entries.scan, entries.delete_range):
                    with pytest.raises(InputError, match="the keys of a map are bytes"):
                        call(key)
            for value in ("1", bytearray(b"1"), 1, None):
                with pytest.raises(InputError, match="the values of a map are bytes"):
                    entries.put(b"a", value)
        for end in ("b", bytearray(b"b")):
            with pytest.raises(InputError, match="the keys of a map are bytes"):
                entries.delete_range(b"a", end)
        assert list(entries.scan(start=b"", end=None, backward=True)) == [(b"a", b"1")]


def test_an_empty_map_is_true() -> None:
    entries: MemoryMap[bytes] = MemoryMap()
    assert entries
    assert len(entries) == 0


def test_bounds() -> None:
    entries: MemoryMap[bytes] = MemoryMap()
    for key in (b"a", b"aa", b"ab", b"b"):
        entries.put(key, b"")
    assert [key for key, _ in entries.scan(b"a", prefix_end(b"a"))] == [b"a", b"aa", b"ab"]
    assert [key for key, _ in entries.scan(after(b"a"), after(b"ab"))] == [b"aa", b"ab"]
    assert list(entries.scan(b"b", b"a")) == []
