"""What each match supplies for the engine: its operator, which rows are late, and what a state contains."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import polars as pl

from panewise.engine.columns import END, NUMBER, TIME, key_columns
from panewise.engine.family_parts import Conversion, Inspection, TableReader
from panewise.engine.join.batch.join_batch import LateRows, behind_horizon
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.method import Method
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.two_sides import HEADER_RULES, NEXT_NUMBER, JoinState, read_clocks
from panewise.engine.merged_header import HeaderRules
from panewise.engine.protocol import Operator, Schemas
from panewise.engine.tables.copied_tables import CopiedTables
from panewise.engine.tables.stored_table import StoredTable
from panewise.families import part
from panewise.matches import MATCHES
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.match import Match

# The horizons of the tables, how rows are converted, and fields of the header that change.
MatchTakeOver: TypeAlias = tuple[Mapping[str, int | None], Mapping[str, Conversion], Mapping[str, Any]]

RowsOfSides: TypeAlias = Iterable[tuple[str, pl.DataFrame]]  # a side may have several frames


def _of_own_operator(*_: object) -> NoReturn:
    raise AssertionError("the match has an operator of its own")


def stored_rows(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the live rows of a stored join with the keys of the left side, each at its event time."""
    of_match, keys, rows = match_engine(spec.match), key_columns(spec.keys), []
    clocks = of_match.clocks(header)
    for side, live in of_match.live(spec, clocks, read):
        if live.width:
            names = zip(keys_of_side(spec, side), keys, strict=True)
            own_keys = (pl.col(mine).alias(name) for mine, name in names)
            rows.append(live.select(*own_keys, pl.col(TIME).alias(END)))
    both = pl.concat(rows) if rows else pl.DataFrame()
    return Inspection(clocks, both, keys, ends_in_time=spec.has_event_times)


@dataclass(frozen=True, kw_only=True)
class MatchEngine:
    """What depends on the match of a join.

    Attributes:
        operator: an operator that has taken no step, given the join and the types of its columns. Matches
            with a method have the operator :class:`panewise.engine.join.operator.JoinEngine`.
        method: the method of that operator, a :class:`panewise.engine.join.method.Method`.
        state: the state of that operator, given the tables of the method.
        clocks: the clocks in a header of that state.
        live: the stored rows that have not expired and can match (semantics 41), given the join, the clocks
            and what reads the tables: their keys, time and number. Tables may have more, which no merge has
            removed yet.
        tables: the names of the tables, each at the place of its number, as far as `inspect` reads them.
        inspect: what a stored state contains that has not expired (semantics 41): by default the rows `live`.
        take_over: how a state is taken over if the match has changed, given the operator, the join before and
            the clocks: the horizons of all tables, and conversions of some. None: the match cannot change.
        record_rows: the rows of an operator of this plan as Python objects, as
            :attr:`panewise.engine.family_parts.EngineParts.record_rows`; None if it has none.
        late_rows: the rule by which rows are late, given the match.
        numbers: the columns with numbers that are unique within a shard only, given the name of a table, each
            with the field of the header that counts them. A table may lack some of them.
        header_rules: how the headers of shards become one.
    """

    operator: Callable[[JoinOperator, Schemas], Operator]
    method: Callable[[JoinPlan], Method] = _of_own_operator
    state: Callable[[dict[str, StoredTable]], JoinState] = JoinState
    clocks: Callable[[Mapping[str, Any]], JoinClocks] = read_clocks
    live: Callable[[JoinOperator, JoinClocks, TableReader], RowsOfSides] = _of_own_operator
    tables: Callable[[JoinOperator], tuple[str, ...]] = lambda spec: (LEFT, RIGHT)
    inspect: Callable[[JoinOperator, Mapping[str, Any], TableReader], Inspection] = stored_rows
    take_over: Callable[[Operator, JoinOperator, JoinClocks], MatchTakeOver] | None = None
    record_rows: Callable[[JoinPlan], CopiedTables[JoinState, JoinClocks] | None] = lambda plan: None
    late_rows: Callable[[Any], LateRows] = lambda match: behind_horizon
    numbers: Callable[[str], Mapping[str, str]] = lambda table: {NUMBER: NEXT_NUMBER}
    header_rules: HeaderRules = HEADER_RULES


def match_engine(match: Match) -> MatchEngine:
    """Returns the parts of the kind of a match."""
    engine: MatchEngine = part(MATCHES[match.kind].engine)
    return engine


def keys_of_side(spec: JoinOperator, side: str) -> list[str]:
    """Returns the key columns of the tables of a side."""
    return key_columns(spec.sides[side].keys)
