"""An exported state, opened to be imported (semantics 48.7)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panewise.engine.protocol import Schema, Schemas
from panewise.engine.redistribution import Redistribution
from panewise.errors import StateError
from panewise.spec import Specification
from panewise.spec.codec import changed_fields, to_dict
from panewise.state import Manifest
from panewise.state.export_file import MANIFEST, ExportedEntries, ExportedFrom, ExportFile


@dataclass(frozen=True)
class StateOwner:
    """An operator that begins with an exported state, and the numbers of its shards."""

    spec: Specification
    schemas: Schema | Schemas
    shards: Sequence[int]


@dataclass(frozen=True)
class ExportedState:
    """An exported state of an operator, and how it is divided among shards.

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

        If it has several operators, the state is that of the only one with this specification.

        Raises:
            StateError: if it is damaged, has no or several operators with this specification, or was made
                with other types.
        """
        export = ExportFile.open(file)
        return cls._divided(export, _only_operator(export, spec), StateOwner(spec, schemas, shards))

    @classmethod
    def _divided(
        cls, export: ExportFile, entries: dict[int, ExportedEntries], owner: StateOwner
    ) -> "ExportedState":
        manifests = {shard: _manifest(of_shard) for shard, of_shard in entries.items()}
        plan = Redistribution.plan(owner.spec, owner.schemas, manifests, owner.shards)
        return cls(export.origin, entries, plan)


def exported_states(file: str | Path, owners: Sequence[StateOwner]) -> list[ExportedState]:
    """Opens a file with the states of the operators of a query. Each is divided among those of its owner.

    The owners are in the order in which Spark numbers operators: the last one, then what is before its first
    input, then what is before its second one.

    Raises:
        StateError: if it is damaged, has another number of operators, or was made with other specifications
            or types.
    """
    export = ExportFile.open(file)
    states = [dict(export.operators[number]) for number in sorted(export.operators)]
    if states and len(states) != len(owners):
        rule = (
            "a query that begins with an exported state has as many operators as the file: "
            f"here {len(owners)} (semantics 48.7)"
        )
        remedy = "begin a query with the same operators"
        raise StateError(f"{export.path} with the operators {sorted(export.operators)}", rule, remedy)
    pairs = zip(states or [{} for _ in owners], owners, strict=True)
    return [ExportedState._divided(export, entries, owner) for entries, owner in pairs]


def _manifest(entries: ExportedEntries) -> Manifest:
    return Manifest.decode(entries[MANIFEST].decode(errors="replace"))


def _only_operator(export: ExportFile, spec: Specification) -> dict[int, ExportedEntries]:
    """Returns the shards of the only operator of a file, or of the only one with this specification."""
    states = [dict(shards) for shards in export.operators.values()]
    if len(states) > 1:
        document = to_dict(spec)
        states = [entries for entries in states if _is_of(entries, document)]
        if len(states) != 1:
            rule = f"exactly one of them has the specification, here {len(states)} (semantics 48.7)"
            fault = f"{export.path} with the operators {sorted(export.operators)}"
            remedy = "give the specification of one of them, which differs from those of the others"
            raise StateError(fault, rule, remedy)
    return states[0] if states else {}


def _is_of(entries: Mapping[int, ExportedEntries], document: Mapping[str, Any]) -> bool:
    """Returns whether the shards were made with this specification. All have the same one (48.14)."""
    return not changed_fields(_manifest(next(iter(entries.values()))).spec, document)


def begun_otherwise(file: str) -> StateError:
    """Returns the error for an initial state where there is a state already."""
    rule = "a state begins once, with one file (semantics 48.9)"
    fault = f"initial_state={file!r}, where a state exists"
    return StateError(fault, rule, "leave it out, or begin in a new place")
