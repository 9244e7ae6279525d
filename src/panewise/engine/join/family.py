"""Joins, as :class:`panewise.engine.protocol.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from panewise.engine.join.plan import JoinPlan
from panewise.engine.protocol import Inspection, Schemas, TableReader
from panewise.spec import JoinOperator

if TYPE_CHECKING:
    from panewise.engine.join.pairing import PairingEngine
    from panewise.engine.join.same_window.base import SameWindowEngine


def compile(spec: JoinOperator, schemas: Schemas) -> JoinPlan:  # noqa: A001 - the name of the protocol
    """Returns the plan."""
    return JoinPlan.of(spec, schemas)


def operator(spec: JoinOperator, schemas: Schemas) -> "PairingEngine | SameWindowEngine":
    """Returns an operator that has taken no step."""
    from panewise.engine.join.match_engine import match_engine  # noqa: PLC0415 - see above

    made: PairingEngine | SameWindowEngine = match_engine(spec.match).operator(spec, schemas)
    return made


def inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the stored rows that have not expired, with their event times; by event time left rows only.

    Left rows of semi and anti are among them even if they had a partner (semantics 41).
    """
    from panewise.engine.join.match_engine import match_engine  # noqa: PLC0415 - see above

    return match_engine(spec.match).inspect(spec, header, read)
