"""Entries in the order of time and in the order of keys, as window and session stores have them.

An entry is in the map twice. Under `t`, time, key, rest is its value: this is the order of all entries and of
expiry. Under `k`, key, time, rest is nothing: this is how the entries of one key are found. The rest has a
fixed length: it is the start of a session, the sequence number of a duplicate, or nothing.
"""

from collections.abc import Iterator
from typing import TypeAlias

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.stores.keys import decode_int64, encode_int64
from panewise.stores.ordered_map import Snapshot, prefix_end

BY_TIME, BY_KEY = b"t", b"k"
EVERY_KEY = (b"", b"\xff")  # below and above all encoded keys
_KEY = 9  # where the key begins in an entry by time
_MISSES = 64  # entries of other keys that are read before a search, which costs as much as some entries

TimedEntry: TypeAlias = tuple[int, bytes, bytes, bytes]  # time, key, rest, value; a plain tuple is faster


class TimedLayout:
    """Where entries are in the map, given the length of their rest."""

    def __init__(self, rest: int) -> None:
        self._rest = rest

    def places(self, time: bytes, key: bytes, rest: bytes = b"") -> tuple[bytes, bytes]:
        """Returns both places of an entry: by time, and by key."""
        return BY_TIME + time + key + rest, BY_KEY + key + time + rest

    def by_key(self, place: bytes) -> bytes:
        """Returns the place by key of an entry, given the one by time."""
        end = len(place) - self._rest
        return BY_KEY + place[_KEY:end] + place[1:_KEY] + place[end:]

    def of_key(
        self, opened: Snapshot, key: bytes, times: tuple[int, int], backward: bool
    ) -> Iterator[TimedEntry]:
        """Yields the entries of a key from the first to the last of two times."""
        if times[0] > times[1]:
            return
        prefix = BY_KEY + key
        for place, _ in opened.scan(*time_range(prefix, *times), backward=backward):
            time, rest = place[len(prefix) : len(prefix) + 8], place[len(prefix) + 8 :]
            data = opened.get(BY_TIME + time + key + rest)
            assert data is not None, "both places of an entry are changed together"
            yield decode_int64(time), key, rest, data

    def of_keys(
        self, opened: Snapshot, keys: tuple[bytes, bytes], times: tuple[int, int], backward: bool
    ) -> Iterator[TimedEntry]:
        """Yields the entries of a range of keys from the first to the last of two times.

        After some entries of other keys it searches for the range of keys at that time, or at the next one.
        So the cost depends on the times and on what is found, and not on the entries of other keys.
        """
        if keys[0] > keys[1] or times[0] > times[1]:
            return
        start, end = time_range(BY_TIME, *times)
        while end is None or start < end:
            misses = 0
            for place, data in opened.scan(start, end, backward=backward):
                split = len(place) - self._rest
                key = place[_KEY:split]
                if keys[0] <= key <= keys[1]:
                    misses = 0
                    yield decode_int64(place, 1), key, place[split:], data
                    continue
                misses += 1
                if misses == _MISSES:
                    start, end = _search(place[:_KEY], key, keys, (start, end), backward)
                    break
            else:
                return


def _search(
    time: bytes, key: bytes, keys: tuple[bytes, bytes], rest: tuple[bytes, bytes | None], backward: bool
) -> tuple[bytes, bytes | None]:
    """Returns the range to scan after an entry whose key is not in the range of keys.

    `time` is what its place begins with. If the keys are still ahead, they follow at the same time.
    """
    start, end = rest
    if backward:
        return start, prefix_end(time + keys[1]) if key > keys[1] else time
    if key < keys[0]:
        return time + keys[0], end
    following = prefix_end(time)
    assert following is not None, "a place by time does not begin with bytes of 255 only"
    return following, end


def time_range(prefix: bytes, first: int, last: int) -> tuple[bytes, bytes | None]:
    """Returns the range of the map for first <= time <= last behind a prefix."""
    low = prefix + encode_int64(max(first, MIN_INSTANT)) if first <= MAX_INSTANT else None
    high = prefix_end(prefix) if last >= MAX_INSTANT else prefix + encode_int64(max(last + 1, MIN_INSTANT))
    return (high or b"") if low is None else low, high
