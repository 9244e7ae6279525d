"""Joins, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from panewise.engine.columns import END, NUMBER, ONE_KEY, TIME
from panewise.engine.join.plan import JoinPlan
from panewise.engine.protocol import Inspection, Schemas, TableReader
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.match import AsOf

if TYPE_CHECKING:
    from panewise.engine.join.operator import JoinEngine


def compile(spec: JoinOperator, schemas: Schemas) -> JoinPlan:  # noqa: A001 - the name of the protocol
    """Returns the plan."""
    return JoinPlan.of(spec, schemas)


def operator(spec: JoinOperator, schemas: Schemas) -> "JoinEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.join.operator import JoinEngine  # noqa: PLC0415 - see above

    return JoinEngine(spec, schemas)


def inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that can still get a partner (semantics 39, 41.1), with their event times."""
    from panewise.engine.join.state import read_clocks  # noqa: PLC0415 - see above

    clocks, keys = read_clocks(header), list(spec.keys) or [ONE_KEY]
    rows = []
    waiting = (LEFT,) if isinstance(spec.match, AsOf) else (LEFT, RIGHT)
    for table, side in enumerate(waiting):
        of = spec.sides[side]
        names = list(of.keys) or [ONE_KEY]
        horizon = clocks.passed(spec, OTHER[side])
        found = read(table, [*names, TIME, END], [TIME, NUMBER], [], horizon)
        if found.width:
            shown = (pl.col(mine).alias(name) for mine, name in zip(names, keys, strict=True))
            rows.append(found.select(*shown, pl.col(TIME).alias(END)))
    return Inspection(clocks, pl.concat(rows) if rows else pl.DataFrame(), keys)
