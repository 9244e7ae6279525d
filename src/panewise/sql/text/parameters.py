"""Parameters of a text: `:name` and `?`, which become literals before the text is compiled."""

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import Token, TokenType

from panewise.errors import SqlError
from panewise.sql.parsing.expressions import tokens_of


def with_parameters(sql: str, args: "Mapping[str, Any] | Sequence[Any] | None") -> str:
    r"""Returns the text with literals in the place of its parameters.

    Args:
        sql: the text.
        args: the values, by name for `:name`, or a list for `?`. None: the text has no parameters.

    Raises:
        SqlError: if a parameter has no value, or a value has no literal.

    >>> with_parameters("SELECT * FROM t WHERE v > :least AND k = :key", {"least": 3, "key": "a'b"})
    "SELECT * FROM t WHERE v > 3 AND k = 'a\\'b'"
    >>> with_parameters("SELECT ? + ?", [1, 2.5])
    'SELECT 1 + 2.5D'
    """
    if args is None:
        return sql
    for argument in args.values() if isinstance(args, Mapping) else args:
        literal(argument)  # also of a value that no parameter reads, as it may be a table
    tokens, parts, at, number = tokens_of(sql), list[str](), 0, 0
    for index, token in enumerate(tokens):
        value: tuple[Any, int] | None = None
        if isinstance(args, Mapping) and _is_named(tokens, index):
            name = tokens[index + 1]
            if name.text not in args:
                raise _missing(sql, f":{name.text}", token.start, name.end + 1)
            value = args[name.text], name.end + 1
        elif not isinstance(args, Mapping) and token.token_type == TokenType.PLACEHOLDER:
            if number >= len(args):
                raise _missing(sql, "?", token.start, token.end + 1)
            value, number = (args[number], token.end + 1), number + 1
        if value is not None:
            parts += [sql[at : token.start], literal(value[0])]
            at = value[1]
    return "".join([*parts, sql[at:]])


def _is_named(tokens: Sequence[Token], index: int) -> bool:
    """Returns whether `:name` begins here: a colon behind which a name stands, and no value before it."""
    if tokens[index].token_type != TokenType.COLON or index + 1 >= len(tokens):
        return False
    name = tokens[index + 1]
    return name.start == tokens[index].end + 1 and name.text.isidentifier()


def _missing(sql: str, name: str, start: int, end: int) -> SqlError:
    rule = "each parameter of a text has a value in args"
    return SqlError(name, rule, "add it to args", sql=sql, start=start, end=end)


def literal(value: Any) -> str:
    """Returns a value as a literal of Spark's SQL.

    Raises:
        SqlError: for a value of another type.

    >>> literal(None), literal(True), literal([1, "a"]), literal(date(2024, 1, 2))
    ('NULL', 'TRUE', "array(1, 'a')", "DATE '2024-01-02'")
    """
    if value is None or isinstance(value, bool):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, int):
        return str(value) if abs(value) < 2**31 else f"{value}L"
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"double('{value}')"
    if isinstance(value, Decimal):
        return f"{value}BD"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, (list, tuple)):
        return f"array({', '.join(map(literal, value))})"
    rule = "a parameter is a number, a text, a Boolean, a time, null, or a list of these"
    remedy = "give one of these; tables are given by their names, as in sql(text, orders=orders)"
    raise SqlError(f"a parameter of the type {type(value).__name__}", rule, remedy)
