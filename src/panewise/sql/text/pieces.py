"""Pieces of the text: comparison, quotes, and replacement by position."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from sqlglot import Token, TokenType, exp

from panewise.sql.parsing.expressions import ExpressionParser, tokens_of
from panewise.sql.parsing.syntax import Expr, TextSpan


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


def with_aliases(
    parser: ExpressionParser,
    condition: Expr,
    aliases: Mapping[str, Expr],
    changes: Mapping[TextSpan, str],
    text: Callable[[Expr], str],
) -> str:
    """Returns a condition with changes, in which expressions stand for the names of the SELECT list.

    `text` returns the text of such an expression.
    """
    named = dict(changes)
    for node in condition.node.find_all(exp.Column):
        meant, span = None if node.table else aliases.get(node.name.lower()), parser.span_of(node)
        if meant is not None and not any(place.start <= span.start < place.end for place in named):
            named[span] = f"({text(meant)})"
    return replaced(parser.sql, condition.span, named)


@lru_cache(maxsize=1024)
def normal(text: str, tables: frozenset[str] = frozenset()) -> str:
    """Returns a text by which equal expressions are found.

    Spaces, case, backticks, parentheses around the whole, and names of `tables` before columns have no
    effect.

    >>> normal("Upper( `K` )") == normal("((upper(k)))"), normal("'A'") == normal("'a'")
    (True, False)
    >>> normal("t.k + 1", frozenset({"t"})) == normal("k + 1")
    True
    """
    return " ".join(_normal(_without_parentheses(tokens_of(text)), tables))


def _normal(tokens: Sequence[Token], tables: frozenset[str]) -> Iterable[str]:
    for index, token in enumerate(tokens):
        if token.token_type == TokenType.STRING:
            yield repr(token.text)
        elif not _is_of_table(tokens, index, tables):
            yield token.text.lower()


def _is_of_table(tokens: Sequence[Token], index: int, tables: frozenset[str]) -> bool:
    """Returns whether a token is the name of a table before a column, or the dot behind it."""
    dots = [place for place in (index, index + 1) if 0 < place < len(tokens)]
    dot = next((place for place in dots if tokens[place].token_type == TokenType.DOT), None)
    if dot is None or tokens[dot - 1].text.lower() not in tables or dot + 1 == len(tokens):
        return False
    return dot < 2 or tokens[dot - 2].token_type != TokenType.DOT


def _without_parentheses(tokens: Sequence[Token]) -> Sequence[Token]:
    """Returns tokens without parentheses that enclose all of them."""
    while len(tokens) > 2 and tokens[0].token_type == TokenType.L_PAREN:
        if _closing(tokens) != len(tokens) - 1:
            break
        tokens = tokens[1:-1]
    return tokens


def _closing(tokens: Sequence[Token]) -> int | None:
    """Returns the place of the parenthesis that closes the first one."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            return place
    return None


def one_line(text: str) -> str:
    """Returns a text with single spaces, and without comments.

    >>> one_line("sum( v  -- the values" + chr(10) + ")")
    'sum( v )'
    >>> one_line("v < 1.5D")
    'v < 1.5D'
    """
    tokens = tokens_of(text)
    parts: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and token.start <= before.end:
            continue  # a number with a suffix, such as 1.5D, is several tokens with the same characters
        if before is not None and token.start > before.end + 1:
            parts.append(" ")
        parts.append(text[token.start : token.end + 1])
    return "".join(parts)
