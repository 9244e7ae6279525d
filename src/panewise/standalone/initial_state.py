"""The state of another operator or query, with which an operator in process begins (semantics 48.8)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from panewise.engine.checkpoint import StoredOperator
from panewise.engine.imported_shard import ImportedShard, begin, in_memory, in_store
from panewise.engine.protocol import Operator, Schemas
from panewise.engine.redistribution import Redistribution
from panewise.engine.run_library import RunLibrary
from panewise.errors import StateError
from panewise.spec import Specification
from panewise.state import Manifest
from panewise.state.export_file import MANIFEST, Entries, ExportFile

IMPORTED: Final = "imported"  # the field of the header with the id of the file with which a state began
_SHARD: Final = 0


@dataclass(frozen=True)
class InitialState:
    """An exported state, and the one shard that it goes to."""

    export: ExportFile
    spec: Specification
    schemas: Schemas
    shards: dict[int, Entries]
    redistribution: Redistribution

    @classmethod
    def read(cls, file: str | Path, spec: Specification, schemas: Schemas) -> "InitialState":
        """Opens a file.

        Raises:
            StateError: if it is damaged, has several operators, or was made with another specification or types.
        """
        export = ExportFile.open(file)
        shards = dict(only_operator(export))
        manifests = {
            shard: Manifest.decode(entries[MANIFEST].decode(errors="replace")) for shard, entries in shards.items()
        }
        plan = Redistribution.plan(spec, schemas, manifests, [_SHARD])
        return cls(export, spec, schemas, shards, plan)

    def in_memory(self) -> Operator:
        """Returns an operator in memory with this state."""
        return in_memory(self.redistribution, self.shards)

    def notes(self, field: str) -> dict[str, Any]:
        """Returns what an operator in process has stored beside its state in a field of the header."""
        headers = (manifest.header for manifest in self.redistribution.manifests.values())
        return next((header[field] for header in headers if field in header), {})

    def in_store(self, library: RunLibrary, field: str) -> None:
        """Puts the state into an empty store."""
        more = {field: self.notes(field), IMPORTED: self.export.origin.id}
        begin(library.store, self.spec, 1, self.redistribution.header(_SHARD) | more)
        shard = ImportedShard(
            lambda: StoredOperator.load(self.spec, self.schemas, replace(library)),
            lambda stored: stored.commit(more=more),
        )
        in_store(self.redistribution, self.shards, shard)

    def check_same(self, imported: str | None) -> None:
        """Checks that a store which has a state began with this file."""
        if imported != self.export.origin.id:
            raise begun_otherwise(str(self.export.path))


def only_operator(export: ExportFile) -> dict[int, Entries]:
    """Returns the shards of the operator of an exported state.

    Raises:
        StateError: if it has several operators.
    """
    if len(export.operators) > 1:
        rule = "the state of one operator is imported (semantics 48.7)"
        fault = f"{export.path} with the operators {sorted(export.operators)}"
        raise StateError(fault, rule, "export the state of a query with one operator")
    return dict(next(iter(export.operators.values()), {}))


def begun_otherwise(file: str) -> StateError:
    """Returns the error for an initial state where there is a state already."""
    rule = "a state begins once, with one file (semantics 48.9)"
    return StateError(f"initial_state={file!r}, where a state exists", rule, "leave it out, or begin in a new place")
