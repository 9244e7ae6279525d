"""The state of another operator or query, with which an operator in process begins (semantics 48.8)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from panewise.engine.checkpoint import StoredOperator
from panewise.engine.exported_state import ExportedState, begun_otherwise
from panewise.engine.imported_shard import ImportedShard, begin, in_memory, in_store
from panewise.engine.protocol import Operator, Schemas
from panewise.engine.run_library import RunLibrary
from panewise.spec import Specification
from panewise.state.export_file import origin_of

# Fields of the header: what an operator in process stores beside its state, and the id of the file with which
# a state began.
FIELD: Final = "standalone"
IMPORTED: Final = "imported"
_SHARD: Final = 0


@dataclass(frozen=True)
class StateInProcess:
    """An exported state, all of which is in one shard."""

    schemas: Schemas
    exported: ExportedState

    @classmethod
    def open(cls, file: str | Path, spec: Specification, schemas: Schemas) -> "StateInProcess":
        """Opens a file. Errors are those of :meth:`ExportedState.open`."""
        return cls(schemas, ExportedState.open(file, spec, schemas, [_SHARD]))

    @property
    def marked(self) -> Specification:
        """The specification, in which aggregates that were added to the state are marked (semantics 47.3)."""
        return self.exported.redistribution.spec

    def in_memory(self) -> Operator:
        """Returns an operator in memory with this state."""
        return in_memory(self.exported.redistribution, self.exported.shards)

    def notes(self) -> dict[str, Any]:
        """Returns the notes of the exported operator: positions, numbers and counts. Spark has none."""
        headers = (manifest.header for manifest in self.exported.redistribution.manifests.values())
        return next((header[FIELD] for header in headers if FIELD in header), {})

    def in_store(self, library: RunLibrary) -> None:
        """Puts the state into an empty store."""
        more = {FIELD: self.notes(), IMPORTED: self.exported.origin.id}
        plan = self.exported.redistribution
        begin(library.store, plan.spec, 1, plan.header(_SHARD) | more)
        shard = ImportedShard(
            lambda: StoredOperator.load(plan.spec, self.schemas, replace(library)),
            lambda stored: stored.commit(more=more),
        )
        in_store(plan, self.exported.shards, shard)


def check_same(file: str | Path, imported: str | None) -> None:
    """Checks that a store which has a state began with a file, of which it has the id (semantics 48.9).

    The file may have been deleted. Only its head is read.
    """
    if imported is None or (Path(file).exists() and origin_of(file).id != imported):
        raise begun_otherwise(str(file))
