"""Whether a text is a query for panewise at all."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sqlglot import Token, TokenType

from panewise.sql.expressions import tokens_of

_STREAMED: Final = frozenset({"ISTREAM", "DSTREAM", "RSTREAM"})
_TABLES: Final = frozenset({"TUMBLE", "HOP", "CUMULATE", "SESSION"})
_CALLS: Final = _TABLES | _STREAMED | {"WINDOW", "SESSION_WINDOW", "OVER"}
_OWN: Final = frozenset(
    {"EMIT", "WATERMARK", "QUALIFY", "WITHIN", "MATCH_CONDITION", "ASOF"}
    | {"SYSTEM_TIME", "TUMBLING", "HOPPING"}
)
_FIRST: Final = _STREAMED | {"SELECT", "WITH", "(", "VALUES", "TABLE"}
_STREAM_WINDOWS: Final = frozenset({"ROWS", "RANGE", "NOW", "UNBOUNDED", "PARTITION"})  # in brackets


def is_sparks(sql: str) -> bool:
    """Returns whether a text has no clause and no window function that Spark lacks.

    >>> is_sparks("SELECT ntile(4) OVER (ORDER BY v) FROM t"), is_sparks("SELECT v FROM t EMIT CHANGES")
    (True, False)
    """
    words = _words(sql)
    return not any(
        word in _OWN or _is_bracket(word, behind) or (behind == "(" and word in _TABLES | _STREAMED)
        for word, behind in words
    )


def says_windows(sql: str) -> bool:
    """Returns whether a text has words of windows.

    Raises:
        SqlError: for a string or comment without an end.

    >>> says_windows("SHOW TABLES"), says_windows("SELECT sum(v) OVER (ORDER BY ts) FROM t")
    (False, True)
    >>> says_windows("SELECT sum(v) FROM t [ROWS 3]"), says_windows("SELECT a[3] FROM t")
    (True, False)
    """
    return any(
        word in _OWN or word == "OVER" or (word in _CALLS and behind == "(") or _is_bracket(word, behind)
        for word, behind in _words(sql)
    )


def is_query(sql: str) -> bool:
    """Returns whether a text is a query, and no other statement. Others are Spark's alone.

    >>> is_query("SHOW TABLES"), is_query("SELECT 1")
    (False, True)

    Raises:
        SqlError: for a string or comment without an end.
    """
    tokens = tokens_of(sql)
    return not tokens or tokens[0].text.upper() in _FIRST


def _words(sql: str) -> Iterator[tuple[str, str]]:
    """Yields each token that is no string, in upper case, and the one behind it."""
    for token, behind in pairwise([*tokens_of(sql), None]):
        if token is not None and token.token_type != TokenType.STRING:
            yield token.text.upper(), _first_word(behind)


def _first_word(token: Token | None) -> str:
    words = [] if token is None else token.text.upper().split()
    return words[0] if words else ""


def _is_bracket(word: str, behind: str) -> bool:
    """Returns whether a window of CQL begins here."""
    return word == "[" and behind in _STREAM_WINDOWS
