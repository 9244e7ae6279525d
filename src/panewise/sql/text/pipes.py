"""Spark's pipes, such as `FROM t |> WHERE v > 1 |> SELECT k`, as SELECTs in FROM of each other (46.154).

A step reads the rows of the one before it. So each step is a SELECT from the steps before, and the whole is
compiled as any other text. Conditions, and joins before any of them, need no SELECT of their own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import Token, TokenType

from panewise.errors import SqlError
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.parsing.written_text import Origin, Piece, WrittenText, separated_texts, written

_OPEN: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER)
_OPERANDS: Final = (*_NAMES, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.STAR)
_LAST_WORDS: Final = frozenset({"END", "NULL", "TRUE", "FALSE", "ASC", "DESC", "FIRST", "LAST"})
_SETS: Final = frozenset({"UNION", "EXCEPT", "MINUS", "INTERSECT"})
_TAILS: Final = frozenset({"ORDER BY", "ORDER", "SORT BY", "LIMIT", "OFFSET"})
_BEHIND: Final = frozenset(  # the first words of what follows a table
    {"JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI", "NATURAL", "ASOF", "LATERAL"}
    | {"PIVOT", "UNPIVOT", "TABLESAMPLE"}
)
_RULE: Final = (
    "a step of a pipe is WHERE, SELECT, EXTEND, DROP, AGGREGATE, AS, a join, a set operation, ORDER BY, "
    "LIMIT, OFFSET, PIVOT, UNPIVOT or TABLESAMPLE"
)


@dataclass(frozen=True)
class _Rows:
    """The rows that a step reads.

    Attributes:
        source: what stands in FROM.
        where: the conditions on them.
        alias: the name by which expressions call them, None if it is not known.
        query: the query that they are, if the step before made one; `source` then is this in parentheses.
        sorted: whether ORDER BY, LIMIT or OFFSET may follow the query directly.
    """

    source: WrittenText
    where: tuple[WrittenText, ...] = ()
    alias: str | None = None
    query: WrittenText | None = None
    sorted: bool = False

    def select(self, place: int, *items: Piece, behind: Iterable[Piece] = ()) -> WrittenText:
        """Returns a SELECT from these rows, for a step at a place."""
        where = self.where if len(self.where) == 1 else [written(place, "(", it, ")") for it in self.where]
        clause: list[Piece] = [" WHERE ", separated_texts(place, " AND ", where)] if where else []
        return written(place, "SELECT ", *items, " FROM ", self.source, *clause, *behind)

    def text(self, place: int) -> WrittenText:
        """Returns the query of these rows."""
        return self.select(place, "*") if self.query is None or self.where else self.query

    def tailed(self, place: int, tail: WrittenText) -> WrittenText:
        """Returns the query of these rows, sorted or limited."""
        if self.query is not None and self.sorted and not self.where:
            return written(place, self.query, " ", tail)
        return self.select(place, "*", behind=(" ", tail))

    def behind(self, place: int, text: WrittenText) -> "_Rows":
        """Returns the rows with what follows their table, such as a join."""
        source = _made(self.select(place, "*"), self.alias).source if self.where else self.source
        return _Rows(written(place, source, " ", text))


def _made(query: WrittenText, alias: str | None = None) -> _Rows:
    name = "" if alias is None else f" AS {alias}"
    return _Rows(written(query.place_of(0), "(", query, f"){name}"), (), alias, query)


def without_pipes(sql: str) -> WrittenText | None:
    """Returns a text without pipes, which has the same meaning; None for a text that has none.

    Raises:
        SqlError: for a step that is not here.

    >>> text = "FROM t |> WHERE v > 1 |> AGGREGATE sum(v) AS s GROUP BY k |> SELECT s"
    >>> without_pipes(text).sql
    'SELECT s FROM (SELECT k, sum(v) AS s FROM t WHERE v > 1 GROUP BY k)'
    """
    tokens = tokens_of(sql) if "|>" in sql else []
    if not any(token.token_type == TokenType.PIPE_GT for token in tokens):
        return None
    return _Rewriter(sql, tokens).query(0, len(tokens))


class _Rewriter:
    def __init__(self, sql: str, tokens: Sequence[Token]) -> None:
        self.sql, self.tokens = sql, tokens

    def query(self, first: int, last: int) -> WrittenText:
        """Returns a query, from a token to before another one."""
        cuts = [at for at in self._outside(first, last) if self.tokens[at].token_type == TokenType.PIPE_GT]
        if not cuts:
            return self._inner(first, last)
        begin, end = self._behind_with(first, cuts[0]), self._emit(cuts[-1] + 1, last)
        rows = self._head(begin, cuts[0])
        for at, following in zip(cuts, [*cuts[1:], end], strict=True):
            rows = self._step(rows, at + 1, following)
        place = self.tokens[first].start
        parts = (self._inner(first, begin), rows.text(place), self._inner(end, last))
        return separated_texts(place, " ", [part for part in parts if part.sql])

    def _outside(self, first: int, last: int) -> list[int]:
        """Returns the tokens that stand in no parentheses of these."""
        depth, outside = 0, list[int]()
        for at in range(first, last):
            depth += _OPEN.get(self.tokens[at].text, 0)
            if depth == 0:
                outside.append(at)
        return outside

    def _inner(self, first: int, last: int) -> WrittenText:
        """Returns a text whose queries in parentheses have no pipes."""
        text = WrittenText()
        if first >= last:
            return text
        at, depth, opened = self.tokens[first].start, 0, 0
        for place in range(first, last):
            token = self.tokens[place]
            depth += _OPEN.get(token.text, 0)
            if token.text == "(" and depth == 1:
                opened = place
            if token.text == ")" and depth == 0 and place > opened + 1:
                text.copy(self.sql, TextSpan(at, self.tokens[opened].end + 1))
                text.append(self.query(opened + 1, place))
                at = token.start
        text.copy(self.sql, TextSpan(at, self.tokens[last - 1].end + 1))
        return text

    def _behind_with(self, first: int, last: int) -> int:
        """Returns the token behind WITH and its queries."""
        if self._word(first) != "WITH":
            return first
        for at in self._outside(first, last):
            if self._word(at) == ")" and at + 1 < last and self._word(at + 1) not in (",", "AS"):
                return at + 1
        return first

    def _emit(self, first: int, last: int) -> int:
        """Returns the token at which EMIT begins in the last step, or its end."""
        for at in self._outside(first + 1, last):
            before = self.tokens[at - 1]
            behind = before.token_type in _OPERANDS or before.text.upper() in _LAST_WORDS
            if self._word(at) == "EMIT" and behind:
                return at
        return last

    def _head(self, first: int, last: int) -> _Rows:
        """Returns the rows of what stands before the first pipe."""
        if first == last:
            rule = "a pipe follows a query, or FROM or TABLE with a table"
            raise self._fail(first, rule, "write FROM t |> ...")
        word = self._word(first)
        if word not in ("FROM", "TABLE"):
            return _made(self._inner(first, last))
        names = [token for token in self.tokens[first + 1 : last] if token.text.upper() != "AS"]
        named = len(names) in (1, 2) and all(token.token_type in _NAMES for token in names)
        alias = self.sql[names[-1].start : names[-1].end + 1] if named else None
        return _Rows(self._inner(first + 1, last), (), alias)

    def _step(self, rows: _Rows, first: int, last: int) -> _Rows:
        """Returns the rows that a step makes."""
        word, place = self._word(first), self.tokens[min(first, len(self.tokens) - 1)].start
        # Each part is rewritten once, as the steps of queries in it would be, too, and so on.
        steps: dict[str, Callable[[WrittenText], _Rows]] = {
            "WHERE": lambda text: replace(rows, where=(*rows.where, text)),
            "SELECT": lambda text: _made(rows.select(place, text)),
            "EXTEND": lambda text: _made(rows.select(place, "*, ", text), rows.alias),
            "DROP": lambda text: _made(rows.select(place, "* EXCEPT (", text, ")"), rows.alias),
            "AS": lambda text: _made(rows.text(place), text.sql),
        }
        if word == "AGGREGATE" and first + 1 < last:
            return self._aggregated(rows, first + 1, last)
        if word in steps and first + 1 < last:
            return steps[word](self._inner(first + 1, last))
        whole = self._inner(first, last)
        if word in _SETS:
            return _made(written(place, "(", rows.text(place), ") ", whole))
        if word in _TAILS:
            return replace(_made(rows.tailed(place, whole)), sorted=True)
        if word in _BEHIND:
            return rows.behind(place, whole)
        raise self._fail(first, _RULE, "write it as a SELECT")

    def _fail(self, at: int, rule: str, remedy: str) -> SqlError:
        """Returns an error at a token."""
        token = self.tokens[min(at, len(self.tokens) - 1)]
        return Origin(self.sql).fail(repr(self._word(at)), rule, remedy, TextSpan(token.start, token.end + 1))

    def _aggregated(self, rows: _Rows, first: int, last: int) -> _Rows:
        """Returns the rows of AGGREGATE ... GROUP BY ...: the keys, and then the aggregates."""
        group = next((at for at in self._outside(first, last) if self._word(at) == "GROUP BY"), last)
        aggregates = [self._inner(first, group)] if group > first else []
        keys = [self._key(*span) for span in self._parts(group + 1, last)]
        place = self.tokens[first].start
        items = separated_texts(place, ", ", [*(shown for shown, _ in keys), *aggregates])
        groups = separated_texts(place, ", ", [key for _, key in keys])
        behind: list[Piece] = [" GROUP BY ", groups] if keys else []
        return _made(rows.select(place, items, behind=behind))

    def _parts(self, first: int, last: int) -> list[tuple[int, int]]:
        """Returns the parts of a list with commas."""
        if first >= last:
            return []
        commas = [at for at in self._outside(first, last) if self._word(at) == ","]
        return [*zip([first, *(at + 1 for at in commas)], [*commas, last], strict=True)]

    def _key(self, first: int, last: int) -> tuple[WrittenText, WrittenText]:
        """Returns a key as the SELECT list has it, and as GROUP BY has it: without a name."""
        if first >= last:
            raise self._fail(first, "GROUP BY has keys with commas between them", "write one")
        if self.tokens[first].token_type == TokenType.NUMBER:
            rule = "a number in AGGREGATE ... GROUP BY is that of a column of the rows before it"
            raise self._fail(first, rule, "write the name of the column")
        if last - first > 2 and self._word(last - 2) == "AS":
            key, name = self._inner(first, last - 2), self._inner(last - 2, last)
            return written(self.tokens[first].start, key, " ", name), key
        return (self._inner(first, last),) * 2

    def _word(self, at: int) -> str:
        return (
            " ".join(self.tokens[at].text.upper().split()) if at < len(self.tokens) else "the end of the text"
        )
