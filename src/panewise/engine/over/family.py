"""OVER operators, as :class:`panewise.engine.family_parts.EngineParts`.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

- 0, waiting: a row that has not passed (29.2); identified by itself; horizon `watermark` - d - 1
- 1, recent: a row that has passed and is still needed (29.9); identified by the keys and `__slot`;
  horizon none, or without tables 3 and 4 as those
- 2, running: a key; identified by the keys; horizon none
- 3, passed: a row that has passed, and that ranges look back to; identified by itself; horizon that of
  table 0 minus r
- 4, blocks: the rows of a key that passed in one step; identified by the keys and `__end`; horizon that
  of table 0 minus r

d is the furthest that a range looks ahead, and r the furthest that one looks back (29.9). Without an
event time no table has a horizon. The tables 3 and 4 exist if ranges look back, no row waits for rows
after it, and every column with such a range is an aggregate whose range does not end before the row.
Otherwise table 1 has their rows.

- Tables 0 and 3: `__end` is the time of the row. Table 0 has the columns of the input, table 3 the keys
  and what the ranges read.
- Table 1 has the keys and what functions read; all columns, if the operator looks ahead in rows. `__slot`
  is `__number` if ranges (or frames that begin with the peers of their row, if the operator looks ahead)
  look back to this table, if rows wait for values, or if the operator looks ahead and a frame without a
  start excludes peers. Otherwise it is `__number` modulo the number of rows that the operator looks back
  and ahead together. `__end` is 2^63 - 1 while the row is needed for its place or has not been emitted,
  then the time of the row. `__rank` and `__dense` exist with ranks, if the operator looks ahead.
- Table 2: `__end` is 2^63 - 1. The n-th frame, from 0, has its partial columns under the name `__n` and
  the column, such as `__0__sum:v`, if it has no start. They cover the rows that all later rows have in
  their frames: the first max(0, `__count` - a + min(0, e + 1)), where a is how many rows the operator
  looks ahead (`__unemitted`, if rows wait for values), and e the least end of these frames; with frames
  that exclude peers without the peers of the first row that is not emitted. `__nthN` is the value of an
  `nth_value` without a start, N being the place among the row functions. `__valuesN`, for a `lag` that
  ignores nulls and for an `nth_value` that ignores nulls, excludes rows or has descending event time, has
  up to n values of these rows: the last ones for `lag` and with descending event time, else the first
  ones.
- Table 4: the rows have times after `__from` (-2^63: from the first row on) and up to `__end`. Its
  partial columns are those of the frames that are ranges that look back.

With descending event time the tables are those of the same operator in ascending order (29.13): bounds
exchange their places and signs, and `lag` and `lead` each other. The field `columns` distinguishes the
specification (that of policy windows begins with `stream_window`).
"""

from collections.abc import Mapping
from typing import Any, Final

from panewise.engine.columns import END, key_columns
from panewise.engine.family_parts import EngineParts, Inspection, TableReader, on_call, with_one_input
from panewise.engine.ingest.input_state import read_clocks
from panewise.engine.over.plan import OverPlan, passed_until
from panewise.engine.over.state import WAITING, OverState
from panewise.engine.progress.clocks import Clocks
from panewise.spec import OverOperator
from panewise.state.manifest import checked


def inspect(spec: OverOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that have not passed (semantics 29.2)."""
    clocks, keys = read_clocks(checked(header), Clocks.initial(spec)), key_columns(spec.keys)
    rows = read(WAITING, [*keys, END], [], passed_until(spec, clocks), keys if spec.keys else [END])
    return Inspection(clocks, rows, keys)


PARTS: Final = EngineParts(
    compile=with_one_input(OverPlan),
    operator=with_one_input(on_call("panewise.engine.over.operator:OverEngine")),
    tables=lambda spec: OverState.TABLES,
    inspect=inspect,
    record_rows=on_call("panewise.engine.over.records:record_rows"),
)
