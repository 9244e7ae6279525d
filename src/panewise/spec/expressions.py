"""Columns that are computed before the operator: names that remember what they stand for.

A specification has names of columns only. Where a user gives a pyspark Column, or asks for rows that pass a condition, the
specification has the name of a column that panewise.spark adds to the DataFrame. This module does not import pyspark.
"""

import re
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["column", "filter", "tuple"]

# What a function over a column takes: its name, or a pyspark Column, whose type is not known here.
ColumnOrName: TypeAlias = Any

_SIMPLE: Final = re.compile(r"[^\W\d]\w*")
_QUOTED: Final = re.compile(r"`([^`]+)`")


class Expression(str):
    """The name of a column that is added to the DataFrame before the operator.

    Args:
        text: the name.
        kind: "column" (parts: a pyspark Column), "filter" (parts: a column, or None for a count of rows, and a condition) or "tuple"
            (parts: columns, whose values together are null if one of them is).
        parts: pyspark Columns, or names of columns.

    Serialized it is the name alone.
    """

    kind: Kind
    parts: tuple[Any, ...]

    def __new__(cls, text: str, kind: Kind, parts: tuple[Any, ...]) -> "Expression":
        """The name, with what it stands for."""
        made = super().__new__(cls, text)
        made.kind, made.parts = kind, parts
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """As the name alone: workers only read the column."""
        return str, (str(self),)


def is_column(value: object) -> bool:
    """Whether a value is a pyspark Column, of Spark classic or Spark Connect."""
    return any(kind.__module__.startswith("pyspark.sql") and kind.__name__ == "Column" for kind in type(value).__mro__)


def name_of(value: Any) -> Any:
    """The name of a column for a name, which may be in backticks, or a pyspark Column; other values as they are.

    >>> name_of("`a.b`"), name_of("a.b"), name_of(3)
    ('a.b', 'a.b', 3)
    """
    if isinstance(value, Expression) or not (isinstance(value, str) or is_column(value)):
        return value
    text = value if isinstance(value, str) else text_of(value)
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        return quoted[1]
    if isinstance(value, str) or (_SIMPLE.fullmatch(text) and not _is_connect_literal(value)):
        return text
    return Expression(text, "column", (value,))


def _is_connect_literal(column: Any) -> bool:
    """Whether a pyspark Column is a literal of Spark Connect, which shows a string without quotation marks."""
    return type(getattr(column, "_expr", None)).__name__ == "LiteralExpression"


def text_of(column: Any) -> str:
    """A column as pyspark shows it, or its name."""
    return column if isinstance(column, str) else str(column).removeprefix("Column<'").removesuffix("'>")
