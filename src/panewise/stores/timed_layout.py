"""Entries in the order of time and in the order of keys: those of window, session and windowed stores.

An entry is in the map twice. By time, key, rest it has its value: this is the order of all entries and of
expiry. By key, time, rest it has nothing: this is how the entries of one key are found. The rest has a fixed
length: it is the start of a session, the sequence number of a duplicate, or nothing. In the storages of S4 it
is the start of the window, and precedes the key, so that a window is a range.

Invariant: both places of an entry are changed together, except that the place by key may be in a `LateIndex`
for a while. So an entry of one key costs a step of a scan and a search.
"""

from collections.abc import Iterator
from typing import TypeAlias

from panewise.stores.keys import decode_int64, int64_range
from panewise.stores.ordered_map import OrderedMap, Snapshot, prefix_end

BY_TIME, BY_KEY = b"t", b"k"
EVERY_KEY = (b"", b"\xff")  # below and above all encoded keys
_EVERY_REST = b"\xff" * 9  # above all rests
_KEY = 9  # where the key begins in a place by time, if no rest precedes it
_MISSES = 64  # entries of other keys that are read before a search, which costs as much as some entries
_MOST_LATE = 1 << 16

TimedEntry: TypeAlias = tuple[int, bytes, bytes, bytes]  # time, key, rest, value; a plain tuple is faster


class TimedLayout:
    """Where entries are in the map.

    Args:
        rest: the length of the rest.
        prefix: what the places by time begin with.
        rest_first: whether the rest precedes the key in places by time.
    """

    def __init__(self, rest: int, prefix: bytes = BY_TIME, *, rest_first: bool = False) -> None:
        self._rest, self._prefix, self._rest_first = rest, prefix, rest_first
        self._key = _KEY + rest if rest_first else _KEY  # where the key begins in a place by time

    def places(self, time: bytes, key: bytes, rest: bytes = b"") -> tuple[bytes, bytes]:
        """Returns both places of an entry: by time, and by key."""
        after = rest + key if self._rest_first else key + rest
        return self._prefix + time + after, BY_KEY + key + time + rest

    def by_key(self, place: bytes) -> bytes:
        """Returns the place by key of an entry, given the one by time."""
        if self._rest_first:
            return BY_KEY + place[self._key :] + place[1 : self._key]
        end = len(place) - self._rest
        return BY_KEY + place[_KEY:end] + place[1:_KEY] + place[end:]

    def entry(self, place: bytes, data: bytes) -> TimedEntry:
        """Returns the entry of a place by time."""
        if self._rest_first:
            return decode_int64(place, 1), place[self._key :], place[_KEY : self._key], data
        end = len(place) - self._rest
        return decode_int64(place, 1), place[_KEY:end], place[end:], data

    def read_key(
        self,
        opened: Snapshot,
        key: bytes,
        times: tuple[int, int],
        backward: bool,
        last_rest: bytes = _EVERY_REST,
    ) -> Iterator[TimedEntry]:
        """Yields the entries of a key from the first to the last of two times, with rests up to the last."""
        if times[0] > times[1]:
            return
        prefix, by_time, rest_first = BY_KEY + key, self._prefix, self._rest_first
        for place, _ in opened.scan(*int64_range(prefix, *times), backward=backward):
            time, rest = place[len(prefix) : len(prefix) + 8], place[len(prefix) + 8 :]
            if rest > last_rest:
                continue
            data = opened.get(by_time + time + (rest + key if rest_first else key + rest))
            assert data is not None, "both places of an entry are changed together"
            yield decode_int64(time), key, rest, data

    def read_keys(
        self,
        opened: Snapshot,
        keys: tuple[bytes, bytes],
        times: tuple[int, int],
        backward: bool,
        last_rest: bytes = _EVERY_REST,
    ) -> Iterator[TimedEntry]:
        """Yields the entries of a range of keys from the first to the last of two times, as `read_key` does.

        They are in the order of their places by time. After some entries of other keys it searches for the
        range of keys at that time, or at the next one; if rests precede keys, also at that rest, or the next.
        So the cost depends on the times and on what is found, and not on the entries of other keys.
        """
        if keys[0] > keys[1] or times[0] > times[1]:
            return
        start, end = int64_range(self._prefix, *times)
        while end is None or start < end:
            misses = 0
            for place, data in opened.scan(start, end, backward=backward):
                entry = self.entry(place, data)
                key = entry[1]
                if keys[0] <= key <= keys[1]:
                    misses = 0
                    if entry[2] <= last_rest:
                        yield entry
                    continue
                misses += 1
                if misses == _MISSES:
                    start, end = _search(place[: self._key], key, keys, (start, end), backward)
                    break
            else:
                return


def _search(
    before: bytes, key: bytes, keys: tuple[bytes, bytes], rest: tuple[bytes, bytes | None], backward: bool
) -> tuple[bytes, bytes | None]:
    """Returns the range to scan after an entry whose key is not in the range of keys.

    `before` is what precedes the key in its place. If the keys are still ahead, they follow after the same.
    """
    start, end = rest
    if backward:
        return start, prefix_end(before + keys[1]) if key > keys[1] else before
    if key < keys[0]:
        return before + keys[0], end
    following = prefix_end(before)
    assert following is not None, "a place by time does not begin with bytes of 255 only"
    return following, end


class LateIndex:
    """The places of entries by time that have none by key yet. Some of the entries may have been deleted.

    Putting an entry costs an append. A read of one key, and a commit, first call :meth:`write`.
    """

    def __init__(self) -> None:
        self._places: list[bytes] = []
        self._most = _MOST_LATE
        self.add = self._places.append

    def tidy(self, entries: OrderedMap) -> None:
        """Drops the places of deleted entries, if there are many places."""
        if len(self._places) > self._most:
            self._places[:] = [
                place for place in dict.fromkeys(self._places) if entries.get(place) is not None
            ]
            self._most = max(_MOST_LATE, 2 * len(self._places))

    def write(self, entries: OrderedMap, layout: TimedLayout) -> None:
        """Puts the entries in the order of keys."""
        for place in self._places:
            if entries.get(place) is not None:
                entries.put(layout.by_key(place), b"")
        self._places.clear()
