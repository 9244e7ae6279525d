"""The state of a join, taken over by one with another lateness or other columns (semantics 47.15, 47.16).

Invariant: until the evaluation of the change the horizons are those of before. If the lateness was raised,
the horizon of then stays in the header as a floor. If it was lowered, it is a ceiling, which the evaluation
removes. So rows expire in it as at any other move of the clocks.
"""

from collections.abc import Mapping
from typing import Any

from panewise.engine.family_parts import TakeOver
from panewise.engine.join.match_engine import match_engine
from panewise.engine.join.two_sides import CEILINGS, FLOORS, JoinState
from panewise.engine.protocol import Operator
from panewise.spec import JoinOperator


def take_over(operator: Operator, old: JoinOperator, header: Mapping[str, Any]) -> TakeOver:
    """Returns how the operator takes over a state that `old` has made."""
    spec, clocks = operator.spec, _state(operator, header).clocks
    assert isinstance(spec, JoinOperator)
    changed = dict(header)
    for side in spec.sides if header else ():
        before, after = (join.sides[side].allowed_lateness.us for join in (old, spec))
        horizon = clocks.horizon(old, side)
        if before != after and horizon is not None and not clocks.sides[side].ended:
            changed[(FLOORS if after > before else CEILINGS)[side]] = horizon
    state = _state(operator, changed)
    selected = {} if old.select == spec.select else state.tables
    horizons = operator.horizons(state.clocks)
    tables = {name: table.shape.with_nulls for name, table in selected.items()}
    make = match_engine(spec.match).take_over
    if make is not None and old.match != spec.match:
        horizons, of_match, fields = make(operator, old, state.clocks)
        tables |= of_match
        changed |= fields if header else {}
    return TakeOver(changed, horizons, tables)


def _state(operator: Operator, header: Mapping[str, Any]) -> JoinState:
    state = operator.with_header(header)
    assert isinstance(state, JoinState)
    return state
