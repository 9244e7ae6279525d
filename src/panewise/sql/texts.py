"""Pieces of the text: comparison, quotes, and replacement by position."""

from collections.abc import Iterable, Mapping

from sqlglot import Token, TokenType

from panewise.sql.expressions import tokens_of
from panewise.sql.syntax import TextSpan


def quoted(name: str) -> str:
    """Returns a name in backticks.

    >>> quoted("sum(v)"), quoted("a`b")
    ('`sum(v)`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def replaced(sql: str, span: TextSpan, changes: Mapping[TextSpan, str]) -> str:
    """Returns the characters of a span, in which other texts stand for some spans in it.

    >>> replaced("sum(v) / n + 1", TextSpan(0, 10), {TextSpan(0, 6): "`total`"})
    '`total` / n'
    """
    parts, at = [], span.start
    for place in sorted(changes, key=lambda part: part.start):
        parts += [sql[at : place.start], changes[place]]
        at = place.end
    return "".join([*parts, sql[at : span.end]])


def normal(text: str) -> str:
    """Returns a text by which equal expressions are found: without spaces, case and backticks.

    >>> normal("Upper( `K` )") == normal("upper(k)"), normal("'A'") == normal("'a'")
    (True, False)
    """
    return " ".join(_normal(tokens_of(text)))


def _normal(tokens: Iterable[Token]) -> Iterable[str]:
    for token in tokens:
        text: str = token.text
        yield repr(text) if token.token_type == TokenType.STRING else text.lower()


def one_line(text: str) -> str:
    """Returns a text with single spaces, and without comments.

    >>> one_line("sum( v  -- the values" + chr(10) + ")")
    'sum( v )'
    """
    tokens = tokens_of(text)
    parts: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and token.start > before.end + 1:
            parts.append(" ")
        parts.append(text[token.start : token.end + 1])
    return "".join(parts)
