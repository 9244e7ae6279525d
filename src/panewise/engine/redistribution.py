"""Divides a stored state among other shards, run by run.

A row keeps its values, except for numbers that are unique within a shard only: those of a shard are raised by
as many as the shards before it have counted. Invariant: rows of a run stay in their order, and runs in order
of age, and a tombstone gets the shard of the rows that it hides. So a newer row still hides older ones.
Memory has the rows of one run at a time and, for tables that another table owns, the numbers of the rows of
that table in one shard.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.checkpoint import check_same, check_types, continued, runs_of
from panewise.engine.columns import END, ONE_KEY
from panewise.engine.family_parts import Division, engine_parts
from panewise.engine.kernels.hashing import shard_places
from panewise.engine.kernels.sorting import Places
from panewise.engine.merged_header import HeaderRules, merged_header, with_floor_of
from panewise.engine.protocol import Operator, Schema, Schemas
from panewise.engine.registry import operator_for
from panewise.errors import StateError
from panewise.spec import Specification
from panewise.state import Manifest
from panewise.state.manifest import checked
from panewise.state.run_format import decode
from panewise.state.run_store import missing

_NOWHERE: Final = -1


@dataclass(frozen=True)
class Redistribution:
    """A state of some shards that is divided among others.

    Attributes:
        operator: the operator, which has taken no step. Aggregates that were added to the state are marked in
            its specification.
        manifests: the manifests by the number of the shard before.
        shards: the numbers of the new shards.
        divisions: how the tables are divided, by name.
        offsets: by shard what is added to its numbers, by the field that counts them.
        rules: how the headers of the shards become one.
    """

    operator: Operator
    manifests: Mapping[int, Manifest]
    shards: Sequence[int]
    divisions: Mapping[str, Division]
    offsets: Mapping[int, Mapping[str, int]]
    rules: HeaderRules

    @classmethod
    def plan(
        cls,
        spec: Specification,
        schema: Schema | Schemas,
        manifests: Mapping[int, Manifest],
        shards: Sequence[int],
    ) -> "Redistribution":
        """Returns the redistribution of a state among shards with these numbers.

        Raises:
            StateError: if the state was made with another specification or other types, or is corrupt.
        """
        spec = _with_added_aggregates(spec, list(manifests.values()))
        operator = operator_for(spec, schema)
        for manifest in manifests.values():
            check_types(operator.state, checked(manifest.header))
        family, ordered = engine_parts(spec), dict(sorted(manifests.items()))
        rules = family.header_rules(spec)
        offsets = _offsets(ordered, rules.counters)
        return cls(operator, ordered, tuple(shards), family.division(operator), offsets, rules)

    @property
    def spec(self) -> Specification:
        """The specification, in which aggregates that were added to the state are marked (semantics 47.3)."""
        return self.operator.spec

    @property
    def moves(self) -> bool:
        """Whether the number of shards changes. Otherwise all rows stay in their shards."""
        counts = {manifest.shards for manifest in self.manifests.values()}
        return not counts <= {len(self.shards)} or not {*self.manifests} <= {*self.shards}

    def header(self, shard: int) -> dict[str, Any]:
        """Returns the header of a new shard.

        If all rows stay in their shards, it has the floors that this shard had, and its counters if it had
        any. Otherwise it has floors only if each of the old shards has stored something.
        """
        header = merged_header([manifest.header for manifest in self.manifests.values()], self.rules)
        if self.moves:
            have_all = {manifest.shards for manifest in self.manifests.values()} == {len(self.manifests)}
            return header if have_all else with_floor_of(header, {}, self.rules)
        own = self.manifests[shard].header if shard in self.manifests else {}
        counted = {name: own[name] for name in self.rules.counters if name in own}
        return with_floor_of(header, own, self.rules) | counted

    def pieces(self, stored: Mapping[int, Mapping[str, bytes]]) -> Iterator[tuple[int, str, pl.DataFrame]]:
        """Yields rows, each time with their new shard and the name of their table.

        The rows of each key come in the order in which they were stored. `stored` are the runs by shard.

        Raises:
            StateError: if a run is missing or damaged.
        """
        for shard, manifest in self.manifests.items():
            owners, horizons = _Owners(), self._horizons(manifest)
            for number, (name, table) in enumerate(self.operator.state.tables.items()):
                for run in runs_of(manifest.runs, number):
                    if run.name not in stored[shard]:
                        raise missing(run.name)
                    rows = table.shape.in_order(decode(stored[shard][run.name], run.name))
                    rows = table.shape.stored(rows, run.name)
                    if horizons[name] is not None:
                        rows = rows.filter(pl.col(END) > horizons[name])
                    yield from self._divided(shard, name, rows, owners)

    def _horizons(self, manifest: Manifest) -> Mapping[str, int | None]:
        """Returns the horizons of a shard. Rows that end by then have expired, and must not appear again."""
        return self.operator.horizons(self.operator.with_header(manifest.header).clocks)

    def _divided(
        self, shard: int, name: str, rows: pl.DataFrame, owners: "_Owners"
    ) -> Iterator[tuple[int, str, pl.DataFrame]]:
        division = self.divisions[name]
        if division.flag is not None and not _has_flag(self.header(shard), division.flag):
            return
        if not self.moves:
            yield shard, name, rows
            return
        places = self._places(name, division, rows, owners)
        rows = rows.with_columns(
            pl.when(pl.col(column) >= 0)
            .then(pl.col(column) + self.offsets[shard].get(counter, 0))
            .otherwise(pl.col(column))
            .alias(column)
            for column, counter in division.numbers.items()
        )
        for place in np.unique(places[places != _NOWHERE]):
            yield self.shards[place], name, rows.filter(pl.Series(places == place))

    def _places(self, name: str, division: Division, rows: pl.DataFrame, owners: "_Owners") -> Places:
        """Returns the place of the new shard of each row."""
        if division.owner is not None:
            return owners.places(division.owner, rows[division.by_owner].to_numpy())
        keys = list(division.keys)
        constants = [pl.lit(0, dtype=pl.Int8).alias(key) for key in keys if key == ONE_KEY]
        keyed = rows.with_columns(constants) if ONE_KEY not in rows.columns else rows
        places = shard_places(keyed, keys, len(self.shards))
        for of in self.divisions.values():
            if of.owner == name:
                owners.add(name, rows[of.by_owner].to_numpy(), places)
                break
        return places


@dataclass
class _Owners:
    """The new shards of the rows of owning tables, by the numbers of these rows."""

    tables: dict[str, list[tuple[Places, Places]]] = field(default_factory=dict)

    def add(self, table: str, numbers: Places, places: Places) -> None:
        """Adds the rows of a run."""
        self.tables.setdefault(table, []).append((numbers, places))

    def places(self, table: str, numbers: Places) -> Places:
        """Returns the places of the new shards of the owners with these numbers."""
        parts = self.tables.get(table, [])
        known = np.concatenate([part for part, _ in parts] or [np.empty(0, np.intp)])
        places = np.concatenate([part for _, part in parts] or [np.empty(0, np.intp)])
        order = np.argsort(known, kind="stable")
        at = np.searchsorted(known, numbers, sorter=order)
        inside = at < len(known)
        destinations = np.full(len(numbers), _NOWHERE, dtype=np.intp)
        rows = order[at[inside]]
        destinations[inside] = np.where(known[rows] == numbers[inside], places[rows], _NOWHERE)
        return destinations


def _offsets(manifests: Mapping[int, Manifest], counters: Sequence[str]) -> dict[int, dict[str, int]]:
    """Returns by shard how many numbers the shards before it have counted."""
    counted, offsets = dict.fromkeys(counters, 0), {}
    for shard, manifest in manifests.items():
        offsets[shard] = dict(counted)
        for name in counters:
            counted[name] += manifest.header.get(name, 0)
    if any(count > MAX_INSTANT for count in counted.values()):
        rule = "the rows of all shards have numbers of 64 bits"
        raise StateError("more rows than that", rule, "keep the number of shards")
    return offsets


def _with_added_aggregates(spec: Specification, manifests: Sequence[Manifest]) -> Specification:
    """Returns the specification as it continues the state of all shards, without another change of it."""
    for manifest in manifests:
        check_same(manifest, spec, manifest.shards)
    specs = [continued(manifest, spec, manifest.shards).spec for manifest in manifests]
    if any(other != specs[0] for other in specs):
        rule = "the shards of an exported state have one specification (semantics 48.14)"
        raise StateError("shards with other added aggregates", rule, "export the state again")
    return specs[0] if specs else spec


def _has_flag(header: Mapping[str, Any], flag: str) -> bool:
    """Returns whether a field is true in the header or in one inside it."""
    nested = (value for value in header.values() if isinstance(value, dict))
    return bool(header.get(flag)) or any(_has_flag(inner, flag) for inner in nested)
