"""Columns that are computed before the operator: names that carry the expression to compute.

A specification contains only names of columns. Where a user gives a pyspark Column or a filter, it contains
the name of a column that panewise.spark adds to the DataFrame. This module does not import pyspark.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from panewise.errors import SpecError

Kind: TypeAlias = Literal["column", "filter", "tuple"]

# The name of a column, or a pyspark Column, whose type cannot be named without importing pyspark.
ColumnOrName: TypeAlias = Any

_PLAIN: Final = re.compile(r"^\S(.*\S)?$")
_SIMPLE: Final = re.compile(r"[^\W\d]\w*")
_QUOTED: Final = re.compile(r"`((?:[^`]|``)+)`")


class Expression(str):
    """The name of a column that is added to the DataFrame before the operator, with the expression for it.

    It is serialized as the name alone.

    Args:
        text: the name.
        kind: what the column contains. "column": the value of the only part, a pyspark Column. "filter": the
            value of the first part where the second, a condition, is true, else null. "tuple": the values of
            all parts, or null if one of them is null.
        parts: pyspark Columns, or names of columns.
    """

    kind: Kind
    parts: tuple[Any, ...]

    def __new__(cls, text: str, kind: Kind, parts: tuple[Any, ...]) -> "Expression":
        """Creates the name, with its kind and parts."""
        expression = super().__new__(cls, text)
        expression.kind, expression.parts = kind, parts
        return expression

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Serializes the name alone, because workers only read the column."""
        return str, (str(self),)


def is_column(value: object) -> bool:
    """Returns whether a value is a pyspark Column, of Spark classic or Spark Connect."""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "Column"
        for kind in type(value).__mro__
    )


def name_of(value: Any) -> Any:
    """Returns the name of a column that is given by name or as a pyspark Column.

    A name may stand in backticks, which are removed. The name of a Column that is not simply a named column
    is an :class:`Expression`. Other values are returned unchanged.

    >>> name_of("`a.b`"), name_of("a.b"), name_of("`a``b`"), name_of(3)
    ('a.b', 'a.b', 'a`b', 3)
    """
    if isinstance(value, Expression) or not (isinstance(value, str) or is_column(value)):
        return value
    text = value if isinstance(value, str) else text_of(value)
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        return quoted[1].replace("``", "`")
    if isinstance(value, str) or (_SIMPLE.fullmatch(text) and not _is_connect_literal(value)):
        return text
    return Expression(text, "column", (value,))


def names_of(columns: Sequence[Any]) -> tuple[Any, ...]:
    """Returns the names of columns that are given one by one or as one list, each as of :func:`name_of`.

    >>> names_of((["a", "`b.c`"],)), names_of(("a", "b"))
    (('a', 'b.c'), ('a', 'b'))
    """
    return tuple(map(name_of, one_by_one(columns)))


def one_by_one(values: Sequence[Any]) -> Sequence[Any]:
    """Returns the arguments of a call, which are given one by one or as one list."""
    return values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values


def _is_connect_literal(column: Any) -> bool:
    """Returns whether a pyspark Column is a literal of Spark Connect, whose text looks like a name."""
    return type(getattr(column, "_expr", None)).__name__ == "LiteralExpression"


def text_of(column: Any) -> str:
    """Returns the text under which pyspark shows a Column; a name is returned unchanged."""
    return column if isinstance(column, str) else str(column).removeprefix("Column<'").removesuffix("'>")


def checked_column(column: Any) -> str:
    """Returns the name of a column that is given by its name or as a pyspark Column.

    An expression has the name under which pyspark shows it.

    Raises:
        SpecError: if the value is neither.
    """
    name = name_of(column)
    if not isinstance(name, str) or not _PLAIN.match(name):
        rule, remedy = "an aggregate reads a column", "give its name, or a column of pyspark.sql.functions"
        raise SpecError(f"column={column!r}", rule, remedy)
    return name


def check_given(name: str) -> None:
    """Refuses the name of an expression where the input does not have a column with it.

    Raises:
        SpecError: if the name is that of an expression.
    """
    if isinstance(name, Expression):
        rule = "only on Spark are columns of expressions added to the input (semantics 24.17, 24.18)"
        remedy = "name a column of the input, which is null in the rows to skip"
        raise SpecError(f"column {str(name)!r}", rule, remedy)
