r"""Patterns of RLIKE in process: those that Java, which Spark uses, and Polars read alike.

A pattern is translated token by token. Java's `\d`, `\w` and `\s` are ASCII, `.` excludes all ends of lines,
and `$` also matches before the last end of a line. Other tokens, such as lookahead and flags, are refused.
"""

import re
from collections.abc import Mapping
from typing import Final

import polars as pl

from panewise.standalone.streaming_sql.sql_typed import Function, of_one, refusal

_SETS: Final[Mapping[str, str]] = {"d": "0-9", "w": "a-zA-Z0-9_", "s": r" \t\n\x0B\f\r"}
_IN_SET: Final = r"(?:\\[dws]|\\[\[\]\\^.$|?*+(){}/-]|\w(?:-\w)?|[ .,:;!?@#%/_'\"=<>+*$(){}|])"
_TOKEN: Final = re.compile(
    rf"(?P<set>\[\^?-?{_IN_SET}+-?\])|(?P<short>\\[dDwWsS])|(?P<plain>\\[\[\]\\^.$|?*+(){{}}/-]|[^\\\[\]{{}}.$^|?*+()])"
    r"|(?P<dot>\.)|(?P<end>\$(?=\)*$|\|))|(?P<other>\(\?:|\((?!\?)|\)|\||\^)"
    r"|(?P<times>(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{]))"
)
_ENDS: Final = r"\n\r\x{85}\x{2028}\x{2029}"


def java_pattern(pattern: str) -> str:
    r"""Returns the pattern of Polars that finds what a pattern of Java finds.

    Raises:
        SqlError: if the pattern has a part that both read otherwise.

    >>> java_pattern(r"^a\d+[x-z]")
    '^a[0-9]+[x-z]'
    """
    parts, at, depth = list[str](), 0, 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        # An end of a line that `$` takes is not there for what follows its group.
        if token is None or (token["end"] and depth and pattern[token.end() :][:1] == "|"):
            rule = f"in process a pattern has no {pattern[at:]!r}, which Java and Polars read otherwise"
            raise refusal(f"RLIKE {pattern!r}", rule)
        depth += {"(": 1, "(?:": 1, ")": -1}.get(token[0], 0)
        parts.append(_translated(token.lastgroup or "", token[0]))
        at = token.end()
    return "".join(parts)


def matching(pattern: str) -> Function:
    """Returns the function that says whether a text has a part that a pattern of Java finds.

    Raises:
        SqlError: for a pattern that is none.
    """
    ours = java_pattern(pattern)
    try:
        pl.Series([""]).str.contains(ours)
    except pl.exceptions.PolarsError:
        raise refusal(f"RLIKE {pattern!r}", "a pattern is a regular expression") from None
    rule = "it takes a text and a constant pattern"
    return of_one(rule, lambda text: text.is_text, lambda text: text.expr.cast(pl.String).str.contains(ours))


def _translated(kind: str, token: str) -> str:
    if kind == "set":
        return re.sub(r"\\(.)", lambda short: _SETS.get(short[1], short[0]), token)
    if kind == "short":
        negated = "^" if token[1].isupper() else ""
        return f"[{negated}{_SETS[token[1].lower()]}]"
    if kind == "dot":
        return f"[^{_ENDS}]"
    return rf"(?:(?:\r\n|[{_ENDS}])?\z)" if kind == "end" else token
