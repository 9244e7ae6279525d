"""What an expression of a SELECT list says about columns: those that it reads, and those that it makes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from sqlglot import exp

from panewise.sql.expressions.function_calls import column_name, columns_in, function_name
from panewise.sql.parsing.parser import parse_expression

Names: TypeAlias = tuple[str, ...]  # a column, after the names of its table or before those of its fields

_WITH_UNIT: Final = frozenset(
    {"timestampadd", "timestampdiff", "dateadd", "datediff", "date_add", "date_diff"}
)
# Functions that make several columns, or rows, of which a text does not show the names.
_GENERATORS: Final = frozenset(
    {"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack"}
    | {"json_tuple", "variant_explode", "variant_explode_outer"}
)


@dataclass(frozen=True)
class Star:
    """`*`, `t.*` or `* EXCEPT (a, b)`: the name before it, and the columns without it, in lower case."""

    table: str | None
    without: frozenset[str]


def star_of(text: str) -> Star | None:
    """Returns what a `*` stands for, None for another expression.

    >>> star_of("t.* EXCEPT (A)"), star_of("count(*)")
    (Star(table='t', without=frozenset({'a'})), None)
    """
    if "*" not in text:
        return None
    return star_in(_parsed(text))


def star_in(node: exp.Expr) -> Star | None:
    """Returns what a `*` of sqlglot's stands for, None for another node."""
    star, table = (node.this, node.table) if isinstance(node, exp.Column) else (node, None)
    if not isinstance(star, exp.Star):
        return None
    excepted = star.args.get("except_") or star.args.get("except") or []
    # A field of a struct leaves the struct.
    plain = (name for name in excepted if not isinstance(name, exp.Column) or not name.table)
    return Star(table, frozenset(name.name.lower() for name in plain))


def column_of(text: str) -> Names | None:
    """Returns the names of an expression that is a column, also in parentheses; None for all others.

    >>> column_of("(t.`a b`)"), column_of("a + 1")
    (('t', 'a b'), None)
    """
    node = _parsed(text).unnest()
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    return tuple(part.name for part in node.parts)


def plain_column(text: str) -> str:
    """Returns the column, in lower case, that an expression is; an empty text for another expression.

    The name of its table may stand before it.

    >>> plain_column("t.`A b`"), plain_column("a + 1")
    ('a b', '')
    """
    names = column_of(text) or ()
    return names[-1].lower() if 0 < len(names) < 3 else ""


def generates(text: str) -> bool:
    """Returns whether an expression makes columns whose number and names depend on its value.

    >>> generates("explode(a)"), generates("size(a)")
    (True, False)
    """
    return function_name(_parsed(text)) in _GENERATORS


def columns_read(text: str) -> Iterator[Names]:
    """Yields the columns that an expression reads.

    >>> [*columns_read("s.a + timestampdiff(MINUTE, t.ts, current_date) + size(filter(b, x -> x > 1))")]
    [('s', 'a'), ('t', 'ts'), ('b',)]
    """
    if star_of(text) is not None:
        return
    for node in columns_in(_parsed(text)):
        column = tuple(part.name for part in node.parts)
        without_parentheses = len(column) == 1 and column_name(node, frozenset()) is None  # CURRENT_DATE
        if not (without_parentheses or _is_elsewhere(node)):
            yield column


@lru_cache(maxsize=1024)
def _parsed(text: str) -> exp.Expr:
    return parse_expression(text)[0].node


def _is_elsewhere(node: exp.Expr) -> bool:
    """Returns whether a name is no column of the rows: in a lambda, a query or `t.*`, or a unit of time."""
    call = node.parent
    unit = call is not None and function_name(call) in _WITH_UNIT and call.expressions[0] is node
    return unit or isinstance(node.this, exp.Star) or node.find_ancestor(exp.Lambda, exp.Query) is not None
