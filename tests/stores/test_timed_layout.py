"""Ranges of keys at ranges of times: the entries that a filter finds, without reading all the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.stores import WindowStore, timed_layout
from panewise.stores.keys import decode_int64, encode_int64, encode_key
from panewise.stores.memory_map import MemoryMap
from panewise.stores.ordered_map import prefix_end
from panewise.stores.timed_layout import BY_TIME, TimedLayout
from tests.engine.effort import examples

KEYS = st.integers(-3, 6)
TIMES = st.integers(-4, 8)


def filled(
    entries: set[tuple[int, int, int]], rest: int, *, rest_first: bool = False
) -> tuple[TimedLayout, Any]:
    layout, found = TimedLayout(rest, rest_first=rest_first), MemoryMap[bytes]()
    for time, key, number in entries:
        by_time, by_key = layout.places(
            encode_int64(time), encode_key(key), encode_int64(number) if rest else b""
        )
        found.put(by_time, b"%d" % number)
        found.put(by_key, b"")
    return layout, found


@pytest.mark.parametrize("rest_first", [False, True])
@examples(200)
@given(
    entries=st.sets(st.tuples(TIMES, KEYS, st.integers(0, 3)), max_size=60),
    keys=st.tuples(KEYS, KEYS),
    times=st.tuples(TIMES, TIMES),
    backward=st.booleans(),
    misses=st.integers(1, 4),
)
def test_entries_of_a_range_of_keys(
    entries: Any, keys: tuple[int, int], times: tuple[int, int], backward: bool, misses: int, rest_first: bool
) -> None:
    """semantics 34.8, 34.10, 34.14: however many entries of other keys are read before a search."""
    layout, found = filled(entries, 8, rest_first=rest_first)
    encoded = encode_key(keys[0]), encode_key(keys[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timed_layout, "_MISSES", misses)
        rows = [
            (time, key, decode_int64(rest))
            for time, key, rest, _ in layout.read_keys(found.snapshot(), encoded, times, backward)
        ]
    expected = [
        (time, encode_key(key), number)
        for time, key, number in sorted(
            entries, key=lambda entry: (entry[0], entry[2], entry[1]) if rest_first else entry
        )
        if keys[0] <= key <= keys[1] and times[0] <= time <= times[1]
    ]
    assert rows == (expected[::-1] if backward else expected)


@pytest.mark.parametrize("rest_first", [False, True])
@given(entries=st.sets(st.tuples(TIMES, KEYS, st.integers(0, 3)), max_size=10))
def test_an_entry_is_read_from_its_place(entries: set[tuple[int, int, int]], rest_first: bool) -> None:
    layout, found = filled(entries, 8, rest_first=rest_first)
    read = {layout.entry(place, data) for place, data in found.snapshot().scan(BY_TIME, prefix_end(BY_TIME))}
    assert read == {
        (time, encode_key(key), encode_int64(number), b"%d" % number) for time, key, number in entries
    }
    assert all(
        found.get(layout.by_key(layout.places(encode_int64(time), key, rest)[0])) == b""
        for time, key, rest, _ in read
    )


class Counted:
    """A snapshot that counts the scans and the entries that are read."""

    def __init__(self, snapshot: Any) -> None:
        self.snapshot, self.scans, self.read = snapshot, 0, 0

    def scan(self, *bounds: Any, backward: bool) -> Any:
        self.scans += 1
        for entry in self.snapshot.scan(*bounds, backward=backward):
            self.read += 1
            yield entry


@pytest.mark.parametrize("rest_first", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_other_keys_are_skipped(backward: bool, rest_first: bool) -> None:
    """A key among 2,000 at each of 20 times: some searches a time instead of 2,000 entries."""
    entries = {(time, key, 0) for time in range(20) for key in range(2_000)}
    layout, found = filled(entries, 8 if rest_first else 0, rest_first=rest_first)
    counted = Counted(found.snapshot())
    keys = encode_key(1_000), encode_key(1_001)
    rows = list(layout.read_keys(counted, keys, (0, 19), backward))  # type: ignore[arg-type]
    assert len(rows) == 40
    assert counted.read <= 20 * (3 * timed_layout._MISSES + 2)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("keys", "times"), [((1_001, 1_000), (0, 19)), ((1_000, 1_001), (19, 0))])
def test_a_range_that_ends_before_it_starts_reads_nothing(
    keys: tuple[int, int], times: tuple[int, int], backward: bool
) -> None:
    """semantics 34.8"""
    layout, found = filled({(time, key, 0) for time in range(20) for key in range(100)}, 0)
    counted: Any = Counted(found.snapshot())
    low, high = map(encode_key, keys)
    assert list(layout.read_keys(counted, (low, high), times, backward)) == []
    if times[0] > times[1]:
        assert list(layout.read_key(counted, low, times, backward)) == []
    assert counted.scans == 0


def test_a_window_store_skips_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 34.8"""
    monkeypatch.setattr(timed_layout, "_MISSES", 2)
    store = WindowStore(1_000, 5, duplicates=True)
    for time in range(5):
        for key in range(20):
            store.put(key, (time + key) % 7, time=time)
            store.put(key, "again", time=time)
    found = store.fetch_keys(7, 8, first=1, last=3)
    expected = [value for time in (1, 2, 3) for key in (7, 8) for value in ((time + key) % 7, "again")]
    assert [entry.value for entry in found] == expected
