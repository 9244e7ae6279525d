"""Calls of functions and operators in a parsed expression."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from panewise.errors import SqlError
from panewise.sql.expressions.functions import is_aggregate
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import TextSpan

NOW: Final = ("proctime", "now", "current_timestamp", "localtimestamp")
_WITHOUT_PARENTHESES = frozenset(
    {"current_date", "current_timestamp", "current_time", "current_user", "session_user", "user"}
    | {"localtimestamp", "localtime", "current_catalog", "current_database", "current_schema"}
)
OPERATORS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
}


# Spark's functions that are casts.
CASTS: Final = frozenset(
    {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "date", "timestamp"}
)


@dataclass(frozen=True)
class CallSyntax:
    """A call as it is written: the arguments with their characters, and what follows the parenthesis."""

    name: str
    arguments: tuple[exp.Expr, ...]
    distinct: bool
    condition: exp.Expr | None
    ignore_nulls: bool
    within: exp.Expr | None
    span: TextSpan


def function_name(node: exp.Expr) -> str | None:
    """Returns the name of a called function in lower case, None if the node is no call."""
    if not isinstance(node, exp.Anonymous):
        return None
    this = node.this
    return str(this.name if isinstance(this, exp.Expr) else this).lower()


def aggregate_call(node: exp.Expr, parser: QueryParser) -> CallSyntax | None:
    """Returns the call of an aggregate, None if the node is none.

    Raises:
        SqlError: for what cannot follow a call.
    """
    condition = within = None
    ignore = False
    inner = node
    while isinstance(inner, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
        if isinstance(inner, exp.Filter):
            condition = inner.expression.this
        elif isinstance(inner, exp.WithinGroup):
            within = inner.expression
        elif isinstance(inner, exp.IgnoreNulls):
            ignore = True
        inner = inner.this
    name = function_name(inner)
    if name is None or not is_aggregate(name):
        return None
    arguments, distinct = tuple(inner.expressions), False
    ignore = ignore or any(isinstance(argument, exp.IgnoreNulls) for argument in arguments)
    arguments = tuple(_without_nulls(argument) for argument in arguments)
    _check_arguments(name, arguments, node, parser)
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        arguments, distinct = tuple(arguments[0].expressions), True
    return CallSyntax(name, arguments, distinct, condition, ignore, within, parser.span_of(node))


def _check_arguments(name: str, arguments: tuple[exp.Expr, ...], node: exp.Expr, parser: QueryParser) -> None:
    """Refuses an order of the rows, and DISTINCT after the first argument."""
    for argument in arguments:
        if isinstance(argument, (exp.Order, exp.Limit, exp.HavingMax)):
            rule = "the rows of an aggregate come in the order of their arrival"
            raise parser.fail(f"{name} with an order", rule, "use max_by or min_by", parser.span_of(node))
    if len(arguments) > 1 and any(isinstance(argument, exp.Distinct) for argument in arguments):
        rule = "DISTINCT stands before the first argument"
        raise parser.fail(name, rule, f"write {name}(DISTINCT ...)", parser.span_of(node))


def _without_nulls(node: exp.Expr) -> exp.Expr:
    """Returns an argument without IGNORE NULLS or RESPECT NULLS after it."""
    return node.this if isinstance(node, (exp.IgnoreNulls, exp.RespectNulls)) else node


def inner_call(node: exp.Expr) -> exp.Expr:
    """Returns a call without FILTER, IGNORE NULLS and RESPECT NULLS after it."""
    while isinstance(node, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        node = node.this
    return node


def constant(node: exp.Expr) -> tuple[Any] | None:
    """Returns the value of a constant in a tuple, None for another expression.

    >>> constant(exp.Literal.number("0.5")), constant(exp.column("v"))
    ((0.5,), None)
    """
    if isinstance(node, exp.Boolean):
        return (bool(node.this),)
    if isinstance(node, exp.Null):
        return (None,)
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None or isinstance(inner[0], (str, bool, type(None))) else (-inner[0],)
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return (node.this,)
    try:
        return (int(node.this),) if node.this.isdigit() else (float(node.this),)
    except ValueError:
        return None


def column_name(node: exp.Expr, aliases: frozenset[str]) -> str | None:
    """Returns the name of a plain column, which may stand after the name of its table; else None.

    >>> known = frozenset({"t"})
    >>> column_name(exp.column("v", "t"), known), column_name(exp.column("v", "s"), known)
    ('v', None)
    """
    if not isinstance(node, exp.Column) or node.args.get("db") is not None:
        return None
    if not isinstance(node.this, exp.Identifier):
        return None
    if not node.table:
        plain = node.this.quoted or node.name.lower() not in _WITHOUT_PARENTHESES
        return node.name if plain else None
    return node.name if node.table.lower() in aliases else None


def plain_name(node: exp.Expr, aliases: frozenset[str]) -> str:
    """Returns the name of a plain column in lower case, an empty text for another expression.

    >>> plain_name(exp.column("V"), frozenset()), plain_name(exp.Null(), frozenset())
    ('v', '')
    """
    return (column_name(node, aliases) or "").lower()


def is_arrival(terms: Sequence[exp.Expr]) -> bool:
    """Returns whether ORDER BY has one term, PROCTIME() or what means the same: the order of arrival."""
    if len(terms) != 1:
        return False
    node = terms[0].this
    bare = isinstance(node, exp.Column) and not node.this.quoted and node.name.lower() in NOW[2:]
    return bare or function_name(node) in NOW


def is_interval(node: exp.Expr) -> bool:
    """Returns whether an expression is an interval, such as INTERVAL '1' HOUR."""
    return node.key == "interval"


def columns_in(node: exp.Expr) -> Iterator[exp.Column]:
    """Yields the columns in an expression."""
    return node.find_all(exp.Column)


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the conditions that AND connects."""
    if isinstance(node, exp.Paren) and isinstance(node.unnest(), exp.And):
        node = node.unnest()
    if isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    else:
        yield node


def has_aggregate(node: exp.Expr) -> bool:
    """Returns whether there is an aggregate in an expression, outside functions over windows."""
    if isinstance(node, exp.Window):
        return any(map(has_aggregate, inner_call(node.this).iter_expressions()))
    name = function_name(node)
    if name is not None and is_aggregate(name):
        return True
    return not isinstance(node, exp.Query) and any(map(has_aggregate, node.iter_expressions()))


def windows_in(node: exp.Expr) -> list[exp.Window]:
    """Returns the functions over windows in an expression."""
    return list(node.find_all(exp.Window))


def check_no_window(node: exp.Expr, parser: QueryParser, where: str) -> None:
    """Refuses functions over windows.

    Raises:
        SqlError: if there is one.
    """
    windows = windows_in(node)
    if windows:
        error: SqlError = parser.fail(
            f"OVER in {where}",
            "functions over windows are computed after it",
            "compute it in a query in FROM",
            parser.span_of(windows[0]),
        )
        raise error
