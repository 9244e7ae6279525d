"""Stores whose entries expire: their time, what is too old, and when it is deleted."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from panewise.calls import one_thread_at_a_time
from panewise.chrono import MIN_INSTANT, Duration, DurationLike, InstantLike, instant_us
from panewise.errors import InputError, SpecError
from panewise.stores.keys import KeyValue, decode_int64, encode_key, int64_range
from panewise.stores.ordered_map import after
from panewise.stores.store import Store
from panewise.stores.timed_layout import BY_TIME, EVERY_KEY, TimedLayout

EXPIRE_EVERY = 1024  # puts; entries that have expired are never returned, even before they are deleted
_DELETED_AT_ONCE = 10_000  # entries; a durable store has the deletions in memory until it has written them


class RetainingStore(Store):
    """The base of stores with a retention.

    Invariant: no read returns an entry whose time is at or below `_horizon`. So entries can be deleted later:
    in memory by reads and puts, and in a directory by commits.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        retention: int,
        rest: int,
        *,
        directory: str | Path | None,
        cache_bytes: int,
    ) -> None:
        self._retention = retention
        self._layout = TimedLayout(rest)
        self._durable = directory is not None
        self._now: int | None = None
        self._latest = MIN_INSTANT - 1  # now, or less than any time
        self._horizon = self._deleted = MIN_INSTANT - 1  # times above can be read, or have not been deleted
        self._puts = self._expired_puts = 0
        self._offsets: dict[str, dict[str, int]] = {}  # the names of JSON's objects are texts
        super().__init__(settings, directory, cache_bytes=cache_bytes)

    @property
    def retention(self) -> int:
        """How long entries can be read, in microseconds."""
        return self._retention

    @property
    def now(self) -> int | None:
        """The time of the store: the highest one that was put, or that of `advance`; None at first."""
        return self._now

    @property
    def expired_puts(self) -> int:
        """How many puts, deletes and restored entries came too late."""
        return self._expired_puts

    @property
    def position(self) -> dict[str, dict[int, int]]:
        """The highest offset of each topic and partition that `advance_position` was given."""
        return {
            topic: {int(partition): offset for partition, offset in partitions.items()}
            for topic, partitions in self._offsets.items()
        }

    @one_thread_at_a_time
    def advance_position(self, topic: str, *, partition: int, offset: int) -> None:
        """Records that the store contains the input up to this offset of a partition.

        Raises:
            InputError: if the topic is no text, or the partition or the offset no int.
        """
        self._check_open()
        if type(topic) is not str or type(partition) is not int or type(offset) is not int:
            fault = f"topic={topic!r}, partition={partition!r}, offset={offset!r}"
            raise InputError(fault, "a topic is a text, a partition and an offset are ints", "convert them")
        offsets, name = self._offsets.setdefault(topic, {}), str(partition)
        offsets[name] = max(offset, offsets.get(name, offset))

    @one_thread_at_a_time
    def advance(self, time: InstantLike) -> None:
        """Advances `now`, and so the time at which entries expire. An earlier time changes nothing.

        As in all methods of stores, an int is microseconds since 1970-01-01 UTC.
        """
        self._check_open()
        moved = instant_us(time, "time")
        if moved > self._latest:
            self._move(moved)
        self._expire()

    @one_thread_at_a_time
    def commit(self) -> None:
        """Deletes what has expired, and makes all changes since the last commit durable, all or none."""
        self._check_open()
        self._delete_expired()
        self._complete()
        super().commit()
        while self._durable and self._deleted < self._horizon:
            self._delete_expired()
            super().commit()

    def _complete(self) -> None:
        """Puts the entries that a subclass puts only before a commit."""

    def _move(self, now: int) -> None:
        self._now = self._latest = now
        horizon = now - self._retention
        self._horizon = horizon if horizon >= MIN_INSTANT else MIN_INSTANT - 1  # max() would cost a call

    def _expire(self) -> None:
        """Deletes what has expired, if that frees memory."""
        while not self._durable and self._deleted < self._horizon:
            self._delete_expired()

    def _delete_expired(self) -> None:
        """Deletes some of the entries that have expired since the last time, from the oldest on."""
        if self._deleted >= self._horizon:
            return
        start, end = int64_range(BY_TIME, self._deleted + 1, self._horizon)
        with self._map.scan(start, end) as entries:
            places = [place for place, _ in islice(entries, _DELETED_AT_ONCE)]
        for place in places:
            self._map.delete(self._layout.by_key(place))
        whole = len(places) < _DELETED_AT_ONCE
        self._map.delete_range(start, end if whole else after(places[-1]))
        self._deleted = self._horizon if whole else decode_int64(places[-1], 1) - 1

    def _readable(self, first: int, last: int) -> tuple[int, int]:
        """Returns a range of times without what has expired, and deletes that if it is in memory."""
        self._check_open()
        self._expire()
        return max(first, self._horizon + 1), last

    def _state(self) -> dict[str, Any]:
        return {
            "now": self._now,
            "deleted": self._deleted,
            "expired_puts": self._expired_puts,
            "position": self._offsets,
        }

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._deleted, self._expired_puts = state["deleted"], state["expired_puts"]
        self._offsets = state.get("position", {})  # session stores had none at first
        if state["now"] is not None:
            self._move(state["now"])
        # With a longer retention than before, times that were deleted up to now can be put again.
        self._deleted = min(self._deleted, self._horizon)


def key_range(
    first: KeyValue | None, last: KeyValue | None, encoded: Callable[[KeyValue], bytes] = encode_key
) -> tuple[bytes, bytes]:
    """Returns a range of keys as bytes, with both ends. None leaves an end open."""
    low, high = EVERY_KEY
    return low if first is None else encoded(first), high if last is None else encoded(last)


def arguments_of(entries: Any, *names: str) -> Iterator[tuple[Any, ...]]:
    """Returns the arguments of the puts of a changelog.

    >>> list(arguments_of([{"key": "a", "value": 1, "time": 2}], "key", "value", "time"))
    [('a', 1, 2)]
    """
    if not isinstance(entries, Iterable):
        raise InputError(f"entries={entries!r}", "the entries to restore are a list", "give a list of dicts")
    read = itemgetter(*names)

    def arguments(entry: Any) -> tuple[Any, ...]:
        if not isinstance(entry, Mapping) or entry.keys() != set(names):
            rule = f"an entry to restore is a dict of {', '.join(names[:-1])} and {names[-1]}"
            form = ", ".join(f"{name!r}: ..." for name in names)
            raise InputError(f"entry={entry!r}", rule, f"give {{{form}}}")
        values: tuple[Any, ...] = read(entry)
        return values

    return map(arguments, entries)


def checked_duration(name: str, value: DurationLike, least: int, retention: int | None = None) -> int:
    """Returns a duration in microseconds."""
    duration = Duration.of(value, name)
    if duration.us < least:
        rule = f"{name} is {Duration(least)} or longer"
        raise SpecError(f"{name}={duration}", rule, f"give a longer {name}")
    if retention is not None and duration.us > retention:
        fault = f"{name}={duration}, retention={Duration(retention)}"
        raise SpecError(fault, f"{name} is at most the retention", f"lower {name}, or raise the retention")
    return duration.us
