"""What an operator needs of the store of its state, and the stores that are opened for a directory."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from os import PathLike
from typing import Final, Protocol, TypeAlias

from panewise.errors import InputError
from panewise.state import RunStore
from panewise.state.file_store import FileRunStore
from panewise.stores.store_directory import directory_of


class OperatorStore(RunStore, Protocol):
    """A store for the state of one operator, which may be an object of the caller.

    It has one manifest, any number of runs, and copies of whole states, all by name. Their content is the
    operator's own. The operator reads at any time, and writes only between the begin and the end of
    :meth:`commit`. The caller opens and closes the store, and ensures that one operator at a time uses it.

    Source: semantics 31.3, 31.11.
    """

    def commit(self) -> AbstractContextManager[object]:
        """Makes all writes in this context durable together when it ends, or none if it raises.

        Within the context, reads return what has been written.
        """

    def copy(self, name: str) -> tuple[bytes, str] | None:
        """Returns the copy of a whole state with this name, and its notes; None if there is none."""

    def put_copy(self, name: str, data: bytes, notes: str) -> None:
        """Saves a copy of a whole state under a name, with notes. It replaces that of the same name."""


_METHODS: Final = tuple(name for name in dir(OperatorStore) if not name.startswith("_"))
Close: TypeAlias = Callable[[], None]


def opened(store: "str | PathLike[str] | OperatorStore") -> tuple[OperatorStore, Close]:
    """Returns the store of a directory, or the given store, and the function that closes it.

    The operator closes what it has opened: to close a given store does nothing (semantics 31.11).
    """
    if isinstance(store, (str, PathLike)):
        runs = FileRunStore(directory_of("store", store))
        return runs, runs.close
    missing = [name for name in _METHODS if not callable(getattr(store, name, None))]
    if missing:
        rule = "a store is a directory, or an object with the methods of OperatorStore"
        remedy = "give the path of a directory"
        raise InputError(f"store={store!r}, without {missing[0]}()", rule, remedy)
    return store, lambda: None
