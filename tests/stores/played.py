"""One store of each kind, steps that change it, and its whole content.

A step is determined by its number, so the content of a store follows from the number of its steps. Tests of
faults compare a durable store with one in memory that has played the same steps.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.stores import (
    KeyedWindowedStorage,
    MessageStore,
    SessionStore,
    SessionWindowedStorage,
    TimeSeriesStore,
    WindowedStorage,
    WindowStore,
)

CHANGES = 7  # of a step
FAR = MAX_INSTANT - 1  # the time of a window that is never purged
MARK = "number of steps"


@dataclass(frozen=True)
class Case:
    """A store of one kind: how it is opened, changed and read."""

    opened: Callable[[Path | None], Any]
    change: Callable[[Any, int, random.Random], object]
    mark: Callable[[Any, int], object]
    marked: Callable[[Any], Any]
    content: Callable[[Any], list[Any]]

    def play(self, store: Any, number: int) -> None:
        """Makes the changes of a step, and stores its number."""
        draw = random.Random(number)
        for _ in range(CHANGES):
            self.change(store, number, draw)
        self.mark(store, number)

    def steps(self, store: Any) -> int:
        """Returns how many steps the store contains."""
        found = self.marked(store)
        return 0 if found is None else found + 1


def key(draw: random.Random) -> Any:
    return draw.choice(["a", "aa", b"\x00", 5, ("x", -1)])


def change_windows(store: WindowStore, number: int, draw: random.Random) -> None:
    value = None if draw.random() < 0.2 else draw.choice([number, "text", {"sum": number}])
    store.put(key(draw), value, time=number + draw.randrange(-12, 3))


def change_sessions(store: SessionStore, number: int, draw: random.Random) -> None:
    end = number + draw.randrange(-8, 3)
    start = end - draw.randrange(4)
    if draw.random() < 0.2:
        store.remove(key(draw), start=start, end=end)
    else:
        store.put(key(draw), number, start=start, end=end)


def change_series(store: TimeSeriesStore, number: int, draw: random.Random) -> None:
    time = number + draw.randrange(5)
    if draw.random() < 0.2:
        store.delete(key(draw), start=max(time - 9, 0), end=time)
    else:
        store.put(key(draw), number, time=time)


def change_messages(store: MessageStore, number: int, draw: random.Random) -> None:
    offset = number * 4 + draw.randrange(4)
    fields = (draw.choice("xyz"),)
    if draw.random() < 0.1:
        store.retire(number - 5)
        store.purge()
    elif draw.random() < 0.1 and store.layout[0] == "equal_fields":
        store.retire(number - 2, join_keys=fields)
    else:
        store.add(number, offset=offset, time=offset // 4, join_keys=fields)


def change_storage(storage: Any, number: int, draw: random.Random) -> None:
    start = number + draw.randrange(-3, 3)
    window, chance = (start, start + draw.randrange(1, 4)), draw.random()
    keys = () if isinstance(storage, WindowedStorage) else (key(draw),)
    if chance < 0.1:
        storage.purge(number - 5)
    elif chance < 0.25:
        storage.remove(*keys, window=window)
    elif chance < 0.5 and isinstance(storage, SessionWindowedStorage):
        if storage.get(*keys, window=(start, start + 9)) is None:
            storage.migrate(*keys, window=window, to=(start, start + 9))
    else:
        storage.put(*keys, number, window=window)


def content_of_series(store: TimeSeriesStore) -> list[Any]:
    keys: list[Any] = ["a", "aa", b"\x00", 5, ("x", -1)]
    return [[name, list(store.get(name, start=0, end=MAX_INSTANT))] for name in keys]


def content_of_windows(store: WindowStore) -> list[Any]:
    keys: list[Any] = ["a", "aa", b"\x00", 5, ("x", -1)]
    by_key = [list(store.fetch(name, first=MIN_INSTANT, last=MAX_INSTANT)) for name in keys]
    return [list(store.all()), by_key, store.now, store.expired_puts, store.ignored_deletes]


def content_of_sessions(store: SessionStore) -> list[Any]:
    keys: list[Any] = ["a", "aa", b"\x00", 5, ("x", -1)]
    by_key = [list(store.fetch(name)) for name in keys]
    return [list(store.fetch_keys(None, None)), by_key, store.now, store.expired_puts]


def content_of_messages(store: MessageStore) -> list[Any]:
    store.purge()
    return [list(store.get_messages(start=MIN_INSTANT, end=MAX_INSTANT)), store.replays, store.retired_adds]


def content_of_sessions_in_storage(storage: SessionWindowedStorage) -> list[Any]:
    keys: list[Any] = ["a", "aa", b"\x00", 5, ("x", -1)]
    return [list(storage.entries()), [list(storage.sessions(name)) for name in keys], len(storage)]


def window_store(duplicates: bool) -> Case:
    return Case(
        lambda folder: WindowStore(10, 5, grace=8, duplicates=duplicates, directory=folder),
        change_windows,
        lambda store, number: store.advance_position("steps", partition=0, offset=number),
        lambda store: store.position.get("steps", {}).get(0),
        content_of_windows,
    )


def time_series(append: bool) -> Case:
    return Case(
        lambda folder: TimeSeriesStore(append=append, directory=folder),
        change_series,
        lambda store, number: store.put(MARK, number, time=number),
        lambda store: max((entry.value for entry in store.get(MARK, start=0, end=MAX_INSTANT)), default=None),
        content_of_series,
    )


def messages(*layout: Any) -> Case:
    return Case(
        lambda folder: MessageStore(layout, directory=folder),
        change_messages,
        # A message of each step, which retires later than all others.
        lambda store, number: store.add(
            number, offset=MAX_INSTANT - 1, time=MAX_INSTANT - 1, join_keys=(MARK, number)
        ),
        lambda store: max(
            (
                found.value
                for found in store.get_messages(start=FAR, end=MAX_INSTANT)
                if found.join_keys and found.join_keys[0] == MARK
            ),
            default=None,
        ),
        content_of_messages,
    )


def storage(kind: Any, content: Callable[[Any], list[Any]]) -> Case:
    keys = () if kind is WindowedStorage else (MARK,)
    return Case(
        lambda folder: kind(directory=folder),
        change_storage,
        lambda store, number: store.put(*keys, number, window=(FAR, FAR)),
        lambda store: store.get(*keys, window=(FAR, FAR)),
        content,
    )


def whole(storage: Any) -> list[Any]:
    return [list(storage.entries()), len(storage)]


CASES: dict[str, Case] = {
    "window": window_store(duplicates=False),
    "window with duplicates": window_store(duplicates=True),
    "session": Case(
        lambda folder: SessionStore(10, directory=folder),
        change_sessions,
        lambda store, number: store.put(MARK, number, start=number, end=number),
        lambda store: max((found.value for found in store.fetch(MARK)), default=None),
        content_of_sessions,
    ),
    "time series": time_series(append=True),
    "time series, overwritten": time_series(append=False),
    "message": messages("equal_fields", "timestamp", "offset"),
    "message by time": messages("timestamp", "equal_fields", "offset"),
    "windowed": storage(WindowedStorage, whole),
    "keyed windowed": storage(KeyedWindowedStorage, whole),
    "session windowed": storage(SessionWindowedStorage, content_of_sessions_in_storage),
}


def model(kind: str, steps: int) -> list[Any]:
    """Returns the content of a store in memory after a number of steps."""
    case = CASES[kind]
    store = case.opened(None)
    for number in range(steps):
        case.play(store, number)
    found = case.content(store)
    store.close()
    return found
