"""Chains, as :class:`panewise.engine.family_parts.EngineParts`.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

- 2n - 1, contributions: a pane of the stage before (or of the operator) that the stage stores (30.2);
  identified by its keys, `__start`, `__end`
- 2n, windows: a window of the stage; identified by keys of the stage, `__start`, `__end`

Contributions also have the keys of the stage and the columns that its aggregates read; in discarding mode
there are none. Windows have no partial columns. Both have the horizon of the operator's windows.
"""

from typing import Final

from panewise.engine.chain.plan import TABLES, ChainPlan
from panewise.engine.family_parts import EngineParts, engine_parts, on_call, with_one_input
from panewise.engine.windows.family import division
from panewise.spec import Chain


def tables(spec: Chain) -> tuple[str, ...]:
    """Returns the names of the tables of windows, of the stages, and of slices."""
    windows, *slices = engine_parts(spec.first).tables(spec.first)
    stages = range(1, len(spec.stages) + 1)
    return windows, *(f"{name} of stage {number}" for number in stages for name in TABLES), *slices


PARTS: Final = EngineParts(
    compile=with_one_input(ChainPlan),
    operator=with_one_input(on_call("panewise.engine.chain.operator:ChainEngine")),
    tables=tables,
    inspect=lambda spec, header, read: engine_parts(spec.first).inspect(spec.first, header, read),
    take_over=on_call("panewise.engine.chain.evolution:take_over"),
    division=division,
    header_rules=lambda spec: engine_parts(spec.first).header_rules(spec.first),
)
