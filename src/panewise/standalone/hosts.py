"""Where the state of an operator lies: in memory, or in a store."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol, TypeAlias

from panewise.engine.checkpoint import StoredOperator, restore, save
from panewise.engine.protocol import Operator, Schemas
from panewise.engine.registry import operator_for
from panewise.engine.run_library import RunLibrary
from panewise.engine.store.cache import Cache
from panewise.engine.store.stored_table import StoredTable
from panewise.spec import Specification
from panewise.standalone.operator_store import OperatorStore

Saved: TypeAlias = tuple[Operator, Mapping[str, Any]]  # an operator with a saved state, and its notes
FIELD: Final = "standalone"  # the field of the manifest with what this package stores there


class Host(Protocol):
    """The operator of the engine, and the place of its state."""

    @property
    def operator(self) -> Operator:
        """The operator. A commit may replace it."""
        ...

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the last commit stored besides the state; empty before the first one."""
        ...

    @property
    def is_durable(self) -> bool:
        """Whether a commit survives the process."""
        ...

    def commit(self, notes: Mapping[str, Any]) -> None:
        """Stores the state and `notes` together."""
        ...

    def save(self, name: str, notes: Mapping[str, Any]) -> None:
        """Saves a copy of the whole state under a name, with notes."""
        ...

    def saved(self, name: str | None) -> Saved | None:
        """Returns an operator with a saved state and its notes, None if there is none of this name.

        None as the name means the state before the first step.
        """
        ...

    def put(self, state: Any) -> None:
        """Replaces the state by that of an operator that :meth:`saved` returned."""
        ...

    def close(self) -> None:
        """Releases what the host has open."""
        ...


class MemoryHost:
    """A host whose state lies in memory. A commit stores nothing."""

    is_durable: Final = False

    def __init__(self, spec: Specification, schemas: Schemas) -> None:
        self._spec, self._schemas = spec, schemas
        self._copies = dict[str, tuple[bytes, Mapping[str, Any]]]()
        self.operator = operator_for(spec, schemas)
        self.notes: Mapping[str, Any] = {}

    def commit(self, notes: Mapping[str, Any]) -> None:
        """Keeps the notes."""
        self.notes = notes

    def save(self, name: str, notes: Mapping[str, Any]) -> None:
        """Saves a copy of the whole state under a name."""
        self._copies[name] = save(self.operator), notes

    def saved(self, name: str | None) -> Saved | None:
        """Returns an operator with a saved state."""
        if name is None:
            return operator_for(self._spec, self._schemas), {}
        if name not in self._copies:
            return None
        data, notes = self._copies[name]
        return restore(self._spec, self._schemas, data), notes

    def put(self, state: Any) -> None:
        """Replaces the state."""
        self.operator.state = state

    def close(self) -> None:
        """Does nothing."""


class StoreHost:
    """A host whose state lies in a store.

    Args:
        spec: the specification.
        schemas: the columns of each port.
        store: the store.
        on_write: is called with the name of each kind of write before it: "state", then "position".
        close: closes the store, if the operator opened it; it does nothing for a store of the caller.

    Raises:
        StateError: if the store cannot be used, or was made with another specification or other types.
    """

    is_durable: Final = True

    def __init__(
        self,
        spec: Specification,
        schemas: Schemas,
        store: OperatorStore,
        on_write: Callable[[str], object],
        close: Callable[[], None],
    ) -> None:
        self._spec, self._schemas, self._on_write, self._close = spec, schemas, on_write, close
        self.store, self._cache = store, Cache()
        try:
            self._stored = self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> StoredOperator:
        return StoredOperator.load(self._spec, self._schemas, RunLibrary(_Observed(self), self._cache))

    @property
    def operator(self) -> Operator:
        """The operator."""
        return self._stored.operator

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the last commit stored besides the state."""
        found: Mapping[str, Any] = self._stored.manifest.header.get(FIELD, {})
        return found

    def observe(self, what: str) -> None:
        """Reports a kind of write."""
        self._on_write(what)

    def commit(self, notes: Mapping[str, Any]) -> None:
        """Stores the state and the notes in one transaction.

        Raises:
            StateError: if they cannot be written. The store is then as after the commit before.
        """
        with self.store.commit():
            self._stored.commit(more={FIELD: notes})
        self._stored = self._load()

    def save(self, name: str, notes: Mapping[str, Any]) -> None:
        """Saves a copy of the whole state under a name, in a transaction of its own."""
        data = save(self.operator)
        with self.store.commit():
            self.store.put_copy(name, data, json.dumps(notes))

    def saved(self, name: str | None) -> Saved | None:
        """Returns an operator with a saved state, in memory."""
        if name is None:
            return operator_for(self._spec, self._schemas), {}
        found = self.store.copy(name)
        if found is None:
            return None
        data, notes = found
        return restore(self._spec, self._schemas, data), json.loads(notes)

    def put(self, state: Any) -> None:
        """Replaces the state. The next commit stores it, and deletes the runs of the state before."""
        libraries = [table.library for table in self._stored.operator.state.tables.values()]
        tables: dict[str, StoredTable] = {
            name: replace(table, library=library)
            for (name, table), library in zip(state.tables.items(), libraries, strict=True)
        }
        self._stored.operator.state = state.with_tables(tables)

    def close(self) -> None:
        """Closes the store, if the operator opened it."""
        self._close()


class _Observed:
    """The store of a host, which reports the kinds of its writes."""

    def __init__(self, host: StoreHost) -> None:
        self._host, self._store = host, host.store
        self.manifest, self.run = self._store.manifest, self._store.run

    def put_run(self, name: str, data: bytes) -> None:
        self._host.observe("state")
        self._store.put_run(name, data)

    def drop_run(self, name: str) -> None:
        self._host.observe("state")
        self._store.drop_run(name)

    def put_manifest(self, text: str) -> None:
        self._host.observe("position")
        self._store.put_manifest(text)
