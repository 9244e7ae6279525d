"""Cases that Apex decides for its storages of windows, in memory and in a directory.

Source: SpillableWindowedStorageTest and InMemorySessionWindowedStorage of Apache Apex Malhar.
"""

from pathlib import Path
from typing import Any

import pytest

from panewise.stores import KeyedWindowedStorage, SessionWindowedStorage, WindowedStorage

BASE = 1_700_000_000_000
ONE, TWO, THREE = ((BASE + at, BASE + at + 10) for at in (1_000, 1_010, 1_020))


@pytest.mark.parametrize(
    ("kind", "keys"),
    [(WindowedStorage, ()), (KeyedWindowedStorage, ("x",)), (SessionWindowedStorage, ("x",))],
)
def test_a_crash_returns_to_the_last_commit(kind: Any, keys: Any, tmp_path: Path) -> None:
    """semantics 34.4, 34.18: values that were put after it are gone, also those of new keys."""
    storage = kind(directory=tmp_path)
    for window, value in ((ONE, 1), (TWO, 2), (THREE, 3), (ONE, 4), (TWO, 5)):
        storage.put(*keys, value, window=window)
    storage.commit()
    for window, value in ((ONE, 6), (TWO, 7)):
        storage.put(*keys, value, window=window)
    if keys:
        storage.put("y", 8, window=TWO)
        assert storage.get("y", window=TWO) == 8
    assert [storage.get(*keys, window=window) for window in (ONE, TWO, THREE)] == [6, 7, 3]
    storage.close(commit=False)
    with kind(directory=tmp_path) as storage:
        assert [storage.get(*keys, window=window) for window in (ONE, TWO, THREE)] == [4, 5, 3]
        assert len(storage) == 3
        if keys:
            assert storage.get("y", window=TWO) is None


def test_windows_are_removed_with_all_keys(directory: Path | None) -> None:
    """semantics 34.18: `remove(Window)` in Apex."""
    with KeyedWindowedStorage(directory=directory) as storage:
        for key in ("x", "y"):
            storage.put(key, 1, window=ONE)
        storage.put("x", 2, window=TWO)
        assert storage.remove_window(ONE) == 2
        assert (storage.contains(ONE), storage.get("x", window=ONE), storage.get("x", window=TWO)) == (
            False,
            None,
            2,
        )


def test_sessions_around_a_time(directory: Path | None) -> None:
    """semantics 34.20: a row at a time can extend a session before it, one after it, or both."""
    gap = 10
    with SessionWindowedStorage(directory=directory) as storage:
        for start, end in ((0, 15), (40, 55), (64, 80)):
            storage.put("a", start, window=(start, end))
        storage.put("b", 20, window=(20, 30))

        def around(time: int) -> list[int]:
            return [entry.start for entry in storage.sessions("a", start=time, end=time + gap)]

        assert [around(time) for time in (14, 15, 31, 54, 55, 80)] == [[0], [], [40], [40], [64], []]
        # A session that starts exactly a gap after the row does not overlap. In Apex it is returned, too.
        assert (around(30), [entry.start for entry in storage.sessions("a", start=30, end=30 + gap + 1)]) == (
            [],
            [40],
        )


def test_a_migrated_session(directory: Path | None) -> None:
    """semantics 34.20: a session that is not there is not an error, unlike in Apex."""
    with SessionWindowedStorage(directory=directory) as storage:
        storage.put("a", 7, window=(0, 10))
        storage.put("b", 8, window=(0, 10))
        assert storage.migrate("a", window=(0, 10), to=(0, 25))
        assert not storage.migrate("a", window=(0, 10), to=(0, 25))
        assert (
            storage.get("a", window=(0, 25)),
            storage.get("a", window=(0, 10)),
            storage.get("b", window=(0, 10)),
        ) == (
            7,
            None,
            8,
        )
        assert [entry.end for entry in storage.sessions("a")] == [25]
