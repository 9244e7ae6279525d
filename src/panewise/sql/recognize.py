"""Whether a text is a query for panewise at all."""

from itertools import pairwise
from typing import Final

from sqlglot import TokenType

from panewise.sql.expressions import tokens_of

_CALLS: Final = frozenset({"TUMBLE", "HOP", "CUMULATE", "SESSION", "WINDOW", "SESSION_WINDOW", "OVER"})
_WORDS: Final = frozenset(
    {"EMIT", "WATERMARK", "OVER", "QUALIFY", "WITHIN", "MATCH_CONDITION", "ASOF", "TUMBLING", "HOPPING"}
    | {"SYSTEM_TIME"}
)

_OWN: Final = _WORDS - {"OVER"}
_FUNCTIONS: Final = frozenset({"TUMBLE", "HOP", "CUMULATE", "SESSION"})


def is_sparks(sql: str) -> bool:
    """Returns whether a text has no clause and no window function that Spark lacks.

    >>> is_sparks("SELECT ntile(4) OVER (ORDER BY v) FROM t"), is_sparks("SELECT v FROM t EMIT CHANGES")
    (True, False)
    """
    tokens = tokens_of(sql)
    words = {token.text.upper() for token in tokens if token.token_type != TokenType.STRING}
    called = {
        token.text.upper() for token, behind in pairwise(tokens) if behind.token_type == TokenType.L_PAREN
    }
    return not (words & _OWN or called & _FUNCTIONS)


def says_windows(sql: str) -> bool:
    """Returns whether a text has words of windows.

    Raises:
        SqlError: for a string or comment without an end.

    >>> says_windows("SHOW TABLES"), says_windows("SELECT sum(v) OVER (ORDER BY ts) FROM t")
    (False, True)
    """
    tokens = tokens_of(sql)
    for token, behind in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type == TokenType.STRING:
            continue
        word = token.text.upper()
        called = behind is not None and behind.token_type == TokenType.L_PAREN
        if word in _WORDS or (word in _CALLS and called):
            return True
    return False


def is_query(sql: str) -> bool:
    """Returns whether a text is a query, and no other statement. Others are Spark's alone.

    >>> is_query("SHOW TABLES"), is_query("SELECT 1")
    (False, True)

    Raises:
        SqlError: for a string or comment without an end.
    """
    tokens = tokens_of(sql)
    return not tokens or tokens[0].text.upper() in ("SELECT", "WITH", "(", "VALUES", "TABLE")
