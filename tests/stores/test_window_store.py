"""The window store against a dict, in memory and in a directory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from panewise import InputError, SpecError, StoreError
from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.stores import DurableMap, WindowEntry, WindowStore, window_store
from tests.stores.machine import AnyStore, in_directory, in_memory
from tests.stores.played import CASES

KEYS = st.sampled_from(["a", "aa", "b", 1, b"\x00", b"\x00\x00", ("x", None)])
ORDER = [1, "a", "aa", "b", b"\x00", b"\x00\x00", ("x", None)]
TIMES = st.integers(-30, 60)
VALUES = st.none() | st.integers(0, 9)
SIZE = 5


def entries_of(*rows: tuple[Any, Any, int]) -> list[dict[str, Any]]:
    """Returns entries to restore of keys, values and times."""
    return [{"key": key, "value": value, "time": time} for key, value, time in rows]


class AnyWindowStore(AnyStore):
    """semantics 34, 34.3, 34.4, 34.6 to 34.11"""

    def __init__(self) -> None:
        super().__init__()
        self.model: list[WindowEntry] = []
        self.now: int | None = None
        self.expired = 0

    @initialize(retention=st.integers(SIZE, 40), grace=st.integers(1, 40), duplicates=st.booleans())
    def create(self, retention: int, grace: int, duplicates: bool) -> None:
        self.retention, self.grace, self.duplicates = retention, min(grace, retention), duplicates
        self.store = self.opened()

    def opened(self) -> WindowStore:
        return WindowStore(
            self.retention, SIZE, grace=self.grace, duplicates=self.duplicates, directory=self.folder
        )

    def advanced(self, time: int) -> None:
        self.now = time if self.now is None else max(self.now, time)
        self.model = [entry for entry in self.model if entry.start > self.now - self.retention]

    def set(self, key: Any, value: int | None, time: int) -> None:
        if not self.duplicates:
            self.model = [entry for entry in self.model if (entry.key, entry.start) != (key, time)]
        if value is not None:
            self.model.append(WindowEntry(key, time, time + SIZE, value))
        self.model.sort(key=lambda entry: (entry.start, ORDER.index(entry.key)))

    @rule(key=KEYS, value=VALUES, time=TIMES)
    def put(self, key: Any, value: int | None, time: int) -> None:
        self.advanced(time)
        assert self.now is not None
        in_grace = time > self.now - self.grace
        applied = in_grace and not (self.duplicates and value is None)
        assert self.store.put(key, value, time=time) == applied
        self.expired += not in_grace
        if applied:
            self.set(key, value, time)
        assert (self.store.now, self.store.expired_puts) == (self.now, self.expired)

    @rule(time=TIMES)
    def advance(self, time: int) -> None:
        self.store.advance(time)
        self.advanced(time)

    @rule(rows=st.lists(st.tuples(KEYS, VALUES, TIMES), max_size=4))
    def restore(self, rows: list[tuple[Any, int | None, int]]) -> None:
        applied = 0
        for key, value, time in rows:
            self.advanced(time)
            assert self.now is not None
            if time <= self.now - self.retention:
                self.expired += 1
            elif not (self.duplicates and value is None):
                self.set(key, value, time)
                applied += 1
        assert self.store.restore(entries_of(*rows)) == applied

    @rule(key=KEYS, time=TIMES)
    def fetch(self, key: Any, time: int) -> None:
        if not self.duplicates:
            expected = [entry.value for entry in self.model if (entry.key, entry.start) == (key, time)]
            assert self.store.fetch(key, time=time) == (expected[0] if expected else None)

    @rule(
        key=KEYS,
        other=KEYS | st.none(),
        first=TIMES,
        last=TIMES,
        backward=st.booleans(),
        of=st.integers(0, 3),
    )
    def iterate(self, key: Any, other: Any, first: int, last: int, backward: bool, of: int) -> None:
        store, low = self.store, ORDER.index(key)
        high = len(ORDER) if other is None else ORDER.index(other)
        found, keys = {
            0: (lambda: store.fetch(key, first=first, last=last, backward=backward), range(low, low + 1)),
            1: (
                lambda: store.fetch_keys(key, other, first=first, last=last, backward=backward),
                range(low, high + 1),
            ),
            2: (lambda: store.fetch_all(first=first, last=last, backward=backward), range(len(ORDER))),
            3: (lambda: store.all(backward=backward), range(len(ORDER))),
        }[of]
        if of == 3:
            first, last = MIN_INSTANT, MAX_INSTANT
        expected = [e for e in self.model if first <= e.start <= last and ORDER.index(e.key) in keys]
        self.open.append((found(), expected[::-1] if backward else expected))

    @rule()
    def commit(self) -> None:
        self.store.commit()

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        opened = self.store.all()
        self.store.close()
        assert list(opened) == []
        self.store, self.open = self.opened(), []
        assert (self.store.now, self.store.expired_puts) == (self.now, self.expired)

    def check_end(self) -> None:
        assert list(self.store.all()) == self.model
        assert len(self.store) == len(self.model)


TestMemory = in_memory(AnyWindowStore, 150)
TestDurable = in_directory(AnyWindowStore)


def values(entries: Any) -> list[Any]:
    return [entry.value for entry in entries]


def test_retention_and_grace_are_apart(directory: Path | None) -> None:
    """semantics 34.6, 34.7: exactly as old as one of them is too old."""
    store = WindowStore(100, 10, grace=40, directory=directory)
    assert store.put("a", "old", time=0)
    assert store.put("a", "now", time=99)
    assert not store.put("a", "late", time=59)
    assert not store.put("a", None, time=0)
    assert store.put("a", "in time", time=60)
    assert store.fetch("a", time=0) == "old"
    assert store.put("b", 1, time=100)
    assert store.fetch("a", time=0) is None
    assert values(store.all()) == ["in time", "now", 1]
    assert store.expired_puts == 2
    store.close()


def test_a_delete_moves_the_time_of_the_store(directory: Path | None) -> None:
    """semantics 34.6"""
    with WindowStore(10, 10, directory=directory) as store:
        store.put("a", 1, time=0)
        assert store.put("a", None, time=10)
        assert (store.now, values(store.all())) == (10, [])


def test_keys_that_begin_with_other_keys(directory: Path | None) -> None:
    """semantics 34.1: for texts and bytes, in every kind of range."""
    with WindowStore(1_000, 5, directory=directory) as store:
        for key, value in ((b"\x00", 1), (b"\x00\x00", 2), ("a", 3), ("aa", 4)):
            store.put(key, value, time=7)
        assert values(store.fetch(b"\x00", first=0, last=9)) == [1]
        assert values(store.fetch("a", first=0, last=9)) == [3]
        assert values(store.fetch_keys("a", "a", first=0, last=9)) == [3]
        assert values(store.fetch_keys(b"\x00", None, first=0, last=9)) == [1, 2]
        assert values(store.fetch_keys("aa", "a", first=0, last=9)) == []


def test_duplicates_are_in_the_order_of_their_puts(directory: Path | None) -> None:
    """semantics 34.9"""
    with WindowStore(1_000, 5, duplicates=True, directory=directory) as store:
        for value in ("one", "two", "three"):
            assert store.put("a", value, time=1)
        assert not store.put("a", None, time=1)
        assert store.ignored_deletes == 1
        assert values(store.fetch("a", first=1, last=1)) == ["one", "two", "three"]
        assert values(store.all(backward=True)) == ["three", "two", "one"]
        with pytest.raises(InputError, match=r"several values \| call fetch\('a', first=1, last=1\)"):
            store.fetch("a", time=1)


def test_a_restore_returns_what_it_has_applied(directory: Path | None) -> None:
    """semantics 34.9, 34.11: a null of a store with duplicates is ignored, one of another store deletes."""
    for duplicates, applied in ((True, 1), (False, 2)):
        at = directory and directory / str(duplicates)
        with WindowStore(100, 5, duplicates=duplicates, directory=at) as store:
            assert store.restore(entries_of(("a", 1, 200), ("a", None, 200), ("a", 1, 100))) == applied
            assert (store.ignored_deletes, store.expired_puts) == (2 - applied, 1)


def test_ends_saturate(directory: Path | None) -> None:
    """semantics 34.8"""
    with WindowStore(MAX_INSTANT, 10, directory=directory) as store:
        assert store.put("a", 1, time=MAX_INSTANT - 3)
        assert store.put("a", 2, time=MAX_INSTANT)
        assert [entry.end for entry in store.fetch("a", first=0, last=MAX_INSTANT)] == [
            MAX_INSTANT,
            MAX_INSTANT,
        ]
        assert values(store.fetch_all(first=MIN_INSTANT, last=MAX_INSTANT)) == [1, 2]
        assert store.fetch("a", time=MAX_INSTANT) == 2
    with pytest.raises(InputError, match="above the least int"):
        WindowStore(1, 1).put("a", 1, time=MIN_INSTANT)


def test_an_iterator_is_a_snapshot(directory: Path | None) -> None:
    """semantics 34.3: later puts, deletes and expiry are not seen."""
    with WindowStore(100, 5, directory=directory) as store:
        for time in (1, 2, 3):
            store.put("a", time, time=time)
        every, one = store.all(), store.fetch("a", first=0, last=100)
        assert next(every).value == 1
        store.put("a", 9, time=2)
        store.put("a", None, time=3)
        store.put("b", 5, time=4)
        store.advance(10_000)
        assert (values(every), values(one)) == ([2, 3], [1, 2, 3])
        assert values(store.all()) == []


def test_an_iterator_of_a_closed_store_is_empty(directory: Path | None) -> None:
    """semantics 34.3"""
    store = WindowStore(100, 5, directory=directory)
    store.put("a", 1, time=1)
    left, closed = store.all(), store.all()
    assert left.peek() == closed.peek() == WindowEntry("a", 1, 6, 1)
    with closed:
        pass
    assert closed.peek() is None
    store.close()
    store.close()
    assert left.peek() is None
    for call in (
        store.all,
        store.commit,
        lambda: store.fetch("a", time=1),
        lambda: store.put("a", 1, time=1),
    ):
        with pytest.raises(StoreError, match="a closed window store"):
            call()


@pytest.mark.parametrize("kind", CASES)
def test_an_empty_store_is_true(kind: str) -> None:
    """Stores with a length, too: `if store` does not count entries."""
    store = CASES[kind].opened(None)
    assert store
    store.close()


def test_what_has_expired_is_deleted_without_a_read() -> None:
    """semantics 34.10: puts alone free the memory, whether or not keys have been fetched."""
    store = WindowStore(10, 1)
    for time in range(5_000):
        store.put(time % 7, time, time=time)
        if time == 3_000:
            assert values(store.fetch(0, first=0, last=3_000)) == [2_996]
    assert len(store._map) < 2 * 1_100  # type: ignore[arg-type]
    store.advance(10_000)
    assert len(store._map) <= 1  # type: ignore[arg-type]


@pytest.mark.parametrize("duplicates", [False, True])
def test_a_restore_needs_memory_for_what_has_not_expired(duplicates: bool) -> None:
    """semantics 34.10, 34.11: as puts do, however long the changelog is."""
    store, sizes = WindowStore(10, 1, duplicates=duplicates), set()

    def changelog() -> Iterator[Any]:
        for time in range(5_000):
            sizes.add(len(store._map))  # type: ignore[arg-type]
            yield {"key": time % 7, "value": time, "time": time}

    assert store.restore(changelog()) == 5_000
    assert max(sizes) < 2 * 1_100
    assert values(store.all()) == list(range(4_990, 5_000))


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        ({"retention": 0}, "retention is 1 microsecond or longer"),
        ({"grace": 0}, "grace is 1 microsecond or longer"),
        ({"window_size": -1}, "window_size is 0 seconds or longer"),
        ({"grace": 101}, "grace is at most the retention"),
        ({"window_size": 101}, "window_size is at most the retention"),
    ],
)
def test_durations_that_do_not_fit(names: dict[str, int], rule: str) -> None:
    """semantics 34.6, 34.7"""
    with pytest.raises(SpecError) as caught:
        WindowStore(**{"retention": 100, "window_size": 10, **names})  # type: ignore[arg-type]
    assert caught.value.rule == rule
    assert caught.value.remedy


def test_what_is_refused_changes_nothing(directory: Path | None) -> None:
    """semantics 34.1, 34.2"""
    with WindowStore(100, 10, directory=directory) as store:
        store.put("a", 1, time=5)
        for call in (
            lambda: store.put(None, 1, time=10_000),  # type: ignore[arg-type]
            lambda: store.put("a", (1,), time=10_000),
            lambda: store.fetch(None, time=5),  # type: ignore[arg-type]
            lambda: store.fetch(None, first=0, last=5),  # type: ignore[arg-type]
            lambda: store.fetch_keys([], None, first=0, last=5),  # type: ignore[arg-type]
        ):
            with pytest.raises(InputError):
                call()
        assert (store.now, values(store.all())) == (5, [1])


def test_a_directory_has_one_kind_of_store(tmp_path: Path) -> None:
    """semantics 34.12"""
    WindowStore(100, 10, directory=tmp_path).close()
    WindowStore(200, 10, grace=50, directory=tmp_path).close()
    with pytest.raises(StoreError, match=r"window_size=20 .*made with 10 \| .* \| give window_size=10"):
        WindowStore(100, 20, directory=tmp_path)
    with pytest.raises(StoreError, match="duplicates=True"):
        WindowStore(100, 10, duplicates=True, directory=tmp_path)
    WindowStore(100, 10, directory=tmp_path).close()


def test_a_longer_retention_deletes_what_it_kept(tmp_path: Path) -> None:
    """semantics 34.10, 34.12: also entries at times that had expired with the retention before."""
    with WindowStore(20, 10, directory=tmp_path) as store:
        store.put("a", 1, time=100)
    with WindowStore(200, 10, directory=tmp_path) as store:
        assert store.put("a", 2, time=50)
        store.advance(5_000)
    with DurableMap(tmp_path) as entries:
        assert list(entries.scan(b"k")) == []


def test_times_around_the_least_one(directory: Path | None) -> None:
    """semantics 34.6: a horizon below the least time is none."""
    with WindowStore(100, 10, directory=directory) as store:
        store.put("a", 1, time=MIN_INSTANT + 5)
        assert store.fetch("a", time=MIN_INSTANT - 3) is None
        assert store.fetch("a", time=MIN_INSTANT + 5) == 1
        assert values(store.fetch("a", first=MIN_INSTANT, last=MAX_INSTANT)) == [1]


def test_a_fetch_sees_the_last_put_of_any_kind(directory: Path | None) -> None:
    """semantics 34.6, 34.11: values that are cached, and those that are not."""
    with WindowStore(10_000, 10, directory=directory) as store:
        for value in (1, 2.5, True, None, "text", 3, [4], b"x", 5):
            store.put("a", value, time=5)
            assert (store.fetch("a", time=5), type(store.fetch("a", time=5))) == (value, type(value))
        store.restore(entries_of(("a", 6, 5)))
        assert store.fetch("a", time=5) == 6
        store.put("a", 7, time=5)
        store.restore(entries_of(("a", None, 5)))
        assert store.fetch("a", time=5) is None
        store.put("a", 8, time=5)
        store.advance(20_000)
        assert store.fetch("a", time=5) is None


def test_a_cache_that_is_full_forgets_the_oldest_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 34.6: a fetch does not depend on what is cached."""
    monkeypatch.setattr(window_store, "_CACHED_VALUES", 1_000)
    store = WindowStore(100_000, 10)
    for round_ in range(2):
        for time in range(5_000):
            store.put("a", time + round_, time=time)
    assert [store.fetch("a", time=time) for time in range(5_000)] == list(range(1, 5_001))
    assert len(store._recent) < 5_000
