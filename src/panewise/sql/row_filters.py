"""Which emitted rows a text of SQL writes: conditions and SELECT lists, over the columns of the operator.

A condition after a SELECT list reads its names. In the conditions here the expressions of the list stand for
them, so conditions can be compared that are written at different places.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from sqlglot import exp
from sqlglot.errors import ParseError

from panewise.errors import SqlError
from panewise.spec.conditions.text import in_backticks
from panewise.spec.row_filter import RowCondition, RowFilter
from panewise.sql.expressions.function_calls import columns_in, conjuncts, function_name
from panewise.sql.parsing.parser import QueryParser, parse_expression
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.stage_columns import is_star
from panewise.sql.stages import OutputColumn, Ranked, SingleInputStage, WindowsStage
from panewise.sql.text.pieces import normal, one_line, replaced

_NULL_SAFE: Final = frozenset({"coalesce", "ifnull", "nvl", "nvl2", "isnull", "isnotnull"})


def of_stage(stage: SingleInputStage, outputs: Iterable[OutputColumn] | None) -> RowFilter:
    """Returns the filter of a stage: HAVING or QUALIFY, its SELECT list, and the places of a Top-N."""
    ranked = stage.ranked if isinstance(stage, WindowsStage) else None
    rows = RowFilter() if ranked is None else with_places(RowFilter(), ranked)
    rows = with_condition(rows, stage.having, stage.alias)
    return with_columns(rows, outputs) if outputs else rows


def with_condition(rows: RowFilter, condition: str | None, table: str | None = None) -> RowFilter:
    """Returns the filter with one more condition over its rows. `table` may stand before their columns.

    >>> filter = with_columns(RowFilter(), [OutputColumn("`n` * 2", "twice", "n * 2")])
    >>> [part.text for part in with_condition(filter, "t.twice > 1 AND k = 'a'", "t").conditions]
    ['(`n` * 2) > 1', "k = 'a'"]
    """
    rows = rows if table is None else replace(rows, tables=rows.tables | {table.lower()})
    if condition is None:
        return rows
    text = _over_rows(rows, condition)
    try:
        expr, parser = parse_expression(text)
    except (ParseError, SqlError):  # what only Spark's parser reads
        return replace(rows, conditions=(*rows.conditions, RowCondition(text, (normal(text),))))
    parts = [_condition(rows, part, parser) for part in conjuncts(expr.node)]
    return replace(rows, conditions=(*rows.conditions, *parts))


def with_columns(rows: RowFilter, outputs: Iterable[OutputColumn]) -> RowFilter:
    """Returns the filter of the rows of a SELECT list."""
    columns = tuple(outputs)
    selected = dict(rows.selected) if any(map(is_star, columns)) else {}
    selected |= {
        (column.name or column.original).lower(): _over_rows(rows, column.text)
        for column in columns
        if not is_star(column)
    }
    return replace(rows, selected=selected)


def with_places(rows: RowFilter, ranked: Ranked) -> RowFilter:
    """Returns the filter of the rows of a Top-N, which are in lists."""
    ties, lists = ranked.ties, ranked.lists if ranked.ties is None else (*ranked.lists, *ranked.ties.lists)
    limits: tuple[RowCondition, ...] = ()
    if ties is not None:
        text = f"{ties.function} <= {ties.n}"
        limits = (RowCondition(text, (text,)),)
    others = {name.lower(): _over_rows(rows, text) for name, text in ranked.others}
    unnested = (*rows.unnested, *map(str.lower, lists))
    return replace(rows, conditions=(*rows.conditions, *limits), unnested=unnested, selected=others)


def _over_rows(rows: RowFilter, text: str) -> str:
    """Returns an expression over emitted rows, given one over the rows of a SELECT list."""
    if not rows.selected:
        return text
    try:
        expr, parser = parse_expression(text)
    except (ParseError, SqlError):
        return text
    changes: dict[TextSpan, str] = {}
    for node in columns_in(expr.node):
        name, *fields = _parts(rows, node)
        known = rows.selected.get(name.lower())
        if known is not None:
            base = known if known.isidentifier() or _is_quoted(known) else f"({known})"
            changes[parser.span_of(node)] = "".join([base, *(f".{in_backticks(part)}" for part in fields)])
    return replaced(text, TextSpan(0, len(text)), changes)


def _is_quoted(text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]


def _condition(rows: RowFilter, node: exp.Expr, parser: QueryParser) -> RowCondition:
    """Returns a part of a condition over emitted rows."""
    spans = ((parser.span_of(_in_parentheses(column)), column) for column in columns_in(node))
    places = sorted(spans, key=lambda place: place[0].start)
    span, changes = parser.span_of(node), dict[TextSpan, str]()
    for number, (place, column) in enumerate(places):
        fields = "".join(f".{in_backticks(part)}" for part in _parts(rows, column)[1:])
        changes[place] = f"`\x01{number}\x01`{fields}"
    pieces = re.split(r"\x01\d+\x01", normal(replaced(parser.sql, span, changes)))
    columns = tuple(_column(rows, column) for _, column in places)
    safe = frozenset(_column(rows, column) for _, column in places if _is_null_safe(column))
    return RowCondition(one_line(parser.characters(span)), tuple(pieces), columns, safe)


def _in_parentheses(node: exp.Expr) -> exp.Expr:
    """Returns an expression with the parentheses around it."""
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node


def _parts(rows: RowFilter, node: exp.Column) -> list[str]:
    """Returns the names of a column and of its fields, without that of its table."""
    names = [part.name for part in node.parts]
    return names[1:] if len(names) > 1 and names[0].lower() in rows.tables else names


def _column(rows: RowFilter, node: exp.Column) -> str:
    return _parts(rows, node)[0].lower()


def _is_null_safe(node: exp.Column) -> bool:
    """Returns whether an expression around a column says what null means."""
    around: exp.Expr | None = node.parent
    while around is not None:
        if isinstance(around, (exp.Is, exp.NullSafeEQ)) or function_name(around) in _NULL_SAFE:
            return True
        around = around.parent
    return False
