"""`t.*` in a SELECT list: the columns of a table, or the fields of a struct."""

from collections.abc import Iterable

from sqlglot import TokenType

from panewise.errors import SqlError
from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import SelectItem


def names_before_star(text: str) -> tuple[str, ...]:
    """Returns the names before the star of `a.b.*` in lower case; none for `*` and other expressions.

    >>> names_before_star("t.`S`.* EXCEPT (x)"), names_before_star("*"), names_before_star("a.b * 2")
    (('t', 's'), (), ())
    """
    names: list[str] = []
    tokens = tokens_of(text)
    for place in range(0, len(tokens) - 1, 2):
        if tokens[place].token_type == TokenType.STAR:
            break
        if tokens[place + 1].token_type != TokenType.DOT:
            return ()
        names.append(tokens[place].text.lower())
    star = 2 * len(names)
    return tuple(names) if star < len(tokens) and tokens[star].token_type == TokenType.STAR else ()


def check_left_out(text: str, names: Iterable[str]) -> None:
    """Refuses to leave columns out of `*` that it does not have, as Spark does.

    Args:
        text: the `*`, as the user writes it.
        names: the columns that it has, and columns that may be left out of it.

    >>> check_left_out("t.* EXCEPT (b)", ["a"])
    Traceback (most recent call last):
        ...
    panewise.errors.SqlError: t.* EXCEPT (b) | `*` leaves out columns that it has: ['a'] | leave b out of ...
    """
    star, known = star_of(text), [name.lower() for name in names]
    for name in sorted(star.without if star is not None else ()):
        if name not in known:
            rule = f"`*` leaves out columns that it has: {known}"
            raise SqlError(text, rule, f"leave {name} out of EXCEPT")


def check_stars(items: Iterable[SelectItem], tables: Iterable[str], parser: QueryParser) -> None:
    """Refuses `s.*` where `s` is no table of the query (semantics 46.133).

    Raises:
        SqlError: at such a column.
    """
    known = {name.lower() for name in tables}
    for item in items:
        text = parser.characters(item.expr.span)
        names = names_before_star(text) if item.is_star else ()
        if names and (names[-1] not in known or (len(names) > 1 and names[0] in known)):
            rule = f"`t.*` has the columns of a table of the query, {sorted(known)}"
            raise parser.fail(text, rule, "name the columns, or the fields of a struct", item.span)
