"""Chains, as :class:`panewise.engine.family_parts.EngineParts`.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

- 2n - 1, contributions: a pane of the stage before (or of the operator) that the stage stores (30.2);
  identified by its keys, `__start`, `__end`
- 2n, windows: a window of the stage; identified by keys of the stage, `__start`, `__end`

Contributions also have the keys of the stage and the columns that its aggregates read; in discarding mode
there are none. Windows have no partial columns. Both have the horizon of the operator's windows.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.chain.plan import TABLES, ChainPlan
from panewise.engine.family_parts import EngineParts, TakeOver, engine_parts, on_call, with_one_input
from panewise.engine.windows import family as windows
from panewise.engine.windows.state import WINDOWS
from panewise.spec import Chain

if TYPE_CHECKING:
    from panewise.engine.chain.operator import ChainEngine


def tables(spec: Chain) -> tuple[str, ...]:
    """Returns the names of the tables of windows, of the stages, and of slices."""
    windows, *slices = engine_parts(spec.first).tables(spec.first)
    stages = range(1, len(spec.stages) + 1)
    return windows, *(f"{name} of stage {number}" for number in stages for name in TABLES), *slices


def take_over(operator: "ChainEngine", old: Chain, header: Mapping[str, Any]) -> TakeOver:
    """Returns how a chain takes over a state of one whose operator has other fields (semantics 47.2).

    The tables of stages stay as they are. All tables have the horizon of the operator's windows.
    """
    how: TakeOver = windows.take_over(operator.first, old.first, header)
    own = {name: table for name, (member, table) in operator.member_tables.items() if member == 0}
    horizons = dict.fromkeys(operator.member_tables, how.horizons[WINDOWS])
    return TakeOver(how.header, horizons, {name: how.tables[table] for name, table in own.items()})


PARTS: Final = EngineParts(
    compile=with_one_input(ChainPlan),
    operator=with_one_input(on_call("panewise.engine.chain.operator:ChainEngine")),
    tables=tables,
    inspect=lambda spec, header, read: engine_parts(spec.first).inspect(spec.first, header, read),
    take_over=take_over,
    division=windows.division,
    header_rules=lambda spec: engine_parts(spec.first).header_rules(spec.first),
)
