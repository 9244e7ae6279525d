"""The rest of ON as a condition of a join operator: comparisons of columns and constants (semantics 38)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec import left, right
from panewise.spec.conditions.terms import Term
from panewise.sql.expressions.function_calls import constant
from panewise.sql.joins.open_conditions import OpenColumn
from panewise.sql.joins.side_columns import SideColumns, without_parentheses

_TERMS: Final[Mapping[Any, Callable[[Any, Any], Any]]] = {
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
    exp.And: lambda a, b: a & b,
    exp.Or: lambda a, b: a | b,
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
}


def row_condition(nodes: list[exp.Expr], columns: SideColumns) -> Any:
    """Returns the condition that all these expressions are true, None without any.

    Raises:
        SqlError: for an expression that such a condition cannot have.
    """
    condition = None
    for node in nodes:
        term = _term(node, columns)
        condition = term if condition is None else condition & term
    return condition


def _term(node: exp.Expr, columns: SideColumns) -> Any:
    node = without_parentheses(node)
    column, known = columns.side_of(node), constant(node)
    if column is not None:
        return left(column[1]) if column[0] == "left" else right(column[1])
    if known is not None:
        return known[0]
    if isinstance(node, exp.Column) and not node.table:
        return Term(OpenColumn("left", node.name))
    try:
        return _operation(node, columns)
    except (TypeError, AttributeError):
        rule = "each comparison in ON of an outer join reads a column"
        raise _fail(node, columns, "a comparison of constants", rule, "leave it out") from None


def _operation(node: exp.Expr, columns: SideColumns) -> Any:
    if isinstance(node, exp.Not):
        return ~_term(node.this, columns)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return _term(node.this, columns).is_null()
    if isinstance(node, exp.NullSafeEQ):
        return _term(node.this, columns).eq_null_safe(_term(node.expression, columns))
    listed = [constant(value) for value in node.expressions] if isinstance(node, exp.In) else []
    if listed and None not in listed:
        return _term(node.this, columns).is_in([value[0] for value in listed if value is not None])
    if isinstance(node, exp.Between):
        value = _term(node.this, columns)
        low, high = _term(node.args["low"], columns), _term(node.args["high"], columns)
        return value.between(low, high)
    if type(node) in _TERMS:
        return _TERMS[type(node)](_term(node.this, columns), _term(node.expression, columns))
    computed = columns.computed_of(node)
    if computed is not None:
        return left(computed[1]) if computed[0] == "left" else right(computed[1])
    rule = "ON of an outer join compares columns of its tables and constants"
    remedy = "compute it in a query in FROM; columns have the names of their tables"
    text = columns.parser.characters_of(node)
    raise _fail(node, columns, text, rule, remedy)


def _fail(node: exp.Expr, columns: SideColumns, given: str, rule: str, remedy: str) -> SqlError:
    return columns.parser.fail(given, rule, remedy, columns.parser.span_of(node))
