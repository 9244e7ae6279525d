"""Reads the names of the columns of a SELECT list from a text, without the compiler.

A column has the name behind AS, or is a plain column and has its own name. `*` has the columns of what stands
in FROM: of a table, of a query in parentheses or in WITH, or those of a window function, with the bounds
behind them. Of two joined tables it has those of the left one first. Any other expression has a name that
only Spark knows: here None.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

Columns: TypeAlias = list[str | None]
TOKEN = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|`[^`]*`|\"[^\"]*\"|[\w]+|\|>|[^\s\w]", re.DOTALL)
WINDOWS = {"TUMBLE", "HOP", "CUMULATE", "SESSION"}
BOUNDS: Columns = ["window_start", "window_end", "window_time"]
STREAMED = {"ISTREAM", "DSTREAM", "RSTREAM"}
SETS = {"UNION", "INTERSECT", "EXCEPT", "MINUS"}
BEHIND = {
    "WHERE",
    "GROUP",
    "HAVING",
    "QUALIFY",
    "WINDOW",
    "EMIT",
    "ORDER",
    "LIMIT",
    "OFFSET",
    *SETS,
    "LATERAL",
}
JOINS = {"JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "ASOF", "SEMI", "ANTI", "OUTER", "NATURAL", ","}
NOT_ALIASES = {"END", "NULL", "TRUE", "FALSE", "DAY", "HOUR", "SECOND", "MINUTE", "SECONDS", "CURRENT_DATE"}


class UnknownColumnsError(Exception):
    """This rule cannot say which columns a text has."""


def listed(text: str, tables: Mapping[str, Sequence[str]]) -> Columns:
    """Returns the names of the columns of a query over tables with these columns."""
    tokens = [found[0] for found in TOKEN.finditer(text) if not found[0].startswith(("--", "/*"))]
    return _query(tokens, {name.lower(): list(columns) for name, columns in tables.items()})


def _query(tokens: list[str], tables: Mapping[str, Columns]) -> Columns:
    if not tokens or "|>" in tokens:
        raise UnknownColumnsError
    first = tokens[0].upper()
    if first in STREAMED or first == "(":
        return _query(_inside(tokens, tokens.index("(")), tables)
    if first == "WITH":
        tokens, tables = _with(tokens, tables)
        return _query(tokens, tables)
    if first != "SELECT":
        raise UnknownColumnsError
    places = {token.upper(): place for place, token in reversed(list(_outermost(tokens)))}
    start = 2 if tokens[1].upper() in ("DISTINCT", "ALL", "STREAM") else 1
    if "FROM" not in places:
        raise UnknownColumnsError
    source = tokens[places["FROM"] + 1 :]
    streamed = tokens[start].upper() in STREAMED and tokens[start + 1] == "("
    items = _split(_inside(tokens, start + 1) if streamed else tokens[start : places["FROM"]])
    return [name for item in items for name in _item(item, source, tables)]


def _outermost(tokens: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields the places and tokens outside of parentheses."""
    depth = 0
    for place, token in enumerate(tokens):
        depth -= token in ")]"
        if depth == 0:
            yield place, token
        depth += token in "(["


def _inside(tokens: Sequence[str], place: int) -> list[str]:
    """Returns the tokens in the parentheses that open at a place."""
    behind = list(tokens[place:])
    end = next(at for at, token in _outermost(behind) if token == ")")
    return behind[1:end]


def _split(tokens: list[str]) -> list[list[str]]:
    commas = [-1, *(place for place, token in _outermost(tokens) if token == ","), len(tokens)]
    return [tokens[start + 1 : end] for start, end in pairwise(commas)]


def _with(tokens: list[str], tables: Mapping[str, Columns]) -> tuple[list[str], dict[str, Columns]]:
    known, rest = dict(tables), tokens[1:]
    while True:
        name, given = rest[0].strip("`").lower(), None
        if rest[1] == "(":
            given = [part.strip("`") for part in _inside(rest, 1) if part != ","]
        opens = next(place for place, token in _outermost(rest) if token.upper() == "AS") + 1
        inner = _inside(rest, opens)
        try:
            known[name] = given or _query(inner, known)
        except UnknownColumnsError:
            known.pop(name, None)
        rest = rest[opens + len(inner) + 2 :]
        if rest[0] != ",":
            return rest, known
        rest = rest[1:]


def _item(item: list[str], source: list[str], tables: Mapping[str, Columns]) -> Columns:
    star = item.index("*") if "*" in item else None
    if star is not None and _is_column([*item[:star], "x"]):
        return _star(item, star, source, tables)
    named = len(item) > 1 and item[-2].upper() == "AS"
    implied = len(item) > 1 and _is_name(item[-1]) and (item[-2] == ")" or _is_name(item[-2]))
    if named or _is_column(item) or (implied and item[-1].upper() not in NOT_ALIASES):
        return [item[-1].strip("`")]
    return [None]


def _is_column(item: list[str]) -> bool:
    """Returns whether tokens are names with dots between them."""
    return all(map(_is_name, item[::2])) and all(token == "." for token in item[1::2])


def _is_name(token: str) -> bool:
    return token.startswith("`") or bool(re.fullmatch(r"[A-Za-z_]\w*", token))


def _star(item: list[str], star: int, source: list[str], tables: Mapping[str, Columns]) -> Columns:
    wanted = item[0].strip("`").lower() if star else None
    without: set[str] = set()
    if len(item) > star + 1:
        if item[star + 1].upper() != "EXCEPT":
            raise UnknownColumnsError
        without = {part.strip("`").lower() for part in _inside(item, star + 2)}
    sides = _relations(source, tables)
    if wanted is not None:
        sides = [(alias, columns) for alias, columns in sides if alias == wanted]
        if len(sides) != 1:
            raise UnknownColumnsError
    return [name for _, columns in sides for name in columns if (name or "").lower() not in without]


def _relations(source: list[str], tables: Mapping[str, Columns]) -> list[tuple[str, Columns]]:
    """Returns the tables in FROM, each with its alias and its columns."""
    outer = list(_outermost(source))
    words = [token.upper() for _, token in outer]
    end = next(
        (place for place, token in outer if token.upper() in BEHIND and token != "EXCEPT"), len(source)
    )
    if any(word in ("USING", "NATURAL", "PIVOT", "LATERAL") for word in words):
        raise UnknownColumnsError
    starts, found = [0], list[tuple[str, Columns]]()
    for place, token in outer:
        if place < end and token.upper() in ("JOIN", ","):
            starts.append(place + 1)
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        found.append(_relation(source[start:stop], tables))
    return found[:1] if {"SEMI", "ANTI"} & {*words} else found


def _relation(tokens: list[str], tables: Mapping[str, Columns]) -> tuple[str, Columns]:
    first = tokens[0].upper()
    if first == "(":
        inner = _inside(tokens, 0)
        return _alias(tokens[len(inner) + 2 :], ""), _query(inner, tables)
    if first == "TABLE" and tokens[1] == "(":
        inner = _inside(tokens, 1)
        return _alias(tokens[len(inner) + 3 :], ""), _relation(inner, tables)[1]
    if first == "TABLE":
        return _relation(tokens[1:], tables)
    if first in WINDOWS and len(tokens) > 1 and tokens[1] == "(":
        inner = _inside(tokens, 1)
        data = _split(inner)[0]
        data = data[2:] if data[0].upper() == "DATA" else data
        return _alias(tokens[len(inner) + 3 :], ""), [*_relation(data, tables)[1], *BOUNDS]
    name = tokens[0].strip("`").lower()
    if name not in tables or (len(tokens) > 1 and tokens[1] in ("(", ".", "[")):
        raise UnknownColumnsError
    return _alias(tokens[1:], name), tables[name]


def _alias(tokens: list[str], name: str) -> str:
    words = [token for token in tokens if token.upper() != "AS"]
    if len(words) > 1 and words[1] == "(" and words[0].upper() != "OVER":
        raise UnknownColumnsError  # the alias names the columns, too
    if (
        words
        and _is_name(words[0])
        and words[0].upper() not in {"WITH", "WATERMARK", "OVER", "FOR", "ON", *JOINS}
    ):
        return words[0].strip("`").lower()
    return name
