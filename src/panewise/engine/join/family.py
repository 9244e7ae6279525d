"""Joins, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.join.plan import JoinPlan
from panewise.engine.protocol import EngineParts, Inspection, Operator, Schemas, TableReader
from panewise.spec import JoinOperator


def compile(spec: JoinOperator, schemas: Schemas) -> JoinPlan:  # noqa: A001 - the name of the part
    """Returns the plan."""
    return JoinPlan.compile(spec, schemas)


def operator(spec: JoinOperator, schemas: Schemas) -> Operator:
    """Returns an operator that has taken no step."""
    from panewise.engine.join.match_engine import match_engine  # noqa: PLC0415 - see above

    return match_engine(spec.match).operator(spec, schemas)


def tables(spec: JoinOperator) -> tuple[str, ...]:
    """Returns the names of the tables of the match."""
    from panewise.engine.join.match_engine import match_engine  # noqa: PLC0415 - see above

    return match_engine(spec.match).tables(spec)


def inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored rows that have not expired, with their event times; by event time left rows only.

    Left rows of semi and anti are among them even if they had a partner (semantics 41).
    """
    from panewise.engine.join.match_engine import match_engine  # noqa: PLC0415 - see above

    return match_engine(spec.match).inspect(spec, header, read)


PARTS: Final = EngineParts(compile=compile, operator=operator, tables=tables, inspect=inspect)
