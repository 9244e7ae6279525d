"""The whole state of an operator as one value, in memory or in a file.

A run store has the same manifest and runs as entries of their own (:mod:`panewise.engine.checkpoint`).
"""

import struct
from dataclasses import replace

import polars as pl

from panewise.engine.checkpoint import continued, continued_operator, spec_document, types_of_tables
from panewise.engine.columns import TOMBSTONE
from panewise.engine.evolution import converted_rows
from panewise.engine.family_parts import TakeOver
from panewise.engine.protocol import Operator, OperatorState, Schema, Schemas
from panewise.engine.tables.run import MemoryLibrary
from panewise.engine.tables.stored_table import StoredTable
from panewise.errors import StateError
from panewise.spec import Specification
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.spec.evolution import Continuation
from panewise.state import Manifest
from panewise.state.manifest import REMEDY
from panewise.state.run_format import decode, encode


def save(operator: Operator) -> bytes:
    """Returns the whole state of an operator as one value.

    It consists of the manifest and one run for each table, each after its length (u32, little-endian).
    """
    state: OperatorState = operator.state
    header = {**operator.header(), "types": types_of_tables(state)}
    manifest = Manifest(spec_document(operator.spec), header=header).encode().encode()
    parts = [manifest, *(encode(table.all()) for table in state.tables.values())]
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def restore(
    spec: Specification, schema: Schema | Schemas, data: bytes, added_aggregates: AddedAggregates = "null"
) -> Operator:
    """Returns an operator with a state that :func:`save` returned.

    If the specification has changed since, `evaluate_all` of the operator must be called next (semantics
    47.4).

    Raises:
        StateError: if the state was made with a specification that this one cannot continue, or with other
            types, or is corrupt.
    """
    return restored_with_change(spec, schema, data, added_aggregates)[0]


def restored_with_change(
    spec: Specification, schema: Schema | Schemas, data: bytes, added_aggregates: AddedAggregates = "null"
) -> tuple[Operator, Continuation]:
    """Returns what :func:`restore` does, and how the specification continues that of the state."""
    head, *runs = _parts(data)
    manifest = Manifest.decode(head.decode(errors="replace"))
    change = continued(manifest, spec, 1, added_aggregates)
    operator, state, how = continued_operator(manifest, schema, change)
    read = [decode(run) for run in runs]
    lacking = list(state.tables.values())[len(read) :]
    if len(read) > len(state.tables) or not all(table.optional for table in lacking):
        rule = f"its state has {len(state.tables)} tables"
        raise StateError(f"a saved operator with {len(read)} tables", rule, REMEDY)
    read += [table.newest for table in lacking]
    tables: dict[str, StoredTable] = {
        name: replace(
            table,
            library=MemoryLibrary(),
            newest=_restored(table, rows, name, how),
            horizon=how.horizons[name],
        )
        for (name, table), rows in zip(state.tables.items(), read, strict=True)
    }
    operator.replace_state(state.with_tables(tables))
    return operator, change


def _restored(table: StoredTable, rows: pl.DataFrame, name: str, how: TakeOver) -> pl.DataFrame:
    """Returns the saved rows of a table as its newest rows."""
    marked = table.shape.with_carries(rows).with_columns(pl.lit(False).alias(TOMBSTONE))
    return converted_rows(table, marked, name, how) if name in how.tables else marked


def _parts(data: bytes) -> list[bytes]:
    """Returns the manifest and the runs of a saved operator."""
    parts, at = list[bytes](), 0
    while at < len(data) or not parts:
        length = int.from_bytes(data[at : at + 4], "little")
        at += 4 + length
        if at > len(data):
            rule = f"its parts have {at} bytes or more"
            raise StateError(f"a saved operator of {len(data)} bytes", rule, REMEDY)
        parts.append(data[at - length : at])
    return parts
