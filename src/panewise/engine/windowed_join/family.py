"""Windows over joins, as :class:`panewise.engine.family_parts.EngineParts`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.family_parts import (
    Division,
    EngineParts,
    Inspection,
    TableReader,
    TakeOver,
    engine_parts,
    on_call,
)
from panewise.engine.join.division import divided
from panewise.engine.join.division import settled as settled_join
from panewise.engine.join.evolution import take_over as join_take_over
from panewise.engine.nested.state import NestedState, header_in
from panewise.engine.windowed_join.plan import HEADER, WindowedJoinPlan
from panewise.spec import WindowedJoin
from panewise.spec.codec import to_dict

if TYPE_CHECKING:
    from panewise.engine.windowed_join.operator import WindowedJoinEngine


def inspect(spec: WindowedJoin, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored windows, whose tables come first."""
    inner = header_in(HEADER, header)
    return engine_parts(spec.windows).inspect(spec.windows, inner, read)


def take_over(operator: "WindowedJoinEngine", old: WindowedJoin, header: Mapping[str, Any]) -> TakeOver:
    """Returns how an operator takes over a state of another one (47.14). The tables of the join stay."""
    own = {name: value for name, value in header.items() if name != HEADER}
    changed = {**header, **join_take_over(operator.first, old.join, own).header}
    horizons = operator.horizons(operator.with_header(changed).clocks)
    windows = operator.windows.spec
    make = engine_parts(windows).take_over
    if make is None or to_dict(old.windows) == to_dict(windows):
        return TakeOver(changed, horizons)
    how = make(operator.windows, old.windows, header_in(HEADER, header))
    return TakeOver({**changed, HEADER: how.header}, {**horizons, **how.horizons}, how.tables)


def division(operator: "WindowedJoinEngine") -> dict[str, Division]:
    """Returns how the tables of both operators are divided: by the keys of the join that the windows keep."""
    spec, (windows,) = operator.spec, operator.following
    keys = {side: spec.shard_keys(side) for side in spec.join.sides}
    join = divided(operator.first, keys)
    named = {number: "{}" if number else "join: {}" for number in (0, 1)}
    tables = (join, engine_parts(spec.windows).division(windows))
    return {
        named[number].format(name): replace(table, owner=table.owner and named[number].format(table.owner))
        for number in (1, 0)
        for name, table in tables[number].items()
    }


def settled(state: NestedState) -> NestedState:
    """Returns the state, with what the header of the join says of its rows."""
    join, *others = state.members
    return replace(state, members=(settled_join(join), *others))


PARTS: Final = EngineParts(
    compile=WindowedJoinPlan,
    operator=on_call("panewise.engine.windowed_join.operator:WindowedJoinEngine"),
    tables=lambda spec: engine_parts(spec.windows).tables(spec.windows),
    inspect=inspect,
    take_over=take_over,
    division=division,
    header_rules=lambda spec: replace(
        engine_parts(spec.join).header_rules(spec.join),
        nested={HEADER: engine_parts(spec.windows).header_rules(spec.windows)},
    ),
    settled=settled,
)
