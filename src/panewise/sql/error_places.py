"""Where a text of SQL has what an error is about, for errors that do not know their place."""

from panewise.errors import SpecError, SqlError
from panewise.sql.expressions import tokens_of
from panewise.sql.syntax import TextSpan


def first_place(sql: str, *written: str) -> TextSpan | None:
    """Returns the first characters of a text that are one of these names or expressions, None without any.

    Case has no effect, and quotes around a name are a part of the place.

    >>> text = "SELECT s.a, `a b` FROM t"
    >>> first_place(text, "T"), first_place(text, "a b"), first_place(text, "s.a"), first_place(text, "sel")
    (TextSpan(start=23, end=24), TextSpan(start=12, end=17), TextSpan(start=7, end=10), None)
    """
    tokens = tokens_of(sql)
    wanted, ends = {name.lower() for name in written if name}, {token.end + 1 for token in tokens}
    for token in tokens:
        if token.text.lower() in wanted:
            return TextSpan(token.start, token.end + 1)
        for name in wanted:
            end = token.start + len(name)
            if end in ends and sql[token.start : end].lower() == name:
                return TextSpan(token.start, end)
    return None


def error_at(error: SpecError, sql: str, place: TextSpan | None) -> SqlError:
    """Returns an error as one about these characters of a text; None are no characters."""
    start, end = (None, None) if place is None else (place.start, place.end)
    return SqlError(error.given, error.rule, error.remedy, sql=sql, start=start, end=end)
