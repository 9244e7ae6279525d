"""How the tables of joins are divided among shards.

Rows have numbers that are unique within their shard. If rows of several shards come together, the numbers of
each shard are raised by as many as the shards before it have counted. So their order within a shard stays,
and with it that of the rows of each key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from panewise.engine.columns import NUMBER, SINCE, key_columns, live_column
from panewise.engine.family_parts import Division
from panewise.engine.join.batch.emission import matches_name
from panewise.engine.join.same_window.first_panes import EARLY, IN_TIME
from panewise.engine.join.same_window.rows import NEWEST
from panewise.engine.join.streams.clocks import RELEASED, WAITING, LeastWaiting, StreamsState
from panewise.engine.join.streams.releases import waiting_name
from panewise.engine.join.two_sides import HEADER_RULES, JoinState
from panewise.engine.kernels.instants import lowest
from panewise.engine.merged_header import HeaderRules, by_side
from panewise.engine.protocol import Operator
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, SIDES
from panewise.spec.operators.join.windowing import ROW_NUMBER, row_key

_COUNTED: Final = "next_number"  # the field of the header that counts received rows
_OF_ROWS: Final = (NUMBER, SINCE)
_OF_WINDOWS: Final = (NEWEST, EARLY, IN_TIME, live_column(NEWEST), f"__max:{ROW_NUMBER}")


def division(operator: Operator) -> dict[str, Division]:
    """Returns how the tables of a join are divided: by all keys."""
    return divided(operator, {side: port.keys for side, port in operator.plan.ports.items()})


def divided(operator: Operator, keys: Mapping[str, Sequence[str]]) -> dict[str, Division]:
    """Returns how the tables of a join are divided, by some of the keys of each side."""
    names = {side: port.keys for side, port in operator.plan.ports.items()}
    of_windows = tuple(key_columns(map(row_key, range(len(operator.spec.keys)))))
    shared = tuple(of_windows[names[LEFT].index(key)] for key in keys[LEFT])
    tables = {}
    for name in operator.state.tables:
        side = _side_of(name)
        by = shared if side is None else tuple(keys[side])
        tables[name] = _with_numbers(operator, name, Division(by), _OF_ROWS if side else _OF_WINDOWS)
    return tables


def _side_of(table: str) -> str | None:
    """Returns the side whose rows a table has, None if it has windows."""
    return next((side for side in SIDES if table.partition(" ")[0] == side), None)


def _with_numbers(operator: Operator, name: str, division: Division, numbers: tuple[str, ...]) -> Division:
    """Returns the division of a table with the columns that have numbers.

    Released rows are numbered anew: their tables and those of their matches have other numbers than waiting
    rows.
    """
    releases = RELEASED in operator.header()
    counts = RELEASED if releases and name not in map(waiting_name, SIDES) else _COUNTED
    columns = operator.state.tables[name].shape.schema
    division = replace(division, numbers={column: counts for column in numbers if column in columns})
    side = next((side for side in SIDES if name == matches_name(side)), None)
    return division if side is None else replace(division, keys=(), owner=side, by_owner=NUMBER)


def header_rules(spec: JoinOperator) -> HeaderRules:
    """Returns how the headers of shards become one. Windowed streams have more fields."""
    fields = {**HEADER_RULES.fields, WAITING: by_side(_least)}
    return replace(HEADER_RULES, fields=fields, counters=(*HEADER_RULES.counters, RELEASED))


def _least(values: Sequence[Sequence[int | None]]) -> list[int | None]:
    return [lowest(column) for column in zip(*values, strict=True)]


def with_least_waiting(state: JoinState) -> JoinState:
    """Returns the state of a join, with the least values of the rows that wait in this shard."""
    return _of_streams(cast(StreamsState, state)) if WAITING in state.header() else state


def _of_streams(state: StreamsState) -> StreamsState:
    rows = {side: state.tables[waiting_name(side)].all() for side in SIDES}
    waiting = {side: LeastWaiting.of_rows(of) for side, of in rows.items()}
    return replace(state, clocks=replace(state.clocks, waiting=waiting))
