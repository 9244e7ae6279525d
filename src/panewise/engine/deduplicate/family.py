"""Deduplications, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from panewise.engine.columns import END, START
from panewise.engine.deduplicate.plan import DeduplicatePlan
from panewise.engine.ingest.input_state import checked, read_clocks
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import EngineParts, Inspection, Schemas, TableReader
from panewise.families import INPUT
from panewise.spec import DeduplicateOperator

if TYPE_CHECKING:
    from panewise.engine.deduplicate.operator import DeduplicateEngine


def compile(spec: DeduplicateOperator, schemas: Schemas) -> DeduplicatePlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return DeduplicatePlan(spec, schemas[INPUT])


def operator(spec: DeduplicateOperator, schemas: Schemas) -> "DeduplicateEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.deduplicate.operator import DeduplicateEngine  # noqa: PLC0415 - see above

    return DeduplicateEngine(spec, schemas[INPUT])


def inspect(spec: DeduplicateOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the groups, and the rows that have not been taken (semantics 45.14)."""
    from panewise.engine.deduplicate.operator import group_horizon, taken_until  # noqa: PLC0415 - see above

    clocks, keys = read_clocks(checked(header), Clocks.of(spec)), list(spec.keys)
    groups = read(0, [*keys, START, END], [*keys, START], keys, group_horizon(spec, clocks), keys)
    ends = spec.within_us is not None
    if not spec.waits:
        return Inspection(clocks, groups, keys, ends_in_time=ends)
    waiting = read(1, [*keys, END], [END], [], taken_until(clocks), keys)
    rows = [groups] if groups.width else []
    if waiting.width:
        rows.append(waiting.with_columns(pl.col(END).alias(START)).select(*keys, START, END))
    return Inspection(clocks, pl.concat(rows) if rows else groups, keys, ends_in_time=ends)


PARTS: Final = EngineParts(compile=compile, operator=operator, inspect=inspect)
