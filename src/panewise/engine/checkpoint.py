"""Writes the state of an operator as runs and a manifest, and reads it.

The format is not here: :mod:`panewise.state.manifest` has that of the manifest, and
:mod:`panewise.state.run_format` that of a run. docs/state-format.md describes both.

A state consists of named tables and a header (:class:`panewise.engine.protocol.OperatorState`). On disk a
table has the number of its place among the tables. All other values are in the header of the manifest.

Invariant: a manifest names exactly the runs that a state consists of, and has the header of the same step. A
commit writes it last, and the runtime makes all writes of a commit durable together. A run never changes.

Cost: to load a state takes one read, that of the manifest. Only if its rows must be converted are the runs
read, too: for another specification or other columns of the input (:mod:`panewise.engine.evolution`).
Otherwise runs are read when a step needs them. A commit adds one run to each table
that has changed, with the changed rows, and writes the runs that a step has merged
(:mod:`panewise.engine.tables.compaction`). Apart from merges, what it writes does not depend on the size of
the state.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from panewise.engine.columns import CARRY
from panewise.engine.evolution import converted, other_columns, take_over
from panewise.engine.family_parts import Conversion, TakeOver
from panewise.engine.ingest.output import Output
from panewise.engine.protocol import Operator, OperatorState, Schema, Schemas
from panewise.engine.registry import cached_operator
from panewise.engine.run_library import RunLibrary
from panewise.errors import SpecError, StateError
from panewise.spec import Specification
from panewise.spec.codec import to_dict
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.spec.evolution import REMEDY as PUT_BACK
from panewise.spec.evolution import Continuation, continuation
from panewise.state import Manifest, Run
from panewise.state.manifest import REMEDY, checked

EXPORT: Final = "start from a new checkpoint, with the exported state as initial_state="
_OF_IMPORTS: Final = "a state is imported by the specification that made it (semantics 48.7)"
_BEGIN_SAME: Final = "begin with the specification of the file, and change it at a later start"
spec_document = lru_cache(maxsize=32)(to_dict)  # a process writes each specification as JSON once
_NUMBER = re.compile(r"^[0-9]+:")  # begins the names of columns of other tables than table 0
_CLOCKS = ("processing_time", "watermark", "inputs")  # header fields that the runtime gives again


@dataclass
class StoredOperator:
    """An operator whose state is in a run store.

    `manifest` is that of the last commit, and `loaded` the header of the state when it was loaded or
    committed. There is a library for each table. `change` is what the specification has changed since the
    last commit.
    """

    operator: Operator
    manifest: Manifest
    libraries: tuple[RunLibrary, ...]
    loaded: dict[str, Any]
    change: Continuation | None = None
    converted: bool = False  # whether the state is to be stored again

    @classmethod
    def load(
        cls,
        spec: Specification,
        schema: Schema | Schemas,
        library: RunLibrary,
        shards: int = 1,
        added_aggregates: AddedAggregates = "null",
    ) -> "StoredOperator":
        """Returns the operator of a run store. Runs are read only when a step needs them.

        Stored rows may have to be converted, and their runs are then read at once: if the specification has
        changed (semantics 47), or if columns of the input were added or reordered (47.12). The next commit
        stores the converted runs. If the specification has changed, :meth:`evaluated` must be called before
        any other step.

        Raises:
            StateError: if the state was made with a specification that the given one cannot continue, other
                types, or another number of shards, or is corrupt.
        """
        text = library.store.manifest()
        manifest = Manifest(spec_document(spec), shards) if text is None else Manifest.decode(text)
        change = continued(manifest, spec, shards, added_aggregates)
        operator, state, how = continued_operator(manifest, schema, change)
        horizons = how.horizons
        library = replace(library, version=manifest.version + 1)
        libraries = (library, *(library.for_table(n) for n in range(1, len(state.tables))))
        tables = {
            name: replace(
                table,
                library=own_library,
                runs=runs_of(manifest.runs, own_library.table),
                horizon=horizons[name],
            )
            for (name, table), own_library in zip(state.tables.items(), libraries, strict=True)
        }
        changed = change if change.changes and manifest.header else None
        loaded = cls(operator, manifest, libraries, {}, changed, bool(how.tables) or changed is not None)
        if how.tables or change.changes:
            tables = {name: converted(table, name, how) for name, table in tables.items()}
            loaded.manifest = replace(manifest, spec=spec_document(operator.spec))
        operator.replace_state(state.with_tables(tables))
        loaded.loaded = operator.header()
        return loaded

    def evaluated(self) -> Iterator[Output]:
        """Yields what a change of the specification emits at once (semantics 47.4); nothing without one."""
        if self.change is not None:
            yield self.operator.evaluate_all()

    @property
    def changed(self) -> bool:
        """Whether there is anything to commit.

        If only the clocks have moved there is not, as the runtime gives them again. With a watermark driven
        by rows there is, as nothing else is left of these rows, here and in other shards. After a change of
        the specification there is, unless nothing has been stored.
        """
        if self.operator.changed or self.converted:
            return True
        given_again = () if self.operator.clocks_are_own else _CLOCKS
        return self._differs({*self.operator.header(), *self.loaded} - {*given_again})

    @property
    def moved(self) -> bool:
        """Whether the clocks have moved since the last commit."""
        return self._differs({*_CLOCKS, "finished"})

    def _differs(self, names: set[str]) -> bool:
        now = self.operator.header()
        return any(bool(now.get(name) != self.loaded.get(name)) for name in names)

    def commit(self, timer: int | None = None, more: Mapping[str, Any] | None = None) -> None:
        """Writes what has changed since the last commit. `timer` and `more` are stored for the runtime."""
        # The state is replaced first, so that memory contains only rows of runs that are still to be written.
        before: OperatorState = self.operator.state
        state = before.with_tables({name: table.sealed() for name, table in before.tables.items()})
        self.operator.replace_state(state)
        del before
        tables = {
            name: library.commit(runs_of(self.manifest.runs, library.table), table)
            for (name, table), library in zip(state.tables.items(), self.libraries, strict=True)
        }
        self.operator.replace_state(state.with_tables(tables))
        self.loaded = self.operator.header()
        runs = tuple(run for table in tables.values() for run in table.runs)
        header = {**self.loaded, "types": types_of_tables(state), "timer": timer, **(more or {})}
        self.manifest = self.manifest.following(runs, header)
        self.libraries[0].store.put_manifest(self.manifest.encode())
        self.change, self.converted = None, False


def runs_of(runs: Sequence[Run], table: int) -> tuple[Run, ...]:
    """Returns the runs of one table. The name of a run contains the number of its table."""
    return tuple(run for run in runs if int(run.name.split("-")[0].partition(".")[2] or 0) == table)


def continued_operator(
    manifest: Manifest, schema: Schema | Schemas, change: Continuation
) -> tuple[Operator, OperatorState, TakeOver]:
    """Returns an operator, its state with the header of a manifest, and how it takes the tables over."""
    operator, header = cached_operator(change.spec, schema), checked(manifest.header)
    placed = _placed_columns(operator, header)
    if change.changes and header:
        how = take_over(operator, change, header)
        if how.tables:
            return operator, operator.with_header(how.header), how
        header = how.header
    if not placed:
        check_types(operator.state, header)
    state = operator.with_header(header)
    return operator, state, TakeOver(header, operator.horizons(state.clocks), placed)


def _placed_columns(operator: Operator, header: Mapping[str, Any]) -> dict[str, Conversion]:
    """Returns a conversion of each table if columns of the input were added or reordered (47.12), else none.

    It adds the columns that the stored rows lack, as nulls. :func:`converted_rows` puts the columns in order.
    If a stored column is missing or has another type, or a new one is not of the input, there are no
    conversions either: :func:`check_types` decides about these columns.
    """
    stored, expected = header.get("types", {}), types_of_tables(operator.state)
    columns = {name for port in operator.plan.ports.values() for name in port.schema if name[:2] != "__"}
    if not stored or [*stored] == [*expected]:
        return {}
    if any(_NUMBER.sub("", name) not in columns for name in expected.keys() - stored.keys()):
        return {}
    if any(stored[name] != expected.get(name) for name in stored):
        return {}
    return {name: table.shape.with_nulls for name, table in operator.state.tables.items()}


def unreadable_spec(error: SpecError) -> StateError:
    """Returns the error for a manifest whose specification cannot be read."""
    rule = "a manifest has the specification of its operator, and this release accepts it"
    return StateError(f"a manifest without a valid specification ({error})", rule, REMEDY)


def continued(
    manifest: Manifest,
    spec: Specification,
    shards: int,
    added_aggregates: AddedAggregates = "null",
    remedy: str = PUT_BACK,
) -> Continuation:
    """Returns how a specification continues the state of a manifest.

    `remedy` is what to do if it cannot.

    Raises:
        StateError: if it cannot (semantics 47.2), with the fields that changed; if the number of shards is
            another one (semantics 35).
    """
    try:
        same = manifest.spec == spec_document(spec)
        change = (
            Continuation(spec, spec) if same else continuation(manifest.spec, spec, added_aggregates, remedy)
        )
    except SpecError as error:
        raise unreadable_spec(error) from error
    if manifest.shards != shards:
        rule = f"this state was made with {manifest.shards} shards, and their number is fixed"
        raise StateError(f"shards={shards}", rule, f"give shards={manifest.shards}, or {EXPORT}")
    return change


def check_same(
    manifest: Manifest, spec: Specification, shards: int, rule: str = _OF_IMPORTS, remedy: str = _BEGIN_SAME
) -> None:
    """Refuses the state of another specification or number of shards, where no change is taken over.

    `rule` and `remedy` are those of the error. By default the state is one to be imported.

    Raises:
        StateError: if they differ; it names the fields that changed.
    """
    change = continued(manifest, spec, shards, remedy=remedy)
    if change.changes:
        raise StateError(f"a changed specification ({change})", rule, remedy)


def check_types(state: OperatorState, header: Mapping[str, Any]) -> None:
    """Refuses a state whose columns have other types.

    Raises:
        StateError: if they have; it names the columns.
    """
    stored, expected = header.get("types"), types_of_tables(state)
    if stored is not None:
        lacking = _of_lacking_tables(state, stored)
        expected = {name: kind for name, kind in expected.items() if not name.startswith(lacking)}
    # An older release stored no carries, which are then 0.
    expected = {
        name: dtype for name, dtype in expected.items() if CARRY not in name or name in (stored or {})
    }
    if stored is not None and stored != expected:
        raise other_columns(name for name in {*stored, *expected} if stored.get(name) != expected.get(name))


def _of_lacking_tables(state: OperatorState, stored: Mapping[str, str]) -> tuple[str, ...]:
    """Returns how the names of columns begin that are of optional tables which a stored state lacks."""
    optional = [f"{number}:" for number, table in enumerate(state.tables.values()) if table.optional]
    return tuple(begin for begin in optional if not any(name.startswith(begin) for name in stored))


def types_of_tables(state: OperatorState) -> dict[str, str]:
    """Returns the types of the columns of all tables, without those that are made from other tables.

    The names of columns of other tables than table 0 begin with the number of the table.
    """
    types: dict[str, str] = {}
    for number, (name, table) in enumerate(state.tables.items()):
        prefix = f"{number}:" if number else ""
        if name not in state.copies:
            types |= {f"{prefix}{column}": str(dtype) for column, dtype in table.shape.schema.items()}
    return types
