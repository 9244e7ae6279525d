"""How the tables of joins are divided among shards.

Rows have numbers that are unique within their shard. If rows of several shards come together, the numbers of
each shard are raised by as many as the shards before it have counted. So their order within a shard stays,
and with it that of the rows of each key. The match says which columns have numbers, and what counts them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from panewise.engine.columns import NUMBER, key_columns
from panewise.engine.family_parts import Division
from panewise.engine.join.batch.emission import matches_name
from panewise.engine.join.match_engine import match_engine
from panewise.engine.join.two_sides import JoinState
from panewise.engine.protocol import Operator, OperatorState
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, SIDES
from panewise.spec.operators.join.windowing import row_keys


def division(operator: Operator) -> dict[str, Division]:
    """Returns how the tables of a join are divided: by all keys."""
    return divided(operator, {side: port.keys for side, port in operator.plan.ports.items()})


def divided(operator: Operator, keys: Mapping[str, Sequence[str]]) -> dict[str, Division]:
    """Returns how the tables of a join are divided, by some of the keys of each side."""
    spec, names = operator.spec, operator.plan.ports[LEFT].keys
    assert isinstance(spec, JoinOperator)
    of_windows = key_columns(row_keys(spec.keys))
    shared = tuple(of_windows[names.index(key)] for key in keys[LEFT])
    numbers = match_engine(spec.match).numbers
    tables = {}
    for name, table in operator.state.tables.items():
        side = _side_of(name)
        counters = {column: by for column, by in numbers(name).items() if column in table.shape.schema}
        divided_by = Division(shared if side is None else tuple(keys[side]), counters)
        tables[name] = _with_owner(name, divided_by)
    return tables


def settled(state: OperatorState) -> JoinState:
    """Returns the state of a join after its tables were divided, with what the header says of their rows."""
    assert isinstance(state, JoinState)
    return state.settled()


def _side_of(table: str) -> str | None:
    """Returns the side whose rows a table has, None if it has windows."""
    return next((side for side in SIDES if table.partition(" ")[0] == side), None)


def _with_owner(table: str, division: Division) -> Division:
    """Returns the division of a table. Matches follow the rows that they are of."""
    side = next((side for side in SIDES if table == matches_name(side)), None)
    return division if side is None else replace(division, keys=(), owner=side, by_owner=NUMBER)
