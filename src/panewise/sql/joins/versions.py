"""A query with the newest row of each key, as the versions of a table (semantics 46.30)."""

from dataclasses import replace

from sqlglot import exp

from panewise.sql.expressions.function_calls import column_name
from panewise.sql.first_rows.pattern import is_row_number, pattern_of
from panewise.sql.over.named_windows import described
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Query, Select


def versions_of(query: Query, parser: QueryParser) -> tuple[Select, str] | None:
    """Returns the versions whose newest ones a query has, None if it has no such rows.

    It is a query with `ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) = 1`. FOR SYSTEM_TIME AS OF reads
    which row was the newest one at a time, so it needs all of them: the SELECT of all these rows is returned,
    with the column of their event times. Each row is the version of its key until the next one.
    """
    if not isinstance(query.body, Select) or query.ctes or query.tail or query.emit is not None:
        return None
    pattern = pattern_of(query.body, None, parser)
    if pattern is None or pattern.n != 1 or pattern.rest is not None:
        return None
    order = described(pattern.window, pattern.inner.windows, parser).args.get("order")
    ordered = order.expressions if order is not None else []
    if len(ordered) != 1 or not ordered[0].args.get("desc"):
        return None
    time = column_name(ordered[0].this, frozenset())
    items = tuple(item for item in pattern.inner.items if not is_row_number(item.expr.node))
    if time is None or any(isinstance(item.expr.node, exp.Window) for item in items):
        return None
    return replace(pattern.inner, items=items, windows=(), windows_span=None), time
