"""The base of all stores: an ordered map in memory or in a directory, settings, and open iterators."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar
from weakref import WeakSet

from panewise.calls import Calls, one_thread_at_a_time
from panewise.choices import check_flag
from panewise.errors import InputError, StoreError
from panewise.stores.durable_map import PlainDurableMap
from panewise.stores.entries import Entries
from panewise.stores.memory_map import PlainMemoryMap
from panewise.stores.ordered_map import OrderedMap, Snapshot, closed_error

E = TypeVar("E")
_META = b"\x00"  # below the keys of all stores


class Store:
    """The base of the stores. It opens the map, checks the settings, and commits.

    Settings are what the entries depend on: a directory is opened with those that it was made with. The
    state is what a store remembers besides its entries; it is committed with them.
    """

    _kind: ClassVar[str]

    def __init__(self, settings: dict[str, Any], directory: str | Path | None, *, cache_bytes: int) -> None:
        self._map: OrderedMap = (
            PlainMemoryMap[bytes]()
            if directory is None
            else PlainDurableMap(directory, cache_bytes=cache_bytes)
        )
        self._calls = Calls("a store")
        self._open_entries: WeakSet[Entries[Any]] = WeakSet()
        self._settings = {"kind": self._kind, **settings}
        self._closed = False
        try:
            self._load_meta(directory)
        except BaseException:
            self._map.close(commit=False)
            raise

    @one_thread_at_a_time
    def commit(self) -> None:
        """Makes all changes since the last commit durable, all or none. In memory it does nothing.

        Raises:
            StoreError: if the disk is full or fails, or the store is closed.
        """
        self._check_open()
        self._save_meta()
        self._map.commit()

    @one_thread_at_a_time
    def close(self, *, commit: bool = True) -> None:
        """Closes all iterators, commits unless `commit=False`, and releases the files.

        Raises:
            StoreError: if the commit fails. The store is then still open, and its changes are pending.
        """
        check_flag("commit", commit, error=InputError)
        if self._closed:
            return
        for entries in list(self._open_entries):
            entries.close()
        if commit:
            self.commit()
        self._closed = True
        self._map.close(commit=False)

    def __bool__(self) -> bool:
        """Returns True, also for an empty store."""
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.close(commit=kind is None)

    def _check_open(self) -> None:
        if self._closed:
            raise closed_error(f"{self._kind} store")

    def _entries(self, entries: Callable[[Snapshot], Iterator[E]]) -> Entries[E]:
        """Returns an iterator over the entries that a function reads from a new snapshot."""
        self._check_open()
        snapshot = self._map.snapshot()
        opened = Entries(entries(snapshot), snapshot.close, self._calls)
        self._open_entries.add(opened)
        return opened

    def _state(self) -> dict[str, Any]:
        """Returns what is stored besides the entries."""
        return {}

    def _restore_state(self, state: dict[str, Any]) -> None:
        """Sets the state to what `_state` returned."""

    def _save_meta(self) -> None:
        meta = json.dumps({"settings": self._settings, "state": self._state()}).encode()
        if self._map.get(_META) != meta:
            self._map.put(_META, meta)

    def _load_meta(self, directory: str | Path | None) -> None:
        stored = self._map.get(_META)
        if stored is None:
            if next(self._map.scan(), None) is not None:
                rule = "entries in a directory were written by a store of the same kind"
                raise StoreError(f"directory={str(directory)!r}", rule, "open it as an ordered map")
            self._save_meta()
            self._map.commit()
            return
        meta = json.loads(stored)
        for name, value in {**meta["settings"], **self._settings}.items():
            before = meta["settings"].get(name)
            if value != before or self._settings.get(name) != before:
                fault = f"{name}={self._settings.get(name)!r} for {str(directory)!r}, made with {before!r}"
                rule = "a directory is opened with the settings that it was made with"
                raise StoreError(fault, rule, f"give {name}={before!r}, or another directory")
        self._restore_state(meta["state"])
