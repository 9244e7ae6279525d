"""Recognizes a Top-N: a limit on ROW_NUMBER in an outer query, or in QUALIFY."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeGuard

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import conjuncts, constant, function_name, windows_in
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Derived, Emit, Expr, Query, Select, SelectItem
from panewise.sql.stages import OutputColumn, Ties
from panewise.sql.text.pieces import normal, replaced

FUNCTIONS: Final = ("row_number", "rank", "dense_rank")
_RANK: Final = "rank of the row"


@dataclass(frozen=True)
class Pattern:
    """A Top-N as it is written.

    Attributes:
        inner: the SELECT with ROW_NUMBER.
        window: the call of ROW_NUMBER, with OVER.
        rank: the name of its column, None if it is not selected.
        n: the number of rows.
        rest: the condition of the outer query without the limit, None if there is none.
        alias: the name of the inner query in the outer one.
        items: the SELECT list of the outer query.
        names: the columns of its result, if the inner SELECT has further ones.
        hidden: whether the result does not have the column `rank`, which its condition alone reads.
        emit: the EMIT clause.
    """

    inner: Select
    window: exp.Window
    rank: str | None
    n: int
    rest: str | None
    alias: str | None
    items: tuple[SelectItem, ...] | None
    emit: Emit | None
    names: tuple[str, ...] | None = None
    hidden: bool = False

    @property
    def function(self) -> str:
        """What numbers the rows: "row_number", "rank" or "dense_rank"."""
        return function_name(self.window.this) or ""

    @property
    def ties(self) -> Ties | None:
        """How RANK and DENSE_RANK rank equal rows, any number of which may be the first n; else None."""
        return None if self.function == "row_number" else Ties(self.function, self.n)

    def outputs(self, parser: QueryParser) -> tuple[OutputColumn, ...] | None:
        """Returns the SELECT list of the outer query, None for all columns."""
        if self.names is not None:
            return tuple(OutputColumn(in_backticks(name), name, name) for name in self.names)
        if self.hidden:
            text = f"* EXCEPT ({in_backticks(self.rank or '')})"
            return (OutputColumn(text, None, text),)
        items = self.items
        if items is None or [parser.characters(item.expr.span) for item in items] == ["*"]:
            return None
        texts = ((parser.characters(item.expr.span), item.name) for item in items)
        return tuple(OutputColumn(text, name, text) for text, name in texts)


def pattern_of(select: Select, emit: Emit | None, parser: QueryParser) -> Pattern | None:
    """Returns the Top-N that a SELECT is, None if it is none."""
    if select.group is not None or select.having is not None or select.distinct or select.others:
        return None
    if select.qualify is not None:
        return _of_qualify(select, emit, parser)
    source = select.source
    if not isinstance(source, Derived) or select.where is None or source.columns:
        return None
    query = source.query
    inner = query.body
    if not isinstance(inner, Select) or query.ctes or query.tail or inner.qualify or inner.group:
        return None
    for item in inner.items:
        if item.alias is None or not is_row_number(item.expr.node):
            continue
        limit = _limit(select.where, _reads(item.alias), parser)
        if limit is not None:
            emit, items = emit or query.emit, select.items
            hidden = _without_rank(items, item.alias, parser) and not _is_read(item.alias, limit[1])
            rank, shown = (None, None) if hidden else (item.alias, items)
            return Pattern(inner, item.expr.node, rank, *limit, source.alias, shown, emit)
    return None


def pattern_is_possible(query: Query) -> bool:
    """Returns whether a query numbers rows, so that one over it may be a Top-N."""
    body = query.body
    return isinstance(body, Select) and any(is_row_number(item.expr.node) for item in body.items)


def is_row_number(node: exp.Expr) -> TypeGuard[exp.Window]:
    """Returns whether an expression is ROW_NUMBER, RANK or DENSE_RANK over a window, without a frame."""
    return (
        isinstance(node, exp.Window)
        and function_name(node.this) in FUNCTIONS
        and "spec" not in {name for name, value in node.args.items() if value}
    )


def is_column(node: exp.Expr, name: str) -> bool:
    """Returns whether an expression is a column of this name."""
    return isinstance(node, exp.Column) and node.name.lower() == name.lower()


def same_text(node: exp.Expr, other: exp.Expr, parser: QueryParser) -> bool:
    """Returns whether two expressions are written alike, but for spaces and case."""
    return normal(parser.characters_of(node)) == normal(parser.characters_of(other))


def _reads(name: str) -> Callable[[exp.Expr], bool]:
    return lambda node: is_column(node, name)


def _without_rank(items: tuple[SelectItem, ...], rank: str, parser: QueryParser) -> bool:
    """Returns whether a SELECT list is `* EXCEPT (rank)`."""
    text = parser.characters(items[0].span) if len(items) == 1 else ""
    return bool(re.fullmatch(rf"\*\s*EXCEPT\s*\(\s*`?{re.escape(rank)}`?\s*\)", text, re.IGNORECASE))


def _is_read(name: str, condition: str | None) -> bool:
    """Returns whether a condition has a column of this name."""
    return name.lower() in {token.text.lower() for token in tokens_of(condition or "")}


def _of_qualify(select: Select, emit: Emit | None, parser: QueryParser) -> Pattern | None:
    assert select.qualify is not None
    calls = [node for node in windows_in(select.qualify.node) if is_row_number(node)]
    window = calls[0] if calls else None
    rank = None
    for name, expr in select.aliases.items():
        node = expr.node
        if is_row_number(node) and (window is None or same_text(node, window, parser)):
            window, rank = node, name
    if window is None:
        return None

    def is_rank(node: exp.Expr) -> bool:
        called = isinstance(node, exp.Window) and is_row_number(node)
        return called or (rank is not None and is_column(node, rank))

    limit = _limit(select.qualify, is_rank, parser, rank or _RANK)
    if limit is None:
        return None
    hidden = rank is None and _is_read(_RANK, limit[1])
    inner, column = replace(select, qualify=None), _RANK if hidden else rank
    pattern = Pattern(inner, window, column, *limit, None, None, emit, hidden=hidden)
    return pattern if limit[1] is None else _with_rest(pattern, select.qualify, is_rank, parser)


def _with_rest(
    pattern: Pattern, qualify: Expr, is_rank: Callable[[exp.Expr], bool], parser: QueryParser
) -> Pattern | None:
    """Returns a Top-N whose rows have a further condition, None if that reads another function over a window.

    The inner SELECT also has the columns that only the condition reads.
    """
    others = [part for part in conjuncts(qualify.node) if _bound(part, is_rank) is None]
    if any(windows_in(part) for part in others):
        return None
    items = pattern.inner.items
    if any(item.is_star for item in items):
        return pattern
    names = [item.alias or item.expr.node.name for item in items]
    known, further = {name.lower() for name in names}, list[SelectItem]()
    for node in (column for part in others for column in part.find_all(exp.Column)):
        if node.name.lower() not in known:
            known.add(node.name.lower())
            span = parser.span_of(node)
            further.append(SelectItem(Expr(node, span), None, span))
    if not further and not pattern.hidden:
        return pattern
    inner = replace(pattern.inner, items=(*items, *further))
    return replace(pattern, inner=inner, names=tuple(names))


def _limit(
    where: Expr, is_rank: Callable[[exp.Expr], bool], parser: QueryParser, column: str | None = None
) -> tuple[int, str | None] | None:
    """Returns n and the other parts of a condition with a part `rank <= n`; None without such a part.

    In the other parts the column of the rank stands in the places of its calls.
    """
    parts = list(conjuncts(where.node))
    for number, part in enumerate(parts):
        n = _bound(part, is_rank)
        if n is not None and n > 0:
            alone = not _is_from_first(part, n)
            others = [other for place, other in enumerate(parts) if alone or place != number]
            return n, " AND ".join(_with_column(other, column, parser) for other in others) or None
    return None


def _with_column(node: exp.Expr, column: str | None, parser: QueryParser) -> str:
    """Returns the characters of a condition, with a column in the places of calls that number rows."""
    calls = [call for call in windows_in(node) if column is not None and is_row_number(call)]
    changes = {parser.span_of(call): in_backticks(column or "") for call in calls}
    return replaced(parser.sql, parser.span_of(node), changes)


def _greatest(values: list[tuple[Any] | None]) -> int | None:
    """Returns the greatest of constants that are ranks, None if one is none."""
    known = [value[0] for value in values if value is not None]
    ranks = [value for value in known if isinstance(value, int) and not isinstance(value, bool)]
    return max(ranks) if ranks and len(ranks) == len(values) and min(ranks) > 0 else None


def _is_from_first(part: exp.Expr, n: int) -> bool:
    """Returns whether a limit has all rows up to the n-th: not `rank = 2`, `BETWEEN 2 AND 3` or IN."""
    if isinstance(part, exp.Between):
        return bool(constant(part.args["low"]) == (1,))
    return not isinstance(part, exp.In) and (n == 1 or not isinstance(part, exp.EQ))


def _is_ranking(node: exp.Expr) -> bool:
    """Returns whether a number is that of a Top-N: a column, or a call in descending order.

    A call in ascending order may be that of the event time, which functions over windows have.
    """
    order = node.args.get("order")
    return isinstance(node, exp.Column) or (order is not None and bool(order.expressions[0].args.get("desc")))


def _bound(node: exp.Expr, is_rank: Callable[[exp.Expr], bool]) -> int | None:
    """Returns n of `rank <= n`, `rank < n + 1`, `rank = n`, mirrored ones, BETWEEN m AND n, and IN."""
    if isinstance(node, exp.In) and is_rank(node.this) and _is_ranking(node.this):
        return _greatest([constant(value) for value in node.expressions])
    if isinstance(node, exp.Between) and is_rank(node.this):
        low = _greatest([constant(node.args["low"])])
        if low is None or (low > 1 and not _is_ranking(node.this)):
            return None
        node = exp.LTE(this=node.this, expression=node.args["high"])
    if not isinstance(node, (exp.LTE, exp.LT, exp.EQ, exp.GTE, exp.GT)):
        return None
    left, right = node.this, node.expression
    kind: type[exp.Expr] = type(node)
    if is_rank(right):
        mirrored: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ}
        left, right, kind = right, left, mirrored.get(kind, exp.NEQ)
    known = constant(right)
    if not is_rank(left) or known is None or not isinstance(known[0], int) or isinstance(known[0], bool):
        return None
    if kind is exp.EQ:
        return known[0] if known[0] == 1 or _is_ranking(left) else None
    greatest: dict[type[exp.Expr], int] = {exp.LTE: known[0], exp.LT: known[0] - 1}
    return greatest.get(kind)
