"""The windowed storages against a dict, in memory and in a directory."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from panewise import InputError, StoreError
from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.stores import KeyedWindowedStorage, SessionWindowedStorage, StoredWindow, WindowedStorage
from panewise.stores.store_directory import HEADER
from tests.stores.machine import AnyStore, in_directory, in_memory

TIMES = st.integers(-5, 10)
WINDOWS = st.tuples(TIMES, st.integers(0, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
KEYS = st.sampled_from(["a", "aa", b"\x00", b"\x00\x00"])
ORDER: Any = ["a", "aa", b"\x00", b"\x00\x00", None]


class AnyKeyed(AnyStore):
    """semantics 34, 34.3, 34.18, 34.19"""

    kind: Any = KeyedWindowedStorage

    def __init__(self) -> None:
        super().__init__()
        self.store = self.kind(directory=self.folder)
        self.model: dict[tuple[int, int, int], int] = {}  # end, start, place of the key

    def listed(self, model: dict[tuple[int, int, int], int]) -> list[StoredWindow]:
        return [StoredWindow(s, e, ORDER[place], value) for (e, s, place), value in sorted(model.items())]

    def names(self, key: Any) -> dict[str, Any]:
        return {} if self.kind is WindowedStorage else {"key": key}

    def place(self, window: tuple[int, int], key: Any) -> tuple[int, int, int]:
        return window[1], window[0], 4 if self.kind is WindowedStorage else ORDER.index(key)

    @rule(window=WINDOWS, key=KEYS, value=st.integers(0, 9))
    def put(self, window: Any, key: Any, value: int) -> None:
        self.store.put(window=window, value=value, **self.names(key))
        self.model[self.place(window, key)] = value

    @rule(window=WINDOWS, key=KEYS)
    def get(self, window: Any, key: Any) -> None:
        assert self.store.get(window=window, **self.names(key)) == self.model.get(self.place(window, key))
        assert self.store.contains(window) == any(place[:2] == window[::-1] for place in self.model)

    @rule(window=WINDOWS, key=KEYS)
    def remove(self, window: Any, key: Any) -> None:
        removed = self.model.pop(self.place(window, key), None) is not None
        assert self.store.remove(window=window, **self.names(key)) == removed

    @precondition(lambda self: self.kind is not WindowedStorage)
    @rule(window=WINDOWS)
    def remove_window(self, window: Any) -> None:
        doomed = [place for place in self.model if place[:2] == window[::-1]]
        assert self.store.remove_window(window) == len(doomed)
        for place in doomed:
            del self.model[place]

    @rule(horizon=TIMES)
    def purge(self, horizon: int) -> None:
        left = {place: value for place, value in self.model.items() if place[0] >= horizon}
        assert self.store.purge(horizon) == len(self.model) - len(left)
        self.model = left

    @rule(window=st.none() | WINDOWS, backward=st.booleans())
    def entries(self, window: Any, backward: bool) -> None:
        inside = {p: v for p, v in self.model.items() if window is None or p[:2] == window[::-1]}
        expected = self.listed(inside)
        found = self.store.entries(window, backward=backward)
        self.open.append((found, expected[::-1] if backward else expected))
        assert len(self.store) == len(self.model)

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store, self.open = self.kind(directory=self.folder), []
        assert len(self.store) == len(self.model)


class AnyPlain(AnyKeyed):
    """semantics 34.18"""

    kind = WindowedStorage


class AnySession(AnyKeyed):
    """semantics 34.20"""

    kind = SessionWindowedStorage

    @rule(window=WINDOWS, to=WINDOWS, key=KEYS)
    def migrate(self, window: Any, to: Any, key: Any) -> None:
        place, target = self.place(window, key), self.place(to, key)
        if place in self.model and target in self.model and place != target:
            with pytest.raises(InputError, match="a session is not migrated onto another one"):
                self.store.migrate(key, window=window, to=to)
            return
        assert self.store.migrate(key, window=window, to=to) == (place in self.model)
        if place in self.model:
            self.model[target] = self.model.pop(place)

    @rule(key=KEYS, start=TIMES, end=TIMES)
    def sessions(self, key: Any, start: int, end: int) -> None:
        inside = {
            place: value
            for place, value in self.model.items()
            if ORDER[place[2]] == key and place[0] > start and place[1] < end and start <= end
        }
        self.open.append((self.store.sessions(key, start=start, end=end), self.listed(inside)))


TestPlain = in_memory(AnyPlain, 80)
TestKeyed = in_memory(AnyKeyed, 80)
TestSession = in_memory(AnySession, 80)
TestDurable = in_directory(AnySession)


@pytest.mark.parametrize("kind", [WindowedStorage, KeyedWindowedStorage, SessionWindowedStorage])
def test_what_is_refused(kind: Any) -> None:
    """semantics 34.18"""
    storage = kind()
    names = {} if kind is WindowedStorage else {"key": "a"}
    with pytest.raises(InputError, match="a window does not end before it starts"):
        storage.put(window=(5, 4), value=1, **names)
    with pytest.raises(InputError, match="a storage has no null values"):
        storage.put(window=(4, 5), value=None, **names)
    storage.close()
    for call in (storage.entries, lambda: storage.get(window=(0, 1), **names), lambda: storage.purge(0)):
        with pytest.raises(StoreError, match=r"a closed .*windowed store"):
            call()


@pytest.mark.parametrize("kind", [KeyedWindowedStorage, SessionWindowedStorage])
def test_a_null_key_removes_nothing(kind: Any, directory: Path | None) -> None:
    """semantics 34.1, 34.18"""
    with kind(directory=directory) as storage:
        storage.put("a", 1, window=(0, 10))
        for call in (storage.remove, storage.get, lambda key, window: storage.put(key, 1, window=window)):
            with pytest.raises(InputError, match="a key is not null"):
                call(None, window=(0, 10))
        assert [entry.value for entry in storage.entries()] == [1]
        assert storage.remove("a", window=(0, 10)) is True
        assert storage.remove("a", window=(0, 10)) is False


def test_sessions_at_the_first_and_the_last_instant(directory: Path | None) -> None:
    """semantics 34.20: without bounds all sessions of a key are found, also those without a length."""
    windows = [(MIN_INSTANT, MIN_INSTANT), (5, 5), (MIN_INSTANT, MAX_INSTANT), (MAX_INSTANT, MAX_INSTANT)]
    with SessionWindowedStorage(directory=directory) as storage:
        for window in windows:
            storage.put("a", 1, window=window)
        assert [(one.start, one.end) for one in storage.sessions("a")] == windows
        assert [one.start for one in storage.sessions("a", start=0, end=10)] == [5, MIN_INSTANT]
        assert list(storage.sessions("a", start=10, end=9)) == []


def written(directory: Path) -> int:
    """Returns the bytes of all files but the reports of RocksDB."""
    return sum(
        path.stat().st_size
        for path in directory.iterdir()
        if path.name != HEADER and not path.name.startswith(("LOG", "OPTIONS"))
    )


def test_a_commit_writes_the_changes(tmp_path: Path) -> None:
    """semantics 34.21"""
    with KeyedWindowedStorage(directory=tmp_path) as storage:
        for key in range(5_000):
            storage.put(key, "x" * 100, window=(0, 10))
        storage.commit()
        first = written(tmp_path)
        for key in range(50):
            storage.put(key, "y" * 100, window=(0, 10))
        storage.commit()
        assert 0 < written(tmp_path) - first < first / 50
        second = written(tmp_path)
        storage.commit()
        assert written(tmp_path) == second


# Puts windows of random bytes, commits often, and reads some. Reports the largest resident memory. The
# address space has no limit: each thread of RocksDB reserves far more of it than it uses.
LARGE = """
import random, sys
from panewise.stores import KeyedWindowedStorage
directory, megabytes = sys.argv[1], int(sys.argv[2])
draw = random.Random(7)
with KeyedWindowedStorage(directory=directory, cache_bytes=32 << 20) as storage:
    for number in range(megabytes * 64):
        storage.put(number, draw.randbytes(16_384), window=(number // 1000 * 10, number // 1000 * 10 + 10))
        if number % 500 == 499:
            storage.commit()
    assert len(storage) == megabytes * 64
    for number in range(0, megabytes * 64, 997):
        assert len(storage.get(number, window=(number // 1000 * 10, number // 1000 * 10 + 10))) == 16_384
    with storage.entries() as entries:
        assert sum(1 for _ in entries) == megabytes * 64
with open("/proc/self/status") as status:
    print(*(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM")))
"""


def largest(directory: Path, megabytes: int) -> int:
    """Returns the MB of memory that a process needs at most for a storage of a size."""
    done = subprocess.run(
        [sys.executable, "-c", LARGE, str(directory), str(megabytes)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads what Linux reports")
def test_more_state_than_memory(tmp_path: Path) -> None:
    """semantics 34.21"""
    assert largest(tmp_path, 300) < 250


@pytest.mark.soak
def test_four_times_as_much_state_as_memory(tmp_path: Path) -> None:
    """semantics 34.21: 4 GB in a process that has a tenth of it as memory."""
    assert largest(tmp_path, 4_096) < 400


@pytest.mark.parametrize("window", [5, (5,), (5, 6, 7)])
def test_what_is_no_window(window: Any) -> None:
    """semantics 34.18"""
    with pytest.raises(InputError, match="a window is a pair of times"):
        WindowedStorage().put(1, window=window)
