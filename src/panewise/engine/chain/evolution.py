"""The state of a chain, taken over by one whose operator has other fields (semantics 47.2)."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.chain.operator import ChainEngine
from panewise.engine.family_parts import TakeOver
from panewise.engine.windows import evolution
from panewise.engine.windows.state import WINDOWS
from panewise.spec import Chain


def take_over(operator: ChainEngine, old: Chain, header: Mapping[str, Any]) -> TakeOver:
    """Returns how the operator takes over a state that `old` has made. The tables of stages stay as they are.

    All tables have the horizon of the operator's windows.
    """
    how = evolution.take_over(operator.first, old.first, header)
    own = {name: table for name, (member, table) in operator.places.items() if member == 0}
    return TakeOver(
        how.header,
        dict.fromkeys(operator.places, how.horizons[WINDOWS]),
        {name: how.tables[table] for name, table in own.items()},
    )
