"""An exported state, opened to be imported (semantics 48.7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from panewise.engine.protocol import Schema, Schemas
from panewise.engine.redistribution import Redistribution
from panewise.errors import StateError
from panewise.spec import Specification
from panewise.state import Manifest
from panewise.state.export_file import MANIFEST, ExportedEntries, ExportedFrom, ExportFile


@dataclass(frozen=True)
class ExportedState:
    """An exported state, and how it is divided among shards.

    Attributes:
        origin: where it comes from.
        shards: by shard its manifest and its runs.
        redistribution: how they are divided.
    """

    origin: ExportedFrom
    shards: dict[int, ExportedEntries]
    redistribution: Redistribution

    @classmethod
    def open(
        cls, file: str | Path, spec: Specification, schemas: Schema | Schemas, shards: Sequence[int]
    ) -> "ExportedState":
        """Opens a file whose state is divided among shards with these numbers.

        Raises:
            StateError: if it is damaged, has several operators, or was made with another specification or
                types.
        """
        export = ExportFile.open(file)
        entries = _only_operator(export)
        manifests = {
            shard: Manifest.decode(of_shard[MANIFEST].decode(errors="replace"))
            for shard, of_shard in entries.items()
        }
        return cls(export.origin, entries, Redistribution.plan(spec, schemas, manifests, shards))


def _only_operator(export: ExportFile) -> dict[int, ExportedEntries]:
    """Returns the shards of the operator of an exported state."""
    if len(export.operators) > 1:
        rule = "the state of one operator is imported (semantics 48.7)"
        fault = f"{export.path} with the operators {sorted(export.operators)}"
        raise StateError(fault, rule, "export the state of a query with one operator")
    return dict(next(iter(export.operators.values()), {}))


def begun_otherwise(file: str) -> StateError:
    """Returns the error for an initial state where there is a state already."""
    rule = "a state begins once, with one file (semantics 48.9)"
    fault = f"initial_state={file!r}, where a state exists"
    return StateError(fault, rule, "leave it out, or begin in a new place")
