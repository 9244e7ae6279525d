"""Cases that the suite of Samza decides for its time series, in memory and in a directory.

Source: TestTimeSeriesStoreImpl and TestTimeSeriesKeySerde of Apache Samza.
"""

from pathlib import Path
from typing import Any

import pytest

from panewise import InputError
from panewise.stores import TimedValue, TimeSeriesStore

ALL = (1 << 31) - 1
# What was put: one value at 1, two at 2. In overwrite mode the last one at 2 remains.
APPENDED = [TimedValue(1, b"world-1"), TimedValue(2, b"world-1"), TimedValue(2, b"world-2")]
OVERWRITTEN = [TimedValue(1, b"world-1"), TimedValue(2, b"world-2")]


def filled(append: bool, directory: Path | None) -> TimeSeriesStore:
    store = TimeSeriesStore(append=append, directory=directory)
    for time, value in APPENDED:
        store.put("hello", value, time=time)
    return store


@pytest.mark.parametrize(("append", "stored"), [(True, APPENDED), (False, OVERWRITTEN)])
@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 2), (2, 3), (0, 3), (2, 999_999), (3, 4), (2, 2)])
def test_ends_of_ranges(append: bool, stored: Any, start: int, end: int, directory: Path | None) -> None:
    """semantics 34.16, 34.17: the start belongs to a range, the end does not."""
    with filled(append, directory) as store:
        expected = [entry for entry in stored if start <= entry.time < end]
        assert list(store.get("hello", start=start, end=end)) == expected


def test_keys_and_times_without_values(directory: Path | None) -> None:
    """semantics 34.16"""
    with filled(True, directory) as store:
        assert list(store.get("another key", start=0, end=ALL)) == []
        assert list(store.get("hello", start=3, end=ALL)) == []


def test_two_hundred_values(directory: Path | None) -> None:
    """semantics 34.16"""
    with TimeSeriesStore(directory=directory) as store:
        for _ in range(100):
            store.put("hello", b"world-1", time=1)
            store.put("hello", b"world-2", time=2)
        assert list(store.get("hello", start=0, end=2)) == [TimedValue(1, b"world-1")] * 100
        assert list(store.get("hello", start=2, end=4)) == [TimedValue(2, b"world-2")] * 100
        assert len(list(store.get("hello", start=0, end=ALL))) == 200


@pytest.mark.parametrize(("append", "deleted"), [(True, 3), (False, 2)])
def test_deletes(append: bool, deleted: int, directory: Path | None) -> None:
    """semantics 34.16, 34.17"""
    with filled(append, directory) as store:
        assert store.delete("hello", start=0, end=3) == deleted
        assert list(store.get("hello", start=1, end=3)) == []


@pytest.mark.parametrize("key", ["test", 30, ("test", 30), b"test"])
def test_keys_are_returned_by_what_reads_them(key: Any, directory: Path | None) -> None:
    """semantics 34.1: values of each type of key are apart. A null key is refused, unlike in Samza."""
    with TimeSeriesStore(directory=directory) as store:
        store.put(key, "value", time=1)
        assert list(store.get(key, start=1, end=2)) == [TimedValue(1, "value")]
        assert list(store.get(str(key) + "!", start=1, end=2)) == []
        with pytest.raises(InputError, match="a key is not null"):
            store.put(None, "value", time=1)  # type: ignore[arg-type]


def test_a_restart_appends_behind_the_values_before(tmp_path: Path) -> None:
    """semantics 34.16: the sequence of a time continues, unlike in Samza, where it begins again."""
    for value in ("before", "after"):
        with TimeSeriesStore(directory=tmp_path) as store:
            store.put("key", value, time=1)
    with TimeSeriesStore(directory=tmp_path) as store:
        assert list(store.get("key", start=0, end=9)) == [TimedValue(1, "before"), TimedValue(1, "after")]
