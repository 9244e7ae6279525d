"""Ordered maps from bytes to bytes: what every store is made of."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from panewise.choices import check_flag
from panewise.errors import InputError, StoreError

F = TypeVar("F", bound=Callable[..., Any])
CLOSED_RULE = "a store that is closed cannot be read or written"


class Scan(Iterator[tuple[bytes, bytes]], Protocol):
    """The entries of a range as they were when the scan was opened.

    A scan is an iterator and a context manager. It is closed by `close`, by the end of a `with` block, by its
    last entry, and when the map is closed. A closed scan has no further entries.
    """

    def close(self) -> None:
        """Closes the scan and releases what it pins; further calls change nothing."""

    def __enter__(self) -> "Scan": ...

    def __exit__(self, *error: object) -> None: ...


class Snapshot(AbstractContextManager["Snapshot"], Protocol):
    """A map as it was when the snapshot was opened. Later changes and commits of the map do not affect it."""

    def get(self, key: bytes) -> bytes | None:
        """Returns the value of a key, or None."""

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> Scan:
        """Returns the entries with start <= key < end; without an end, all from start."""

    def close(self) -> None:
        """Closes the snapshot and releases what it pins; further calls change nothing."""


class OrderedMap(Protocol):
    """A map from bytes to bytes in the order of its keys.

    Changes are visible at once to `get`, `scan` and new snapshots, and not to those that are open. A durable
    map makes them durable by `commit`, all or none. Ranges are half-open: start <= key < end. `after(key)` is
    the least key above `key`: as an end it includes `key`, as a start it excludes it.
    """

    @property
    def pending(self) -> int:
        """The number of changed keys since the last commit. It is 0 in memory."""

    def get(self, key: bytes) -> bytes | None:
        """Returns the value of a key, or None."""

    def put(self, key: bytes, value: bytes) -> None:
        """Sets the value of a key."""

    def delete(self, key: bytes) -> bool:
        """Deletes a key. Returns whether it was in the map."""

    def delete_range(self, start: bytes = b"", end: bytes | None = None) -> int:
        """Deletes the keys with start <= key < end. Returns their number."""

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> Scan:
        """Returns the entries with start <= key < end as they are now."""

    def snapshot(self) -> Snapshot:
        """Returns the map as it is now."""

    def commit(self) -> None:
        """Makes all changes since the last commit durable, all or none."""

    def close(self, *, commit: bool = True) -> None:
        """Closes all scans and snapshots, commits unless `commit=False`, and releases the files.

        If the commit fails, the map is still open, and its changes are pending.
        """


def of_bytes(method: F) -> F:
    """Returns a method of a map that refuses keys, bounds and values that are no bytes.

    Otherwise a map in memory would not find a text, or would store an object that the caller still changes.
    An end of a range may be None.
    """
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]

    @wraps(method)
    def call(self: Any, /, *args: Any, **named: Any) -> Any:
        for name, argument in (*zip(names, args, strict=False), *named.items()):
            is_open = name == "end" and argument is None
            if name == "backward":
                check_flag(name, argument, error=InputError)
            elif type(argument) is not bytes and not is_open:
                values = name == "value"
                rule = "the values of a map are bytes" if values else "the keys of a map are bytes"
                raise InputError(f"{name}={argument!r}", rule, "encode it to bytes")
        return method(self, *args, **named)

    return cast(F, call)


def after(key: bytes) -> bytes:
    """Returns the least key above this one.

    >>> b"a" < after(b"a") < b"a" + bytes([0, 0]) < b"aa"
    True
    """
    return key + b"\x00"


def prefix_end(prefix: bytes) -> bytes | None:
    """Returns the end of the range of keys that begin with a prefix, or None if no key is above them.

    >>> prefix_end(b"ab"), prefix_end(bytes([97, 255])), prefix_end(bytes([255]))
    (b'ac', b'b', None)
    """
    shorter = prefix.rstrip(b"\xff")
    return shorter[:-1] + bytes([shorter[-1] + 1]) if shorter else None


def closed_error(name: str) -> StoreError:
    """Returns the error for the use of a closed store."""
    return StoreError(f"a closed {name}", CLOSED_RULE, "open it again")
