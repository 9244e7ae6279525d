"""Whether a text is a query for panewise at all."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType

from panewise.sql.parsing.expressions import tokens_of

_STREAMED: Final = frozenset({"ISTREAM", "DSTREAM", "RSTREAM"})
_TABLES: Final = frozenset({"TUMBLE", "HOP", "CUMULATE", "SESSION"})
# Window functions of other systems, whose arguments are other ones.
_OF_OTHERS: Final = {
    "TUMBLINGWINDOW": "TUMBLE",
    "TUMBLING": "TUMBLE",
    "HOPPINGWINDOW": "HOP",
    "HOPPING": "HOP",
    "SESSIONWINDOW": "SESSION",
    "SLIDINGWINDOW": "HOP",
    "SLIDE": "HOP",
}
_LENGTHS: Final = frozenset({"DESCRIPTOR", "INTERVAL"})  # words of the arguments of window functions
_BEFORE_CALLS: Final = frozenset({"FROM", "JOIN", "TABLE", "BY", "GROUP BY", "(", ","})
_CALLS: Final = _TABLES | _STREAMED | {"WINDOW", "SESSION_WINDOW", "OVER"}
_OWN: Final = frozenset(
    {"EMIT", "WATERMARK", "QUALIFY", "WITHIN", "MATCH_CONDITION", "ASOF"}
    | {"SYSTEM_TIME", "TUMBLING", "HOPPING"}
)
_SHARED: Final = frozenset({"QUALIFY"})  # which Spark has, too
_FIRST: Final = _STREAMED | {"SELECT", "WITH", "(", "VALUES", "TABLE", "FROM"}
_CLAUSES: Final = frozenset(
    {"SELECT", "FROM", "JOIN", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "ON", "USING"}
)
_STREAM_WINDOWS: Final = frozenset({"ROWS", "RANGE", "NOW", "UNBOUNDED", "PARTITION"})  # in brackets


def is_sparks(sql: str) -> bool:
    """Returns whether a text has no clause and no window function that Spark lacks.

    >>> is_sparks("SELECT ntile(4) OVER (ORDER BY v) FROM t"), is_sparks("SELECT v FROM t EMIT CHANGES")
    (True, False)
    """
    own = _OWN - _SHARED
    return not _has_mistaken_window(sql) and not any(
        (word in own and (word, behind) != ("WITHIN", "GROUP"))
        or _is_bracket(word, behind)
        or (behind == "(" and word in _TABLES | _STREAMED)
        for word, behind in _words(sql)
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
    ) or _has_mistaken_window(sql)


def is_query(sql: str) -> bool:
    """Returns whether a text is a query, and no other statement. Others are Spark's alone.

    >>> is_query("SHOW TABLES"), is_query("SELECT 1")
    (False, True)

    Raises:
        SqlError: for a string or comment without an end.
    """
    tokens = tokens_of(sql)
    return not tokens or tokens[0].text.upper() in _FIRST


def _has_mistaken_window(sql: str) -> bool:
    tokens = tokens_of(sql)
    return any(mistaken_window(tokens, index) is not None for index in range(len(tokens)))


def mistaken_window(tokens: Sequence[Any], index: int) -> str | None:
    """Returns the window function that a call with another name means, None if it is another call.

    A name that is nearly that of a window function is meant so only in a call with an interval or a
    DESCRIPTOR, as users of Spark have functions of their own.

    >>> tokens = tokens_of("SELECT v FROM TUMBEL(t, ts, INTERVAL '1' HOUR)")
    >>> mistaken_window(tokens, 3)
    'TUMBLE'
    """
    word = tokens[index].text.upper()
    if word in _CALLS or word == "TABLE" or index + 1 >= len(tokens) or tokens[index + 1].text != "(":
        return None
    if tokens[index].token_type == TokenType.STRING or tokens[index - 1].text.upper() not in _BEFORE_CALLS:
        return None
    if word in _OF_OTHERS:
        return _OF_OTHERS[word]
    close = [name for name in get_close_matches(word, sorted(_TABLES), cutoff=0.7) if name[0] == word[0]]
    return close[0] if close and _has_length(tokens, index + 1) else None


def _has_length(tokens: Sequence[Any], opening: int) -> bool:
    """Returns whether an interval or a DESCRIPTOR stands in the parentheses that open here."""
    depth = 0
    for token in tokens[opening:]:
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0:
            return False
        if token.text.upper() in _LENGTHS:
            return True
    return False


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


def tables_named(sql: str) -> dict[str, Token]:
    """Returns the names in a text that stand where tables do, in lower case, each with its first token.

    >>> list(tables_named("SELECT a FROM t, u JOIN (SELECT b FROM TUMBLE(w, ts, '1 hour')) x WHERE c = 'v'"))
    ['t', 'u', 'w']
    """
    tokens = tokens_of(sql)
    named = dict[str, Token]()
    for index, token in enumerate(tokens):
        first = index > 1 and tokens[index - 1].text == "(" and tokens[index - 2].text.upper() in _TABLES
        if token.text != "(" and (first or is_table(tokens, index)):
            named.setdefault(token.text.lower(), token)
    return named


def is_table(tokens: Sequence[Any], index: int) -> bool:
    """Returns whether a name stands where tables do: behind FROM or JOIN, or in a list behind FROM."""
    if index + 1 < len(tokens) and tokens[index + 1].text in (".", "("):
        return False
    before = tokens[index - 1].text.upper() if index else ""
    if before != ",":
        return before in ("FROM", "JOIN", "TABLE")
    depth = 0
    for token in reversed(tokens[:index]):
        depth += (token.text == ")") - (token.text == "(")
        if depth < 0:
            return False
        if depth == 0 and token.text.upper() in _CLAUSES:
            return token.text.upper() in ("FROM", "JOIN")
    return False
