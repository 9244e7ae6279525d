"""Windows over joins, as :class:`panewise.engine.family_parts.EngineParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.engine.family_parts import EngineParts, Inspection, TableReader, engine_parts, on_call
from panewise.engine.join.division import divided, header_rules, with_least_waiting
from panewise.engine.nested.state import NestedState, header_in
from panewise.engine.tables.division import Division
from panewise.engine.windowed_join.plan import HEADER, WindowedJoinPlan
from panewise.spec import WindowedJoin


def inspect(spec: WindowedJoin, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows, whose tables come first."""
    inner = header_in(HEADER, header)
    return engine_parts(spec.windows).inspect(spec.windows, inner, read)


def division(operator: Any) -> dict[str, Division]:
    """Returns how the tables of both operators are divided: by the keys of the join that the windows keep."""
    spec, (windows,) = operator.spec, operator.following
    keys = {side: spec.shard_keys(side) for side in spec.join.sides}
    join = divided(operator.first, keys)
    named = {number: "{}" if number else "join: {}" for number in (0, 1)}
    tables = (join, engine_parts(spec.windows).division(windows))
    return {
        named[number].format(name): replace(of, owner=of.owner and named[number].format(of.owner))
        for number in (1, 0)
        for name, of in tables[number].items()
    }


def settled(state: NestedState) -> NestedState:
    """Returns the state, with what the header of the join says of its rows."""
    join, *others = state.members
    return replace(state, members=(with_least_waiting(join), *others))


PARTS: Final = EngineParts(
    compile=WindowedJoinPlan,
    operator=on_call("panewise.engine.windowed_join.operator:WindowedJoinEngine"),
    tables=lambda spec: engine_parts(spec.windows).tables(spec.windows),
    inspect=inspect,
    take_over=on_call("panewise.engine.windowed_join.evolution:take_over"),
    division=division,
    header_rules=lambda spec: replace(
        header_rules(spec.join), nested={HEADER: engine_parts(spec.windows).header_rules(spec.windows)}
    ),
    settled=settled,
)
