"""The SELECT list over the rows of a Top-N."""

from typing import Any

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.parser import QueryParser
from panewise.sql.stages import OutputColumn
from panewise.sql.syntax import SelectItem
from panewise.sql.top_n.pattern import Pattern


def outer_list(pattern: Pattern, parser: QueryParser) -> tuple[OutputColumn, ...] | None:
    """Returns the SELECT list of the outer query of a Top-N, None for all columns."""
    if pattern.names is not None:
        return tuple(OutputColumn(in_backticks(name), name, name) for name in pattern.names)
    if pattern.hidden:
        text = f"* EXCEPT ({in_backticks(pattern.rank or '')})"
        return (OutputColumn(text, None, text),)
    items = pattern.items
    if items is None or [parser.characters(item.expr.span) for item in items] == ["*"]:
        return None
    return tuple(_output(item, parser) for item in items)


def _output(item: SelectItem, parser: QueryParser) -> OutputColumn:
    text, node = parser.characters(item.expr.span), item.expr.node
    name: Any = node.name if isinstance(node, exp.Column) else None
    return OutputColumn(text, item.alias or name, text)
