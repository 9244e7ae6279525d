"""What clauses of a SELECT say: calls of windows in GROUP BY, the event time, columns in ORDER BY."""

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import column_name
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Query, Select, TableFunction, TextSpan
from panewise.sql.text.pieces import normal
from panewise.sql.windows.chained import window_column
from panewise.sql.windows.panes import window_call


def calls_window(select: Select) -> bool:
    """Returns whether GROUP BY has a call of windows, or the name or number of a column that is one."""
    if select.group is None:
        return False
    meant = select.aliases | {str(number): item.expr for number, item in enumerate(select.items, 1)}
    exprs = list(select.group.expressions)
    if select.group.every:
        exprs += [item.expr for item in select.items]
    names = [expr.node.name.lower() for expr in exprs if isinstance(expr.node, (exp.Column, exp.Literal))]
    exprs += [meant[name] for name in names if name in meant]
    return any(window_call(expr.node) is not None for expr in exprs)


def time_of(select: Select, table: TableFunction | None, names: frozenset[str]) -> str | None:
    """Returns the column that the window of a query names as its event time."""
    if table is not None:
        return None if table.time is None else column_name(table.time.node, names)
    for expr in select.group.expressions if select.group is not None else ():
        call = window_call(expr.node)
        if call is not None and call.expressions:
            time = call.expressions[0]
            return window_column(time) or column_name(time, names)
    return None


def selected_orders(query: Query, parser: QueryParser) -> dict[TextSpan, str]:
    """Returns the names of columns in the place of expressions of ORDER BY that are these columns."""
    items = query.body.items if isinstance(query.body, Select) else ()
    names: dict[str, str] = {}
    for item in items:
        if item.name is not None:
            names.setdefault(normal(parser.characters(item.expr.span)), in_backticks(item.name))
    orders = ((expr.span, normal(parser.characters(expr.span))) for expr in query.order)
    return {span: names[text] for span, text in orders if text in names}
