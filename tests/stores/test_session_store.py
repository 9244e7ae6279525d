"""The session store against a dict, in memory and in a directory."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from panewise import InputError, SpecError, StoreError
from panewise.chrono import MAX_INSTANT
from panewise.stores import DurableMap, SessionEntry, SessionStore
from tests.stores.machine import AnyStore, in_directory, in_memory

KEYS = st.sampled_from(["a", "aa", "b", b"\x00", b"\x00\x00"])
ORDER = ["a", "aa", "b", b"\x00", b"\x00\x00"]
TIMES = st.integers(-20, 40)
LENGTHS = st.integers(0, 12)


def sessions_of(*rows: tuple[int, int, Any]) -> list[dict[str, Any]]:
    """Returns sessions of one key to restore: their starts, ends and values."""
    return [{"key": "a", "value": value, "start": start, "end": end} for start, end, value in rows]


class AnySessionStore(AnyStore):
    """semantics 34, 34.3, 34.13, 34.14, 34.15"""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[tuple[int, int, int], int] = {}  # end, place of the key, start
        self.now: int | None = None
        self.expired = 0

    @initialize(retention=st.integers(1, 40))
    def create(self, retention: int) -> None:
        self.retention = retention
        self.store = SessionStore(retention, directory=self.folder)

    def advanced(self, time: int) -> int:
        self.now = time if self.now is None else max(self.now, time)
        self.model = {k: v for k, v in self.model.items() if k[0] > self.now - self.retention}
        return self.now - self.retention

    @rule(key=KEYS, start=TIMES, length=LENGTHS, value=st.none() | st.integers(0, 9))
    def put(self, key: Any, start: int, length: int, value: int | None) -> None:
        end = start + length
        applied = end > self.advanced(end)
        assert self.store.put(key, value, start=start, end=end) == applied
        self.expired += not applied
        if applied and value is not None:
            self.model[end, ORDER.index(key), start] = value
        elif applied:
            self.model.pop((end, ORDER.index(key), start), None)
        assert (self.store.now, self.store.expired_puts) == (self.now, self.expired)

    @rule(key=KEYS, start=TIMES, length=LENGTHS)
    def remove(self, key: Any, start: int, length: int) -> None:
        place = (start + length, ORDER.index(key), start)
        assert self.store.fetch_session(key, start=start, end=start + length) == self.model.get(place)
        assert self.store.remove(key, start=start, end=start + length) == (
            self.model.pop(place, None) is not None
        )

    @rule(time=TIMES)
    def advance(self, time: int) -> None:
        self.store.advance(time)
        self.advanced(time)

    @rule(
        key=KEYS, other=KEYS | st.none(), end=TIMES, start=TIMES, backward=st.booleans(), of=st.integers(0, 4)
    )
    def find(self, key: Any, other: Any, end: int, start: int, backward: bool, of: int) -> None:
        store, low = self.store, ORDER.index(key)
        high = len(ORDER) if other is None else ORDER.index(other)
        found, keys = {
            0: (
                lambda: store.find(key, earliest_end=end, latest_start=start, backward=backward),
                range(low, low + 1),
            ),
            1: (
                lambda: store.find_keys(key, other, earliest_end=end, latest_start=start, backward=backward),
                range(low, high + 1),
            ),
            2: (lambda: store.fetch(key, backward=backward), range(low, low + 1)),
            3: (lambda: store.fetch_keys(None, other, backward=backward), range(high + 1)),
            4: (
                lambda: store.find_all(earliest_end=end, latest_end=start, backward=backward),
                range(len(ORDER)),
            ),
        }[of]
        earliest_end = -MAX_INSTANT if of in (2, 3) else end
        latest_start = start if of < 2 else MAX_INSTANT
        latest_end = start if of == 4 else MAX_INSTANT
        expected = [
            SessionEntry(ORDER[place], first, last, value)
            for (last, place, first), value in sorted(self.model.items())
            if place in keys and earliest_end <= last <= latest_end and first <= latest_start
        ]
        self.open.append((found(), expected[::-1] if backward else expected))

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store, self.open = SessionStore(self.retention, directory=self.folder), []
        assert (self.store.now, self.store.expired_puts) == (self.now, self.expired)


TestMemory = in_memory(AnySessionStore, 150)
TestDurable = in_directory(AnySessionStore)


def values(entries: Any) -> list[Any]:
    return [entry.value for entry in entries]


def test_sessions_to_merge() -> None:
    """semantics 34.14: end >= the earliest end, and start <= the latest start."""
    store = SessionStore("10 seconds")
    for number in range(5):
        store.put("a", number, start=number * 100 + 1, end=number * 100 + 100)
    assert values(store.find("a", earliest_end=150, latest_start=300)) == [1, 2]
    assert values(store.find("a", earliest_end=150, latest_start=300, backward=True)) == [2, 1]
    assert values(store.find("a", earliest_end=600, latest_start=700)) == []


def test_sessions_of_all_keys_by_their_ends() -> None:
    """semantics 34.14"""
    store = SessionStore("10 seconds")
    for number, key in enumerate("abcde"):
        store.put(key, number, start=0, end=number * 100)
    assert values(store.find_all(earliest_end=100, latest_end=300)) == [1, 2, 3]
    assert values(store.find_all(earliest_end=100, latest_end=300, backward=True)) == [3, 2, 1]
    assert values(store.find_all(earliest_end=301, latest_end=300)) == []


def test_exact_keys_far_apart() -> None:
    """semantics 34.1, 34.14"""
    far = 0x7A00000000000000
    store = SessionStore(far)
    for key, start, end, value in (
        ("a", 0, 0, 1),
        ("aa", 0, 10, 2),
        ("a", 10, 20, 3),
        ("aa", 10, 20, 4),
        ("a", far - 2, far - 1, 5),
    ):
        store.put(key, value, start=start, end=end)
    assert values(store.find("a", earliest_end=0, latest_start=MAX_INSTANT)) == [1, 3, 5]
    assert values(store.find_keys("a", "aa", earliest_end=0, latest_start=MAX_INSTANT)) == [1, 2, 3, 4, 5]
    assert values(store.find_keys("a", "aa", earliest_end=10, latest_start=0)) == [2]
    assert store.fetch_session("aa", start=0, end=10) == 2
    assert store.fetch_session("aa", start=1, end=10) is None


def test_restore(tmp_path: Path) -> None:
    """semantics 34.15"""
    for directory in (None, tmp_path):
        with SessionStore(100, directory=directory) as store:
            assert store.restore(sessions_of((0, 0, 1), (5, 200, 2), (0, 100, 3), (0, 101, 4))) == 3
            assert values(store.fetch("a")) == [4, 2]
            assert store.expired_puts == 1


def test_what_is_refused() -> None:
    """semantics 34.13"""
    with pytest.raises(SpecError, match=r"^retention=.* \| retention is 1 microsecond or longer \| give"):
        SessionStore(0)
    store = SessionStore(10)
    with pytest.raises(InputError, match=r"a session does not end before it starts \| exchange them"):
        store.put("a", 1, start=5, end=4)
    for call in (
        lambda: store.put(None, 3, start=1, end=2),  # type: ignore[arg-type]
        lambda: store.fetch(None),  # type: ignore[arg-type]
        lambda: store.find(None, earliest_end=1, latest_start=2),  # type: ignore[arg-type]
        lambda: store.remove(None, start=1, end=2),  # type: ignore[arg-type]
        lambda: store.fetch_session(None, start=1, end=2),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="a key is not null"):
            call()
    assert not store.remove("a", start=0, end=1)
    store.close()
    with pytest.raises(StoreError, match="a closed session store"):
        store.fetch("a")


def test_a_longer_retention_deletes_what_it_kept(tmp_path: Path) -> None:
    """semantics 34.13: also sessions at times that had expired with the retention before."""
    with SessionStore(20, directory=tmp_path) as store:
        store.put("a", 1, start=100, end=100)
    with SessionStore(200, directory=tmp_path) as store:
        assert store.put("a", 2, start=50, end=50)
        store.advance(5_000)
    with DurableMap(tmp_path) as entries:
        assert list(entries.scan(b"k")) == []
