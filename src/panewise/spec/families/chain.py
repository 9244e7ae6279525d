"""Chains of a window operator and stages, as :class:`panewise.spec.family_parts.SpecParts`."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from panewise.chrono import Duration
from panewise.families import INPUT
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.types import check_aggregates, result_types
from panewise.spec.carried_values import Carried, Known, carried_values
from panewise.spec.codec.forms import has_stages
from panewise.spec.column_types import check_bytes
from panewise.spec.families import windows
from panewise.spec.families.input_changes import of_part
from panewise.spec.families.window_changes import CHANGEABLE, OF_CHAINS
from panewise.spec.operators.chain import Chain, Stage
from panewise.spec.operators.windows import WindowOperator
from panewise.spec.protocol import Columns, Origins, Types
from panewise.spec.source_position import Position
from panewise.spec.type_checks import check_kinds


class _ChainParts(windows.PaneParts[Chain]):
    kind = Chain
    changeable = MappingProxyType(
        {name: of_part(attrgetter("first"), CHANGEABLE[name]) for name in OF_CHAINS}
    )

    def operator(self, spec: Chain) -> WindowOperator:
        return spec.first

    def reads(self, document: Mapping[str, Any]) -> bool:
        return has_stages(document)

    def check_types(self, spec: Chain, types: Mapping[str, Types]) -> None:
        """Checks the types of columns, and those of the columns of panes that stages read."""
        windows.PARTS.check_types(spec.first, types)
        before: WindowOperator | Stage = spec.first
        panes = types[INPUT]
        for stage in spec.stages:
            keys = {name: panes[name] for name in before.keys if name in panes}
            panes = keys | result_types(before.aggregates, panes)
            _check_stage(stage, panes)
            before = stage

    def boolean_columns(self, spec: Chain) -> set[str]:
        return windows.PARTS.boolean_columns(spec.first)

    def renamed(self, spec: Chain, port: str, names: Mapping[str, str]) -> Chain:
        return replace(spec, first=windows.PARTS.renamed(spec.first, port, names))

    def with_position(self, spec: Chain, position: Position) -> Chain:
        return replace(spec, first=windows.PARTS.with_position(spec.first, position))

    def with_skews(self, spec: Chain, skews: Mapping[str, Duration]) -> Chain:
        return replace(spec, first=windows.PARTS.with_skews(spec.first, skews))

    def shard_keys(self, spec: Chain, port: str) -> tuple[str, ...]:
        """Returns the keys that all stages have: panes that differ in one of them are never combined."""
        return spec.shared_keys

    def one_shard(self, spec: Chain) -> tuple[str, str] | None:
        """Returns why the rows or panes of all keys are combined, if they are."""
        if spec.shared_keys:
            return windows.PARTS.one_shard(spec.first)
        rule = "a chain without a key that all stages keep has one shard (semantics 30.11)"
        return rule, "leave shards out, or keep a key of the operator in all stages"

    def calls_users(self, spec: Chain) -> bool:
        """Returns whether the operator or a stage has functions of the user."""
        users = (what.user for stage in spec.stages for what in stage.aggregates)
        return windows.PARTS.calls_users(spec.first) or any(user is not None for user in users)

    def functions(self, spec: Chain, port: str) -> tuple[Aggregate, ...]:
        """Returns the aggregates of the window operator."""
        return spec.first.aggregates

    def unchanged(self, spec: Chain, columns: Columns) -> Origins:
        """Returns the keys that all stages have."""
        return {name: (INPUT, name) for name in spec.shared_keys}

    def carried(self, spec: Chain, known: Known, kinds: Carried) -> dict[str, Any]:
        """Returns the types of the last stage's aggregates and keys that return input values."""
        carried = {name: known[INPUT][name] for name in spec.first.keys if name in known[INPUT]}
        carried |= carried_values(spec.first.aggregates, known[INPUT], kinds)
        for stage in spec.stages:
            keys = {name: kind for name, kind in carried.items() if name in stage.keys}
            carried = keys | carried_values(stage.aggregates, carried, kinds)
        return carried


def _check_stage(stage: Stage, panes: Types) -> None:
    """Checks a stage with the types of the panes of the stage before, which are its rows."""
    rule, remedy = "a key is a simple value", "use another key or aggregate"
    check_kinds("then: key", stage.keys, panes, lambda kind: not kind.is_nested, rule, remedy)
    check_bytes("then: key", stage.keys, panes)
    check_aggregates(stage.aggregates, panes)


PARTS: Final = _ChainParts()
