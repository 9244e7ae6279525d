"""The rows of VALUES as trees, for a runtime that computes them without Spark."""

from sqlglot import exp

from panewise.sql.expressions.expression_tree import Node, TreeReader
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.parsing.parser import QueryParser


def is_values(text: str) -> bool:
    """Returns whether a table, as it is written, is VALUES.

    >>> is_values("values (1), (2)"), is_values("values_of_today")
    (True, False)
    """
    return text[:6].upper() == "VALUES" and not text[6:7].isidentifier()


def rows_of_values(text: str) -> list[tuple[Node, ...]]:
    """Returns the rows of VALUES.

    Raises:
        SqlError: for rows of several lengths, and a name after them.

    >>> rows_of_values("VALUES (1, 'a'), (2, 'b')")[1]
    (ConstantNode(value=2), ConstantNode(value='b'))
    """
    parser = QueryParser(dialect="spark")
    parser.begin(text, tokens_of(text))
    parser.take_words("VALUES")
    written = parser.separated(parser.expr)
    if parser.word():
        rule = "in process a name behind VALUES stands in FROM"
        raise parser.unexpected(rule, "write SELECT * FROM VALUES (1, 2) AS t(a, b)")
    reader = TreeReader(parser)
    rows = [tuple(map(reader.node, _fields(row.node))) for row in written]
    other = next(
        (row for row, fields in zip(written, rows, strict=True) if len(fields) != len(rows[0])), None
    )
    if other is not None:
        rule = f"each row of VALUES has as many values as the first, {len(rows[0])}"
        raise parser.fail(parser.characters(other.span), rule, "add the values, or NULL", other.span)
    return rows


def _fields(row: exp.Expr) -> list[exp.Expr]:
    """Returns the values of a row, of which one needs no parentheses."""
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]
