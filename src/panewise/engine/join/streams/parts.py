"""Windowed streams, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.family_parts import TableReader
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.match_engine import MatchEngine, RowsOfSides, keys_of_side
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.streams.clocks import (
    RELEASED,
    WAITING,
    StreamsClocks,
    StreamsState,
    lowest_of_shards,
    read_streams_clocks,
    waiting_name,
)
from panewise.engine.join.streams.gate import ReleaseGate
from panewise.engine.join.streams.released_rows import rows_that_match
from panewise.engine.join.two_sides import HEADER_RULES, NEXT_NUMBER
from panewise.engine.merged_header import by_side
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.streams import WindowedStreams

_WAITING_TABLES: Final = (waiting_name(LEFT), waiting_name(RIGHT))


def _live(spec: JoinOperator, clocks: JoinClocks, read: TableReader) -> RowsOfSides:
    """Yields the rows that wait for their release, and the released rows that can match (41.5)."""
    assert isinstance(spec.match, WindowedStreams)
    assert isinstance(clocks, StreamsClocks)
    for side, window in spec.match.windows.items():
        keys = keys_of_side(spec, side)
        columns = [*keys, TIME, NUMBER]
        released = read(side, columns, [], clocks.table_horizon(spec, side), keys)
        if released.width:
            yield side, rows_that_match(released, window, keys, clocks.listed_from(spec, side))
        yield side, read(waiting_name(side), columns, [NUMBER], None, keys)  # released rows are deleted


def _numbers(table: str) -> Mapping[str, str]:
    """Returns the columns with numbers. Released rows are numbered anew, by their release."""
    return {NUMBER: NEXT_NUMBER if table in _WAITING_TABLES else RELEASED}


PARTS = MatchEngine(
    operator=JoinEngine,
    method=ReleaseGate,
    state=StreamsState,
    clocks=read_streams_clocks,
    live=_live,
    tables=lambda spec: (LEFT, RIGHT, *_WAITING_TABLES),
    numbers=_numbers,
    header_rules=replace(
        HEADER_RULES,
        fields={**HEADER_RULES.fields, WAITING: by_side(lowest_of_shards)},
        counters=(*HEADER_RULES.counters, RELEASED),
    ),
)
