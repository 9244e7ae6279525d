"""Cases that the suites of Kafka Streams decide for their window stores, in memory and in a directory.

Source: AbstractWindowBytesStoreTest and InMemoryWindowStoreTest of Apache Kafka. Where the semantics decide
otherwise, the test says so.
"""

from pathlib import Path
from typing import Any

import pytest

from panewise import InputError
from panewise.chrono import MAX_INSTANT
from panewise.stores import WindowEntry, WindowStore
from tests.stores.test_window_store import entries_of

SIZE, RETENTION, START = 3, 120_000, 60_000
FAR = 0x7A00000000000000


def opened(directory: Path | None, **settings: Any) -> WindowStore:
    return WindowStore(RETENTION, SIZE, directory=directory, **settings)


def filled(directory: Path | None, more: bool = False) -> WindowStore:
    """Returns a store with a value of each of six keys and, with `more`, six more of the key 2."""
    store = opened(directory)
    names = enumerate(["zero", "one", "two", "three", "four", "five"])
    for key, name in names:
        store.put(key, name, time=START + (2 if key == 3 else key))
    for number in range(1, 7) if more else ():
        store.put(2, f"two+{number}", time=START + 2 + number)
    return store


def values(entries: Any) -> list[Any]:
    return [entry.value for entry in entries]


RANGES = [
    ((0, 1), (-SIZE, SIZE), ["zero", "one"]),
    ((1, 1), (-SIZE, SIZE), ["one"]),
    ((1, 3), (-SIZE, SIZE), ["one", "two", "three"]),
    ((0, 5), (-SIZE, SIZE), ["zero", "one", "two", "three"]),
    ((0, 5), (-SIZE, SIZE + 5), ["zero", "one", "two", "three", "four", "five"]),
    ((0, 5), (2, SIZE + 5), ["two", "three", "four", "five"]),
    ((4, 5), (2, SIZE), []),
    ((0, 3), (3, SIZE + 5), []),
]


@pytest.mark.parametrize(("keys", "times", "expected"), RANGES)
def test_ranges_of_keys_and_times(
    keys: tuple[int, int], times: tuple[int, int], expected: list[str], directory: Path | None
) -> None:
    """semantics 34.8, 34.10"""
    with filled(directory) as store:
        first, last = START + times[0], START + times[1]
        assert values(store.fetch_keys(*keys, first=first, last=last)) == expected
        assert values(store.fetch_keys(*keys, first=first, last=last, backward=True)) == expected[::-1]


def test_windows_before_and_after_a_time(directory: Path | None) -> None:
    """semantics 34.8: both ends belong to the range, from before the first window to after the last."""
    with filled(directory, more=True) as store:
        names = {2: "two", **{2 + number: f"two+{number}" for number in range(1, 7)}}
        for at in range(-4, 14):
            before = [name for start, name in names.items() if at - SIZE <= start <= at]
            after = [name for start, name in names.items() if at <= start <= at + SIZE]
            assert values(store.fetch(2, first=START + at - SIZE, last=START + at)) == before
            assert values(store.fetch(2, first=START + at, last=START + at + SIZE)) == after
        store.commit()
        assert values(store.fetch(2, first=START, last=START + 20)) == list(names.values())
        assert values(store.fetch(6, first=START, last=START + 20)) == []


def test_equal_values_of_one_key_and_time(directory: Path | None) -> None:
    """semantics 34.9: each put adds a value, also one that is there already."""
    with opened(directory, duplicates=True) as store:
        for value in ("zero", "zero", "zero+", "zero++"):
            store.put(0, value, time=START)
        for at in range(4):
            found = values(store.fetch(0, first=START + at - SIZE, last=START + at + SIZE))
            assert found == ["zero", "zero", "zero+", "zero++"]
        assert values(store.fetch(0, first=START + 4 - SIZE, last=START + 4 + SIZE)) == []


def test_duplicates_at_several_times(directory: Path | None) -> None:
    """semantics 34.9"""
    with opened(directory, duplicates=True) as store:
        for time in (0, 30, 60):
            store.put(1, f"{time}", time=time)
            store.put(1, f"{time} again", time=time)
        found = [(entry.start, entry.value) for entry in store.fetch(1, first=0, last=30)]
        assert found == [(0, "0"), (0, "0 again"), (30, "30"), (30, "30 again")]


def test_closing_the_store_ends_iterators(directory: Path | None) -> None:
    """semantics 34.3"""
    store = opened(directory)
    for time in (1, 2, 3):
        store.put(1, time, time=time)
    one, several = store.fetch(1, first=1, last=3), store.fetch_keys(1, 2, first=1, last=3)
    assert one.peek() is not None
    assert next(several).value == 1
    store.close()
    assert (one.peek(), list(one), list(several)) == (None, [], [])


def test_exact_keys_far_apart(directory: Path | None) -> None:
    """semantics 34.1, 34.8"""
    with WindowStore(FAR, FAR, directory=directory) as store:
        for key, value, time in (
            ("a", 1, 0),
            ("aa", 2, 0),
            ("a", 3, 1),
            ("aa", 4, 1),
            ("a", 5, FAR - 1),
        ):
            store.put(key, value, time=time)
        expected = [
            WindowEntry("a", 0, FAR, 1),
            WindowEntry("a", 1, FAR + 1, 3),
            WindowEntry("a", FAR - 1, MAX_INSTANT, 5),
        ]
        assert list(store.fetch("a", first=0, last=MAX_INSTANT)) == expected
        assert list(store.fetch_keys("a", "a", first=0, last=MAX_INSTANT)) == expected
        assert values(store.fetch_keys("aa", "aa", first=0, last=MAX_INSTANT)) == [2, 4]


def test_exact_keys_of_bytes(directory: Path | None) -> None:
    """semantics 34.1, 34.9"""
    with opened(directory, duplicates=True) as store:
        one, two, three = b"\x00", b"\x00\x00", b"\x00\x00\x00"
        puts = [(one, 0), (two, 0), (three, 0), (one, 1), (two, 1)]
        puts += [(three, 59_999), (one, 59_999), (two, 59_999), (three, 59_999)]
        for number, (key, time) in enumerate(puts, 1):
            store.put(key, number, time=time)
        assert values(store.fetch(one, first=0, last=MAX_INSTANT)) == [1, 4, 7]
        assert values(store.fetch(two, first=0, last=MAX_INSTANT)) == [2, 5, 8]
        assert values(store.fetch(three, first=0, last=MAX_INSTANT)) == [3, 6, 9]


def test_update_and_delete(directory: Path | None) -> None:
    """semantics 34.6, 34.7"""
    with opened(directory) as store:
        assert store.fetch(1, time=0) is None
        store.put(1, "one", time=0)
        store.put(1, "one v2", time=0)
        assert values(store.fetch(1, first=0, last=0)) == ["one v2"]
        store.put(1, None, time=0)
        assert (store.fetch(1, time=0), list(store.fetch(1, first=0, last=0))) == (None, [])


def test_null_keys(directory: Path | None) -> None:
    """semantics 34.1: refused. As an end of a range, null leaves it open, unlike in Kafka Streams."""
    with opened(directory) as store:
        with pytest.raises(InputError, match="a key is not null"):
            store.put(None, "value", time=0)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="a key is not null"):
            store.fetch(None, first=1, last=2)  # type: ignore[arg-type]
        store.put(1, "one", time=1)
        store.put(3, "three", time=1)
        assert values(store.fetch_keys(None, 2, first=1, last=2)) == ["one"]
        assert values(store.fetch_keys(2, None, first=1, last=2)) == ["three"]


def test_one_key_is_the_range_of_it(directory: Path | None) -> None:
    """semantics 34.8"""
    with opened(directory) as store:
        for key, time in ((1, 0), (2, 1), (2, 2), (3, 3)):
            store.put(key, f"{key} at {time}", time=time)
        assert list(store.fetch(2, first=0, last=5)) == list(store.fetch_keys(2, 2, first=0, last=5)) != []


def test_negative_keys_sort_by_value(directory: Path | None) -> None:
    """semantics 34.1: unlike in Kafka Streams, where a range from -1 to 1 is empty."""
    with opened(directory) as store:
        for key in (-2, -1, 0, 1, 2):
            store.put(key, key, time=0)
        assert values(store.fetch_keys(-1, 1, first=0, last=10)) == [-1, 0, 1]
        assert values(store.fetch_keys(1, -1, first=0, last=10)) == []


def test_late_puts_are_counted(directory: Path | None) -> None:
    """semantics 34.7"""
    with opened(directory) as store:
        assert store.put(1, "first", time=2 * RETENTION)
        assert not store.put(1, "late", time=0)
        assert store.put(1, "in time", time=RETENTION + 1)
        assert store.expired_puts == 1


@pytest.mark.parametrize("now", [RETENTION, 4 * RETENTION])
def test_a_range_that_has_expired_is_empty(now: int, directory: Path | None) -> None:
    """semantics 34.6: already when the store is exactly its retention ahead."""
    with opened(directory) as store:
        store.put(1, "one", time=0)
        store.put(1, "two", time=now)
        assert list(store.fetch(1, first=0, last=10)) == list(store.fetch_all(first=0, last=10)) == []


def test_entries_expire_one_by_one(directory: Path | None) -> None:
    """semantics 34.3, 34.6: an open iterator sees neither the expiry nor the put."""
    with opened(directory) as store:
        quarter = RETENTION // 4
        for number in range(5):
            store.put(1, number, time=number * quarter)
        entries = store.fetch_all(first=0, last=RETENTION)
        store.put(1, 5, time=5 * quarter)
        assert values(entries) == [1, 2, 3, 4]
        assert values(store.fetch_all(first=0, last=5 * quarter)) == [2, 3, 4, 5]


def test_open_iterators_keep_what_expires(directory: Path | None) -> None:
    """semantics 34.3: two of them, read in turns."""
    with opened(directory) as store:
        for key, time in ((1, 0), (1, 10), (2, 5), (2, 15)):
            store.put(key, time, time=time)
        one, two = store.fetch(1, first=0, last=50), store.fetch(2, first=0, last=50)
        store.put(1, "now", time=RETENTION + 50)
        assert [next(one).value, next(two).value, next(two).value, next(one).value] == [0, 5, 15, 10]
        assert (list(one), list(two)) == ([], [])


def test_peeks(directory: Path | None) -> None:
    """semantics 34.3: a peek moves nothing, in each kind of iterator."""
    with opened(directory) as store:
        store.put(1, "one", time=0)
        for entries in (
            store.fetch(1, first=0, last=10),
            store.fetch_all(first=0, last=0),
            store.fetch_keys(1, 4, first=0, last=9),
        ):
            assert entries.peek() == entries.peek() == next(entries) == WindowEntry(1, 0, SIZE, "one")
            assert entries.peek() is None


def test_puts_after_an_iterator_was_opened(directory: Path | None) -> None:
    """semantics 34.3: it is a snapshot, unlike in Kafka Streams, where it may return them."""
    with opened(directory) as store:
        store.put(1, "one", time=0)
        store.put(1, "two", time=30)
        entries = store.all()
        store.put(1, "three", time=60)
        store.put(2, "four", time=90)
        assert values(entries) == ["one", "two"]
        assert values(store.all()) == ["one", "two", "three", "four"]


def test_restored_entries_are_read(directory: Path | None) -> None:
    """semantics 34.11"""
    with opened(directory) as store:
        assert store.all().peek() is None
        assert store.restore(entries_of((1, "one", 0), (2, "two", SIZE), (3, "three", 2 * SIZE))) == 3
        assert [(entry.key, entry.start) for entry in store.fetch_all(first=0, last=2 * SIZE)] == [
            (1, 0),
            (2, 3),
            (3, 6),
        ]
        assert store.fetch(2, time=SIZE) == "two"
