"""Places of errors that know none: where a text of SQL has what they name."""

import re
from typing import Final

from panewise.errors import SpecError, SqlError
from panewise.sql.parsing.error_places import error_at
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.parsing.syntax import TextSpan

# What errors name: texts in quotes, and columns and tables behind a word for them.
_QUOTED: Final = re.compile(r"[`']([^`']+)[`']")
_NAMED: Final = re.compile(r"(?:event time|key|order|gap|offset|columns?|field|table) ([\w.]+)")


def first_place(sql: str, *written: str) -> TextSpan | None:
    """Returns the characters of the first of these names or expressions that a text has, None without any.

    Case has no effect, and quotes around a name are a part of the place.

    >>> text = "SELECT s.a, `a b` FROM t"
    >>> first_place(text, "x", "T"), first_place(text, "a b"), first_place(text, "s.a")
    (TextSpan(start=23, end=24), TextSpan(start=12, end=17), TextSpan(start=7, end=10))
    """
    tokens = tokens_of(sql)
    ends = {token.end + 1 for token in tokens}
    for name in (name.lower() for name in written if name):
        for token in tokens:
            end = token.start + len(name)
            if token.text.lower() == name:
                return TextSpan(token.start, token.end + 1)
            if end in ends and sql[token.start : end].lower() == name:
                return TextSpan(token.start, end)
    return None


def placed(error: SpecError, sql: str) -> SqlError:
    """Returns the error with the place in the text of what it names, if the text contains that.

    A place in this text stays; one in a part of it is replaced.
    """
    if isinstance(error, SqlError) and error.start is not None and error.sql == sql:
        return error
    whole = error.given.removesuffix("(...)").split(" ...", 1)[0]
    names = (*_QUOTED.findall(error.given), *_NAMED.findall(error.given))
    place = first_place(sql, whole, *names)
    return error if place is None and isinstance(error, SqlError) else error_at(error, sql, place)
