"""Samza's time series store: values of a key by time.

Nothing expires, and nothing is read over several keys. So an entry is in the map once, by key, time and
number, and not also by time as those of :mod:`panewise.stores.timed_layout`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from panewise.calls import one_thread_at_a_time
from panewise.choices import check_flag
from panewise.chrono import MAX_INSTANT, InstantLike, instant_us
from panewise.errors import InputError
from panewise.stores.durable_map import DEFAULT_CACHE
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, decode_int64, encode_int64, encode_key, int64_range
from panewise.stores.ordered_map import Snapshot
from panewise.stores.store import Store
from panewise.stores.value_codec import decode_value, encode_value

_PREFIX = b"v"


class TimedValue(NamedTuple):
    """A value of a time series store, and its time in microseconds since 1970-01-01 UTC.

    Source: Samza, `TimestampedValue`.
    """

    time: int
    value: Any


class TimeSeriesStore(Store):
    """Values of keys by time (semantics 34.16, 34.17).

    Args:
        append: whether a key may have several values at a time. They are returned in the order of the puts.
            Otherwise a put replaces the value at its time.
        directory: as for `WindowStore`.
        cache_bytes: as for `WindowStore`.

    Ranges of time are [start, end): they include their start. The last instant, 2^63 - 1, is no bound as an
    end. Times before 1970 are refused, as in Samza.

    >>> store = TimeSeriesStore(append=True)
    >>> store.put("sensor", 20.5, time=1_000)
    >>> store.put("sensor", 21.0, time=1_000)
    >>> [entry.value for entry in store.get("sensor", start=0, end=2_000)]
    [20.5, 21.0]
    >>> store.delete("sensor", start=0, end=2_000)
    2

    Raises:
        InputError: for a negative time or a range whose end is before its start; for a null key, a null
            value, or a key or value of another type (semantics 34.1, 34.2).
        StoreError: if the files cannot be used, or the store is closed (semantics 34.5).

    Source: Samza, `TimeSeriesStore`.
    """

    _kind = "time series"

    def __init__(
        self, *, append: bool = True, directory: str | Path | None = None, cache_bytes: int = DEFAULT_CACHE
    ) -> None:
        check_flag("append", append)
        self._append = append
        self._sequence = 0
        super().__init__({"append": append}, directory, cache_bytes=cache_bytes)

    @one_thread_at_a_time
    def put(self, key: KeyValue, value: Any, *, time: InstantLike) -> None:
        """Stores a value of a key at a time."""
        self._check_open()
        place = _PREFIX + encode_key(key) + encode_int64(_time(time, "time"))
        if value is None:
            raise InputError(
                "value=None", "a time series has no null values", "delete(key, start=time, end=time + 1)"
            )
        data = encode_value(value)
        if self._append:
            self._sequence += 1
            place += encode_int64(self._sequence)
        self._map.put(place, data)

    @one_thread_at_a_time
    def get(
        self, key: KeyValue, *, start: InstantLike, end: InstantLike, backward: bool = False
    ) -> Entries[TimedValue]:
        """Returns the values of a key with start <= time < end, in the order of time, or in the opposite."""
        check_flag("backward", backward, error=InputError)
        first, last = self._range(key, start, end)
        at = len(first) - 8  # where the time is in a place

        def read(opened: Snapshot) -> Iterator[TimedValue]:
            for place, data in opened.scan(first, last, backward=backward):
                yield TimedValue(decode_int64(place, at), decode_value(data))

        return self._entries(read)

    @one_thread_at_a_time
    def delete(self, key: KeyValue, *, start: InstantLike, end: InstantLike) -> int:
        """Deletes the values of a key with start <= time < end. Returns their number."""
        self._check_open()
        return self._map.delete_range(*self._range(key, start, end))

    def _range(self, key: KeyValue, start: InstantLike, end: InstantLike) -> tuple[bytes, bytes | None]:
        """Returns the range of the map."""
        first, last = _time(start, "start"), _time(end, "end")
        if first > last:
            fault, rule = f"start={start!r}, end={end!r}", "the end of a range is not before its start"
            raise InputError(fault, rule, "exchange them")
        return int64_range(_PREFIX + encode_key(key), first, last - (last < MAX_INSTANT))

    def _state(self) -> dict[str, Any]:
        return {"sequence": self._sequence}

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._sequence = state["sequence"]


def _time(time: InstantLike, name: str) -> int:
    us = instant_us(time, name)
    if us < 0:
        rule = "the times of a time series are from 1970 on"
        raise InputError(f"{name}={time!r}", rule, "give a later time")
    return us
