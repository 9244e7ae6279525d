"""Window operators, as :class:`panewise.engine.family_parts.EngineParts`.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

A *slice* stands for the rows of one key and one event time, or one row number (8.8). The keys and
`__start` identify it. It is needed until `__end`, which is compared with the horizon, and has the partial
columns. A *block* stands for the slices of one key in one stretch of time, merged. Stretches have the
length max(1, size div 64) and begin at its multiples, the very first one at -2^63. `__start` is the
beginning of the stretch, `__end` that of a slice at its last instant. If `header.in_blocks`, every slice
is in a block; otherwise the table has no rows.

Table 0 contains all windows that have been created: only the complete ones, if the trigger does nothing
before the end of a window.

- If order matters to an aggregate, each row has a *turn*, its number among all rows that the shard
  received. `__NAME_turnI`, for the function NAME at place I, then has the row that `first`, `last`,
  `max_by` or `min_by` looks for: a struct of `turn`, `rank` if any, and `value`. For the other rankings,
  and with a condition, it is a list of such structs, with `then_by` of `turn`, `rank0`, `rank1` and so
  on, and `value`. `__gathered` has all rows, with `__turn`, for lists and user-defined aggregates.
- `median`, `percentile`, `mode` and `count_distinct` have their results in `__told:NAME` of table 0, and
  their values only in the slices, if what a window stores is never merged: in accumulating and retracting
  mode, with `Never`, and without allowed lateness if windows are created when they are complete.
"""

from dataclasses import replace
from typing import Final

from panewise.engine.family_parts import Division, EngineParts, division_by_keys, on_call, with_one_input
from panewise.engine.protocol import Operator
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.sliding.slices import BLOCKS
from panewise.engine.windows.state import HEADER_RULES, WindowOperatorState


def division(operator: Operator) -> dict[str, Division]:
    """Returns how the tables of windows are divided, and those of the stages of a chain.

    Each slice is also in a block, or there are no blocks. So blocks stay only if all shards have them.
    """
    tables = division_by_keys(operator)
    return {name: replace(of, flag="in_blocks") if name == BLOCKS else of for name, of in tables.items()}


take_over = on_call("panewise.engine.windows.evolution:take_over")
PARTS: Final = EngineParts(
    compile=with_one_input(WindowPlan),
    operator=with_one_input(on_call("panewise.engine.windows.operator:WindowEngine")),
    tables=lambda spec: WindowOperatorState.TABLES,
    inspect=on_call("panewise.engine.windows.inspection:inspect"),
    current_results=on_call("panewise.engine.windows.changed_results:WindowResults"),
    take_over=take_over,
    record_windows=on_call("panewise.engine.windows.records:record_windows"),
    division=division,
    header_rules=lambda spec: HEADER_RULES,
)
