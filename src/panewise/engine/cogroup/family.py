"""Cogroups, as :class:`panewise.engine.family_parts.EngineParts`.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

The fields `right` and `window` distinguish the specification. The tables are those of a window operator
of the rows of both sides, whose columns have other names:

- `row:key:0`, `row:key:1`, ...: the keys
- `row:time`, `row:number`: the event time, and the place of the row among all valid rows that the shard
  has received
- `left:number`, `right:number`: `row:number` of a row of this side, else null; `first` and `last` of a
  side are `min_by` and `max_by` by it
- `left:value:NAME`, `left:struct:NAME`, and of right: the column NAME of a row of this side, else null;
  as a struct with the field `value`, for user-defined aggregates
- `left:own`, `right:own`: true in a row of this side, else null; for `first_n`, `last_n` and
  `collect_list` with nulls
- `both:N:LEFT:RIGHT`: a struct of `is_left`, `left` and `right`, for aggregates of both sides; N is the
  length of LEFT
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from panewise.engine.cogroup.plan import HEADER, CogroupPlan
from panewise.engine.columns import key_columns
from panewise.engine.family_parts import (
    Division,
    EngineParts,
    Inspection,
    TableReader,
    TakeOver,
    engine_parts,
    on_call,
)
from panewise.engine.join.two_sides import HEADER_RULES, inspected_windows, read_clocks
from panewise.engine.merged_header import HeaderRules
from panewise.engine.nested.state import header_in
from panewise.engine.windows import family as of_windows
from panewise.spec import CogroupOperator
from panewise.spec.operators.cogroup.windowing import window_operator
from panewise.spec.operators.join.windowing import row_keys

if TYPE_CHECKING:
    from panewise.engine.cogroup.operator import CogroupEngine


def tables(spec: CogroupOperator) -> tuple[str, ...]:
    """Returns the names of the tables of the windows."""
    windows = window_operator(spec)
    return engine_parts(windows).tables(windows)


def inspect(spec: CogroupOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the live windows, with the keys of the left side."""
    windows = window_operator(spec)
    inspection = engine_parts(windows).inspect(windows, header_in(HEADER, header), read)
    return inspected_windows(spec, read_clocks(header), inspection)


def take_over(operator: "CogroupEngine", old: CogroupOperator, header: Mapping[str, Any]) -> TakeOver:
    """Returns how a cogroup takes over a state of another one, which is that of its windows (47.13)."""
    how: TakeOver = of_windows.take_over(operator.windows, window_operator(old), header_in(HEADER, header))
    return TakeOver({**header, HEADER: how.header}, how.horizons, how.tables)


def division(operator: "CogroupEngine") -> dict[str, Division]:
    """Returns how the tables of the windows are divided: by all keys.

    The numbers of rows are compared within a window only.
    """
    keys = tuple(key_columns(row_keys(operator.spec.keys)))
    tables = engine_parts(operator.windows.spec).division(operator.windows)
    return {name: replace(table, keys=keys) for name, table in tables.items()}


def header_rules(spec: CogroupOperator) -> HeaderRules:
    """Returns how the headers of shards become one: the sides have fields, and the windows a header."""
    windows = window_operator(spec)
    return replace(HEADER_RULES, nested={HEADER: engine_parts(windows).header_rules(windows)})


PARTS: Final = EngineParts(
    compile=CogroupPlan,
    operator=on_call("panewise.engine.cogroup.operator:CogroupEngine"),
    tables=tables,
    inspect=inspect,
    take_over=take_over,
    division=division,
    header_rules=header_rules,
)
