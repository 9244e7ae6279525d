"""Windowed streams, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.family_parts import Inspection, TableReader
from panewise.engine.join.match_engine import MatchEngine, keys_of_side, stored_rows
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.streams.clocks import StreamsState, read_streams_clocks
from panewise.engine.join.streams.gate import ReleaseGate
from panewise.engine.join.streams.releases import waiting_name
from panewise.engine.join.streams.windows import identity, listed
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.streams import WindowedStreams


def _inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that wait, and the released rows that can match (41.5)."""
    clocks, match, rows = read_streams_clocks(header), spec.match, []
    assert isinstance(match, WindowedStreams)
    for side, window in match.windows.items():
        names = keys_of_side(spec, side)
        columns = [*names, TIME, NUMBER, END]
        released = read(side, columns, identity(window), [], clocks.table_horizon(spec, side), names)
        waiting = read(waiting_name(side), columns, [NUMBER], [], None, names)
        if released.width:
            released = listed(released, window, names, clocks.listed_from(spec, side))
        rows += [(side, released), (side, waiting)]
    return stored_rows(spec, clocks, rows)


PARTS = MatchEngine(
    operator=JoinEngine,
    method=ReleaseGate,
    state=StreamsState,
    tables=lambda spec: (LEFT, RIGHT, waiting_name(LEFT), waiting_name(RIGHT)),
    inspect=_inspect,
)
