"""The state of windows over a join, taken over by those with other fields (semantics 47.14)."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.family_parts import TakeOver, engine_parts
from panewise.engine.join.evolution import take_over as join_take_over
from panewise.engine.nested.state import header_in
from panewise.engine.windowed_join.operator import WindowedJoinEngine
from panewise.engine.windowed_join.plan import HEADER
from panewise.spec import WindowedJoin
from panewise.spec.codec import to_dict


def take_over(operator: WindowedJoinEngine, old: WindowedJoin, header: Mapping[str, Any]) -> TakeOver:
    """Returns how the operator takes over a state that `old` has made. The tables of the join stay."""
    own = {name: value for name, value in header.items() if name != HEADER}
    changed = {**header, **join_take_over(operator.first, old.join, own).header}
    horizons = operator.horizons(operator.with_header(changed).clocks)
    windows = operator.windows.spec
    make = engine_parts(windows).take_over
    if make is None or to_dict(old.windows) == to_dict(windows):
        return TakeOver(changed, horizons)
    how = make(operator.windows, old.windows, header_in(HEADER, header))
    return TakeOver({**changed, HEADER: how.header}, {**horizons, **how.horizons}, how.tables)
