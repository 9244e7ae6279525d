"""Cases that the suite of Kafka Streams decides for its session stores, in memory and in a directory.

Source: AbstractSessionBytesStoreTest of Apache Kafka. Where the semantics decide otherwise, the test says so.
"""

from pathlib import Path
from typing import Any

import pytest

from panewise import InputError, StoreError
from panewise.chrono import MAX_INSTANT
from panewise.stores import SessionEntry, SessionStore

FAR = 0x7A00000000000000
RETENTION = 10_000


def values(entries: Any) -> list[Any]:
    return [entry.value for entry in entries]


def four(directory: Path | None, retention: int = RETENTION) -> SessionStore:
    """Returns a store with two sessions of each of two keys, one of which begins with the other."""
    store = SessionStore(retention, directory=directory)
    for key, start, end, value in (("a", 0, 0, 1), ("aa", 0, 10, 2), ("a", 10, 20, 3), ("aa", 10, 20, 4)):
        store.put(key, value, start=start, end=end)
    return store


@pytest.mark.parametrize("backward", [False, True])
def test_exact_keys(backward: bool, directory: Path | None) -> None:
    """semantics 34.1, 34.14"""
    with four(directory, FAR) as store:
        store.put("a", 5, start=FAR - 2, end=FAR - 1)
        turn = -1 if backward else 1
        assert (
            values(store.find("a", earliest_end=0, latest_start=MAX_INSTANT, backward=backward))
            == [1, 3, 5][::turn]
        )
        assert (
            values(store.find("aa", earliest_end=0, latest_start=MAX_INSTANT, backward=backward))
            == [2, 4][::turn]
        )
        several = store.find_keys("a", "aa", earliest_end=0, latest_start=MAX_INSTANT, backward=backward)
        assert values(several) == [1, 2, 3, 4, 5][::turn]
        assert values(store.find_keys("a", "aa", earliest_end=10, latest_start=0, backward=backward)) == [2]


@pytest.mark.parametrize("backward", [False, True])
def test_exact_keys_of_bytes(backward: bool, directory: Path | None) -> None:
    """semantics 34.1, 34.14: sessions with the same end are in the order of their starts."""
    with SessionStore(RETENTION, directory=directory) as store:
        keys = [b"\x00", b"\x00\x00", b"\x00\x00\x00"]
        for number in range(1, 10):
            store.put(keys[(number - 1) % 3], number, start=number, end=100)
        for place, key in enumerate(keys, 1):
            expected = [place, place + 3, place + 6]
            found = values(store.find(key, earliest_end=0, latest_start=MAX_INSTANT, backward=backward))
            assert found == (expected[::-1] if backward else expected)


@pytest.mark.parametrize("backward", [False, True])
def test_peeks(backward: bool, directory: Path | None) -> None:
    """semantics 34.3, 34.14"""
    with four(directory) as store:
        expected = [SessionEntry("a", 0, 0, 1), SessionEntry("a", 10, 20, 3)][:: -1 if backward else 1]
        entries = store.find("a", earliest_end=0, latest_start=20, backward=backward)
        for entry in expected:
            assert entries.peek() == next(entries) == entry
        assert entries.peek() is None


def test_a_changelog_restores_the_store(directory: Path | None, tmp_path: Path) -> None:
    """semantics 34.15. A closed store is refused, unlike in Kafka Streams, where it has no sessions."""
    store = SessionStore(RETENTION, directory=directory)
    for end in (0, 10, 100, 1_000):
        store.put("a", end, start=end, end=end)
    stored = list(store.fetch("a"))
    store.close()
    with pytest.raises(StoreError, match="a closed session store"):
        store.fetch("a")
    with SessionStore(RETENTION, directory=directory and tmp_path / "other") as again:
        assert again.restore(restorable(stored)) == 4
        assert list(again.fetch("a")) == stored


def restorable(entries: list[SessionEntry]) -> list[dict[str, Any]]:
    return [entry._asdict() for entry in entries]


def test_closing_the_store_ends_iterators(directory: Path | None) -> None:
    """semantics 34.3"""
    store = four(directory)
    one, several = store.fetch("a"), store.fetch_keys("a", "aa")
    assert one.peek() is not None
    assert next(several).value == 1
    store.close()
    assert (one.peek(), list(one), list(several)) == (None, [], [])


def test_one_key_is_the_range_of_it(directory: Path | None) -> None:
    """semantics 34.14"""
    with SessionStore(RETENTION, directory=directory) as store:
        for number, key in enumerate(("a", "aa", "aa", "aaa")):
            store.put(key, number, start=2 * number, end=2 * number + 1)
        assert (
            values(store.find("aa", earliest_end=0, latest_start=10))
            == values(store.find_keys("aa", "aa", earliest_end=0, latest_start=10))
            == [1, 2]
        )


def test_late_sessions_are_counted(directory: Path | None) -> None:
    """semantics 34.13: the end decides, so a long session is in time although its start is old."""
    with SessionStore(RETENTION, directory=directory) as store:
        assert store.put("first", 0, start=0, end=2 * RETENTION)
        assert not store.put("late", 0, start=0, end=0)
        assert store.put("in time", 0, start=0, end=2 * RETENTION)
        assert store.expired_puts == 1


def test_the_position_after_puts(directory: Path | None) -> None:
    """semantics 34.11: given by the caller, where Kafka Streams reads it from the context of a record."""
    with SessionStore(RETENTION, directory=directory) as store:
        for number, key in enumerate(("a", "aa", "a"), 1):
            store.put(key, number, start=number, end=10 * number)
            store.advance_position("input", partition=0, offset=number)
        assert store.position == {"input": {0: 3}}


def test_removing_what_is_not_there(directory: Path | None) -> None:
    """semantics 34.15"""
    with SessionStore(RETENTION, directory=directory) as store:
        assert not store.remove("a", start=0, end=1)


def test_null_keys(directory: Path | None) -> None:
    """semantics 34.1: refused. As an end of a range, null leaves it open, unlike in Kafka Streams."""
    with four(directory) as store:
        for call in (
            lambda: store.find(None, earliest_end=1, latest_start=2),  # type: ignore[arg-type]
            lambda: store.fetch(None),  # type: ignore[arg-type]
            lambda: store.remove(None, start=0, end=1),  # type: ignore[arg-type]
            lambda: store.put(None, 1, start=0, end=1),  # type: ignore[arg-type]
        ):
            with pytest.raises(InputError, match="a key is not null"):
                call()
        assert (
            values(store.find_keys(None, "a", earliest_end=0, latest_start=20))
            == values(store.fetch_keys(None, "a"))
            == [1, 3]
        )
        assert (
            values(store.find_keys("aa", None, earliest_end=0, latest_start=20))
            == values(store.fetch_keys("aa", None))
            == [2, 4]
        )


def test_a_range_of_keys_that_ends_before_it_starts(directory: Path | None) -> None:
    """semantics 34.14"""
    with four(directory) as store:
        assert values(store.find_keys("b", "a", earliest_end=0, latest_start=10)) == []
        assert values(store.find_keys("b", "a", earliest_end=0, latest_start=10, backward=True)) == []
