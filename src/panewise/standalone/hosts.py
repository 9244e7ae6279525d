"""Where the state of an operator lies: in memory, or in a store."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from panewise.chrono import MAX_INSTANT
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.evolution import log_change
from panewise.engine.exported_operator import entries_of
from panewise.engine.protocol import Operator, OperatorState, Schemas
from panewise.engine.registry import operator_for
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.saved_operator import restored_with_change, save
from panewise.engine.tables.stored_table import StoredTable
from panewise.errors import StateError
from panewise.spec import Specification
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.standalone.arguments import check_added
from panewise.standalone.initial_state import FIELD, IMPORTED, StateInProcess, check_same
from panewise.standalone.operator_store import OperatorStore, opened
from panewise.state import Manifest
from panewise.state.export_file import ExportedFrom, writing

Notes: TypeAlias = Mapping[str, Any]
# An operator with a saved state, its notes, and whether its specification has changed since.
Saved: TypeAlias = tuple[Operator, Notes, bool]


class Host:
    """The operator of the engine, and the place of its state. Without a store the state is in memory.

    Args:
        on_write: is called with the name of each kind of write before it: "state", then "position".
        initial_state: a file with an exported state, with which a new operator begins.
        added_aggregates: as in :func:`panewise.spec.evolution.continuation`.

    Attributes:
        operator: the operator. A commit may replace it.
        notes: what the last commit stored besides the state; empty before the first one.
        changed: whether the stored state was made with another specification, so that everything must be
            evaluated once (semantics 47.4).
    """

    def __init__(
        self,
        spec: Specification,
        schemas: Schemas,
        store: str | Path | OperatorStore | None,
        on_write: Callable[[str], object],
        initial_state: str | Path | None = None,
        added_aggregates: AddedAggregates = "null",
    ) -> None:
        check_added(added_aggregates, stored=store is not None)
        self._spec, self._schemas, self.changed = spec, schemas, False
        self._added: AddedAggregates = added_aggregates
        self._copies = dict[str, tuple[bytes, Notes]]()  # without a store
        self._stored: StoredOperator | None = None
        self._close: Callable[[], None] = lambda: None
        self._due_of: tuple[OperatorState | None, int] = None, MAX_INSTANT  # a state and its `next_due`
        self.notes: Notes = {}
        if store is None:
            self.operator = operator_for(spec, schemas)
            if initial_state is not None:
                initial = StateInProcess.open(initial_state, spec, schemas)
                self._spec = initial.marked
                self.operator, self.notes = initial.in_memory(), initial.notes()
            return
        self._store, self._close = opened(store)
        self._observed, self._cache = _Observed(self._store, on_write), Cache()
        try:
            if initial_state is not None:
                self._begin(initial_state)
            self._load()
            self._note_change(store)
        except BaseException:
            self.close()
            raise

    def _note_change(self, store: str | Path | OperatorStore) -> None:
        """Continues with the specification of the loaded operator, which marks added aggregates."""
        assert self._stored is not None
        self._spec, change = self._stored.operator.spec, self._stored.change
        if change is not None:
            self.changed = True
            place = f"in {store}" if isinstance(store, (str, Path)) else f"of a {type(store).__name__}"
            log_change(f"the state {place}", change)

    def _begin(self, file: str | Path) -> None:
        """Puts the initial state into a new store, in one transaction.

        A store that began with the same file is left as it is.
        """
        text = self._store.manifest()
        if text is not None:
            check_same(file, Manifest.decode(text).header.get(IMPORTED))
            return
        initial = StateInProcess.open(file, self._spec, self._schemas)
        library = RunLibrary(self._observed, self._cache)
        with self._store.commit():
            initial.in_store(library)

    def _load(self) -> None:
        library = RunLibrary(self._observed, self._cache)
        self._stored = StoredOperator.load(self._spec, self._schemas, library, 1, self._added)
        header = self._stored.manifest.header
        self.operator, self.notes = self._stored.operator, header.get(FIELD, {})
        self._imported = {IMPORTED: header[IMPORTED]} if IMPORTED in header else {}

    @property
    def is_durable(self) -> bool:
        """Whether a commit survives the process."""
        return self._stored is not None

    def next_due(self) -> int:
        """Returns a watermark before which no window of the state completes, expires or fires."""
        state, due = self._due_of  # computed once for each state
        if self.operator.state is not state:
            first = self.operator.next_due()
            due = MAX_INSTANT if first is None else first
            self._due_of = self.operator.state, due
        return due

    def commit(self, notes: Notes) -> None:
        """Stores the state and the notes in one transaction.

        Raises:
            StateError: if they cannot be written. The store is then as after the commit before.
        """
        if self._stored is not None:
            with self._store.commit():
                self._stored.commit(more={FIELD: notes, **self._imported})
            self._load()

    def save(self, name: str, notes: Notes) -> None:
        """Saves a copy of the whole state under a name, with notes, in a transaction of its own."""
        data = save(self.operator)
        if self._stored is None:
            self._copies[name] = data, notes
            return
        with self._store.commit():
            self._store.put_copy(name, data, json.dumps(notes))

    def export(self, file: str | Path, notes: Notes, *, replace: bool) -> None:
        """Writes the whole state to a file, with notes."""
        with writing(Path(file), ExportedFrom(), replace=replace) as writer:
            for name, data in entries_of(self.operator, {FIELD: notes}):
                writer.add(0, 0, name, data)

    def saved(self, name: str | None) -> Saved | None:
        """Returns an operator with a saved state and its notes, None if there is none of this name.

        None as the name means the state before the first step.

        Raises:
            StateError: if the state lacks aggregates with which this operator has begun.
        """
        if name is None:
            return operator_for(self._spec, self._schemas), {}, False
        if self._stored is None:
            stored = self._copies.get(name)
        else:
            copy = self._store.copy(name)
            stored = None if copy is None else (copy[0], json.loads(copy[1]))
        if stored is None:
            return None
        operator, change = restored_with_change(self._spec, self._schemas, stored[0], self._added)
        if operator.spec != self._spec:
            rule = (
                "a saved state lacks no aggregate that the operator had when it opened the store "
                "(semantics 47.10)"
            )
            remedy = "open the store with the specification of the copy, reset, flush, and change it then"
            raise StateError(f"the saved state {name!r}", rule, remedy)
        return operator, stored[1], bool(change.changes)

    def put(self, state: OperatorState) -> None:
        """Replaces the state by that of an operator that :meth:`saved` returned.

        In a store the next commit stores it, and deletes the runs of the state before.
        """
        if self._stored is not None:
            libraries = [table.library for table in self.operator.state.tables.values()]
            tables: dict[str, StoredTable] = {
                name: replace(table, library=library)
                for (name, table), library in zip(state.tables.items(), libraries, strict=True)
            }
            state = state.with_tables(tables)
        self.operator.replace_state(state)

    def close(self) -> None:
        """Closes the store, if the operator opened it."""
        self._close()


class _Observed:
    """A store that reports the kinds of its writes."""

    def __init__(self, store: OperatorStore, on_write: Callable[[str], object]) -> None:
        self._store, self._on_write = store, on_write
        self.manifest, self.run = store.manifest, store.run

    def put_run(self, name: str, data: bytes) -> None:
        self._on_write("state")
        self._store.put_run(name, data)

    def drop_run(self, name: str) -> None:
        self._on_write("state")
        self._store.drop_run(name)

    def put_manifest(self, text: str) -> None:
        self._on_write("position")
        self._store.put_manifest(text)
