"""Joins, as :class:`panewise.engine.family_parts.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.
"""

from typing import Any, Final

from panewise.engine.family_parts import EngineParts, on_call
from panewise.engine.join.plan import JoinPlan
from panewise.families import part
from panewise.spec import JoinOperator


def _match_engine(spec: JoinOperator) -> Any:
    return part("panewise.engine.join.match_engine:match_engine")(spec.match)


PARTS: Final = EngineParts(
    compile=JoinPlan.compile,
    operator=lambda spec, schemas: _match_engine(spec).operator(spec, schemas),
    tables=lambda spec: _match_engine(spec).tables(spec),
    inspect=lambda spec, header, read: _match_engine(spec).inspect(spec, header, read),
    take_over=on_call("panewise.engine.join.evolution:take_over"),
    division=on_call("panewise.engine.join.division:division"),
    settled=on_call("panewise.engine.join.division:with_least_waiting"),
)
