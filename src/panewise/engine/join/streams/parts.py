"""Windowed streams, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.family_parts import TableReader
from panewise.engine.join.match_engine import MatchEngine, RowsOfSides, keys_of_side
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.streams.clocks import StreamsClocks, StreamsState, read_streams_clocks
from panewise.engine.join.streams.gate import ReleaseGate
from panewise.engine.join.streams.released_rows import rows_that_match
from panewise.engine.join.streams.releases import waiting_name
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.streams import WindowedStreams


def _live(spec: JoinOperator, clocks: StreamsClocks, read: TableReader) -> RowsOfSides:
    """Yields the rows that wait for their release, and the released rows that can match (41.5)."""
    assert isinstance(spec.match, WindowedStreams)
    for side, window in spec.match.windows.items():
        keys = keys_of_side(spec, side)
        columns = [*keys, TIME, NUMBER]
        released = read(side, columns, [], clocks.table_horizon(spec, side), keys)
        if released.width:
            yield side, rows_that_match(released, window, keys, clocks.listed_from(spec, side))
        yield side, read(waiting_name(side), columns, [NUMBER], None, keys)  # released rows are deleted


PARTS = MatchEngine(
    operator=JoinEngine,
    method=ReleaseGate,
    state=StreamsState,
    clocks=read_streams_clocks,
    live=_live,
    tables=lambda spec: (LEFT, RIGHT, waiting_name(LEFT), waiting_name(RIGHT)),
)
