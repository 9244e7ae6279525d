"""Deduplications, as :class:`panewise.engine.family_parts.EngineParts`.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

- Table 0, groups: a row is a group, identified by the keys and `__start`, the anchor. `__end` is the
  anchor plus `within`, or 2^63 - 1. If the chosen row can be replaced (45.13), the row has all its
  columns, its event time `__at_time`, and `__turn`, its number among the rows that were in time.
- Table 1, waiting (45.1): the columns of the input, `__turn` if table 0 has it, and `__end`, the time of
  the row. No run hides rows of another run.

The field `keep` distinguishes the specification.
"""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from panewise.engine.columns import END, START
from panewise.engine.deduplicate.plan import DeduplicatePlan, group_horizon, taken_until
from panewise.engine.deduplicate.state import GROUPS, WAITING, DeduplicateState
from panewise.engine.family_parts import EngineParts, Inspection, TableReader, on_call, with_one_input
from panewise.engine.ingest.input_state import read_clocks
from panewise.engine.merged_header import HeaderRules
from panewise.engine.progress.clocks import Clocks
from panewise.spec import DeduplicateOperator
from panewise.state.manifest import checked


def inspect(spec: DeduplicateOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the groups, and the rows that have not been taken (semantics 45.14)."""
    clocks, keys = read_clocks(checked(header), Clocks.initial(spec)), list(spec.keys)
    groups = read(GROUPS, [*keys, START, END], [*keys, START], group_horizon(spec, clocks), keys)
    ends = spec.within_us is not None
    if not spec.waits:
        return Inspection(clocks, groups, keys, ends_in_time=ends)
    waiting = read(WAITING, [*keys, END], [], taken_until(clocks), keys)
    rows = [groups] if groups.width else []
    if waiting.width:
        rows.append(waiting.with_columns(pl.col(END).alias(START)).select(*keys, START, END))
    return Inspection(clocks, pl.concat(rows) if rows else groups, keys, ends_in_time=ends)


PARTS: Final = EngineParts(
    compile=with_one_input(DeduplicatePlan),
    operator=with_one_input(on_call("panewise.engine.deduplicate.operator:DeduplicateEngine")),
    tables=lambda spec: DeduplicateState.TABLES,
    inspect=inspect,
    header_rules=lambda spec: HeaderRules({"arrived": max}),
)
