"""Policy windows, as :class:`panewise.engine.family_parts.EngineParts`.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

`__start` is 0. `__end` is the first processing time at which something is due, or the greatest Int64. The
structs of `__tuples` have the columns that are emitted, those of the aggregates, and that of an eviction
by delta. `__arrived` exists with a sliding eviction by time, `__reference` with a trigger by delta,
`__listener` with a listener (null before its first call).
"""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.columns import END, START, key_columns
from panewise.engine.family_parts import EngineParts, Inspection, TableReader, on_call, with_one_input
from panewise.engine.ingest.input_state import read_clocks
from panewise.engine.merged_header import HeaderRules
from panewise.engine.policy.plan import PolicyPlan
from panewise.engine.policy.state import PARTITIONS, PolicyState
from panewise.engine.progress.clocks import Clocks
from panewise.spec import StreamWindow
from panewise.state.manifest import checked


def inspect(spec: StreamWindow, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored partitions. Their end is the time at which something is due."""
    clocks = read_clocks(checked(header), Clocks.initial(spec.tuples))
    keys = key_columns(spec.partition_by)
    rows = read(PARTITIONS, [*keys, START, END], keys, None, keys)
    return Inspection(clocks, rows, keys, ends_in_time=False)


PARTS: Final = EngineParts(
    compile=with_one_input(PolicyPlan),
    operator=with_one_input(on_call("panewise.engine.policy.operator:PolicyEngine")),
    tables=lambda spec: PolicyState.TABLES,
    inspect=inspect,
    header_rules=lambda spec: HeaderRules({"tally": max}),
)
