"""The state of a window join, taken over by one with another trigger or lateness (semantics 47.19).

The windows are converted as those of window operators are. The rows, and what windows have emitted, stay. The
horizon is that of before until the windows are evaluated, so those that expire emit their last rows. It stays
in the header as a floor, so windows that have expired stay expired under a higher lateness.
"""

from functools import partial

from panewise.engine.join.clocks import JoinClocks, of_windows
from panewise.engine.join.match_engine import MatchTakeOver
from panewise.engine.join.same_window.base import WINDOWS, SameWindowEngine
from panewise.engine.join.same_window.rows import NEWEST
from panewise.engine.join.two_sides import FLOOR
from panewise.engine.windows.evolution import converted_windows
from panewise.spec import JoinOperator
from panewise.spec.aggregates.functions import max as max_
from panewise.spec.operators.join.windowing import ROW_NUMBER, window_operator


def take_over(operator: SameWindowEngine, old: JoinOperator, clocks: JoinClocks) -> MatchTakeOver:
    """Returns the horizons of the tables, how that of the windows is converted, and the floor."""
    before, own = window_operator(old, max_(ROW_NUMBER).alias(NEWEST)), of_windows(clocks)
    horizon, tables = (
        own.horizon(before),
        {WINDOWS: partial(converted_windows, operator.windows, before, own)},
    )
    changes = operator.windows.spec.allowed_lateness != before.allowed_lateness
    fields = {FLOOR: horizon} if changes and horizon is not None and not own.finished else {}
    return operator.horizons_at(horizon), tables, fields
