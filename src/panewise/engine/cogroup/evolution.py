"""The state of a cogroup, which is that of its windows, taken over by another one (semantics 47.13)."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.cogroup.operator import CogroupEngine
from panewise.engine.cogroup.plan import HEADER
from panewise.engine.family_parts import TakeOver
from panewise.engine.nested.state import header_in
from panewise.engine.windows import evolution
from panewise.spec import CogroupOperator
from panewise.spec.operators.cogroup.windowing import window_operator


def take_over(operator: CogroupEngine, old: CogroupOperator, header: Mapping[str, Any]) -> TakeOver:
    """Returns how the operator takes over a state that `old` has made."""
    how = evolution.take_over(operator.windows, window_operator(old), header_in(HEADER, header))
    return TakeOver({**header, HEADER: how.header}, how.horizons, how.tables)
