"""The parser of streaming queries: Spark's queries, with window functions, WATERMARK and EMIT.

It reads the clauses of a query itself, and leaves expressions to :mod:`panewise.sql.parsing.expressions`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.errors import ParseError

from panewise.errors import SqlError
from panewise.sql.parsing.emit_clause import EmitParser
from panewise.sql.parsing.expressions import PlacedError, tokens_of
from panewise.sql.parsing.groups import group_by
from panewise.sql.parsing.limits import check_nesting, too_deep
from panewise.sql.parsing.syntax import (
    Body,
    Cte,
    Expr,
    Opaque,
    Query,
    Select,
    SelectItem,
    SetOperation,
    Streamed,
    TextSpan,
)
from panewise.sql.parsing.window_tables import at_window_clause, window_clause
from panewise.sql.parsing.written_text import Origin

STATEMENTS: Final = frozenset({"SELECT", "INSERT", "CREATE", "SET", "WITH"})  # words that begin a statement
# What to do about tokens after the end of a query.
_REMEDIES: Final[Mapping[Any, str]] = {
    TokenType.STRING: "write a name in backticks",
    TokenType.ARROW: "write get_json_object(column, '$.name') for a field of JSON",
    TokenType.DARROW: "write get_json_object(column, '$.name') for a field of JSON",
}
# What to do about words in expressions that only other systems have.
_IN_EXPRESSIONS: Final[Mapping[str, str]] = {
    "TO": "write date_trunc('HOUR', ts) for FLOOR(ts TO HOUR), and the hour after it for CEIL(ts TO HOUR)"
}
_SETS: Final[Mapping[str, Any]] = {
    "UNION": "UNION",
    "EXCEPT": "EXCEPT",
    "MINUS": "EXCEPT",
    "INTERSECT": "INTERSECT",
}
# Clauses of a SELECT that only Spark reads, with the words that may follow theirs.
_OTHERS: Final = ("LATERAL VIEW", "PIVOT", "UNPIVOT", "WINDOW", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY")
_TAIL: Final = ("ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "LIMIT", "OFFSET")
_CLAUSES: Final = (
    *("FROM", "WHERE", "GROUP BY", "HAVING", "QUALIFY", "EMIT", "UNION", "EXCEPT", "MINUS", "INTERSECT"),
    *_OTHERS,
    *_TAIL,
)
STREAMED: Final = ("ISTREAM", "DSTREAM", "RSTREAM")
MAX_DEPTH: Final = 60  # of queries in queries; more would exhaust Python's stack


class QueryParser(EmitParser):
    """Parses a whole text.

    It is four classes of ours, one of them for EMIT. sqlglot's methods for expressions call the one for
    tables in them, which RelationParser overrides. What they do not call, such as GROUP BY, is a function of
    the parser.
    """

    depth = 0

    def query(self) -> Query:
        """Parses a query, with WITH before it and EMIT after it."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.unexpected(f"queries are nested at most {MAX_DEPTH} deep", "use WITH")
        index = self._index
        ctes = self._ctes() if self.take_words("WITH") else ()
        body = self._body()
        tail, order = self._tail()
        emit = self.emit_clause(_CLAUSES) if self.at_emit() else None
        if emit is not None and not tail:
            tail, order = self._tail()
        self.depth -= 1
        return Query(ctes, body, tail, emit, self.span_from(index), order)

    def _ctes(self) -> tuple[Cte, ...]:
        if self.at_word("RECURSIVE"):
            raise self.unexpected("a recursive query reads its own rows again", "write a query without it")
        ctes = [self._cte()]
        while self.take(TokenType.COMMA):
            ctes.append(self._cte())
        return tuple(ctes)

    def _cte(self) -> Cte:
        name = self.name("a query of WITH has a name")
        columns = self.column_names() if self.at(TokenType.L_PAREN) else ()
        self.take_words("AS")
        rule = "a query of WITH stands in parentheses"
        self.required(TokenType.L_PAREN, rule, "write WITH name AS (SELECT ...)")
        query = self.query()
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return Cte(name, columns, query)

    def _body(self) -> Body:
        index = self._index
        left: Body = self._operand()
        while (word := next((known for known in _SETS if self.at_word(known)), None)) is not None:
            self._advance()
            every = self.take_words("ALL")
            if not every:
                self.take_words("DISTINCT")
            right = self._operand()
            left = SetOperation(_SETS[word], every, left, right, self.span_from(index))
        return left

    def _operand(self) -> Body:
        index = self._index
        if self.take(TokenType.L_PAREN):
            inner = self.query()
            self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
            return inner
        if self.at_word("SELECT"):
            return self._select()
        word = next((word for word in STREAMED if self.at_word(word)), None)
        if word is not None and self.at(TokenType.L_PAREN, ahead=1):
            return self._streamed(word)
        if self.at_word("VALUES") or self.at_word("TABLE"):
            self._advance()
            self.skip(_CLAUSES)
            return Opaque(self.span_from(index))
        raise self.unexpected(
            "a query begins with SELECT, WITH, VALUES or TABLE", "write SELECT ... FROM ..."
        )

    def _streamed(self, word: Any) -> Streamed:
        """Parses ISTREAM(SELECT ...) and the like."""
        index = self._index
        self._advance(2)
        query = self.query()
        self.required(TokenType.R_PAREN, f"{word} has a query in parentheses", "close the parenthesis")
        return Streamed(word, query, self.span_from(index))

    def _distinct(self) -> bool:
        """Parses DISTINCT or ALL."""
        if not self.take_words("DISTINCT"):
            self.take_words("ALL")
            return False
        if self.at_word("ON"):
            rule = "DISTINCT has all columns of the SELECT list"
            raise self.unexpected(
                rule, "select ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) = 1 in QUALIFY"
            )
        return True

    def _streamed_list(self) -> Any:
        """Parses the word and the parenthesis of ISTREAM(...) around a list. Returns the word, or None."""
        word = next((word for word in STREAMED if self.at_word(word)), None)
        if word is None or not self.at(TokenType.L_PAREN, ahead=1):
            return None
        depth, ahead = 1, 2
        while depth and self._index + ahead < len(self._tokens):
            depth += self.at(TokenType.L_PAREN, ahead=ahead) - self.at(TokenType.R_PAREN, ahead=ahead)
            ahead += 1
        if self.word(ahead) != "FROM":
            return None
        self._advance(2)
        return word

    def _select(self) -> Select | Streamed:
        index = self._index
        self._advance()
        self.take(TokenType.HINT)  # it has no effect on rows
        self._check_stream()
        distinct = self._distinct()
        streamed = self._streamed_list()
        items = self.separated(self._item)
        if streamed is not None:
            self.required(TokenType.R_PAREN, f"{streamed} has a SELECT list", "close the parenthesis")
        source, source_span = None, None
        if self.take_words("FROM"):
            begin = self._index
            source = self.sources()
            if at_window_clause(self):
                source = window_clause(self, source)
            source_span = self.span_from(begin)
        others = self._others()
        where = self._after("WHERE")
        group = group_by(self) if self.take_words("GROUP", "BY") else None
        having = self._after("HAVING")
        qualify = self._after("QUALIFY")
        begin = self._index
        windows = self._named_windows() if self.clause(("WINDOW",)) else ()
        windows_span = self.span_from(begin) if windows else None
        qualify = qualify or self._after("QUALIFY")
        span = self.span_from(index)
        clauses = items, distinct, source, where, group, having, qualify, others
        select = Select(*clauses, span, source_span, windows, windows_span)
        return select if streamed is None else Streamed(streamed, Query((), select, (), None, span), span)

    def _check_stream(self) -> None:
        """Refuses the word STREAM before a SELECT list, unless it can be a column."""
        if not self.at_word("STREAM"):
            return
        first, second = self.word(1), self.word(2)
        whole = first == "*" and second in ("FROM", ",", "EXCEPT")
        called = self.at(TokenType.VAR, ahead=1) and second == "("
        if whole or called or first in ("DISTINCT", "ALL", "CASE"):
            rule = "what a query reads decides whether it is one over streams"
            raise self.unexpected(rule, "leave STREAM out")

    def _others(self) -> tuple[tuple[str, TextSpan], ...]:
        """Skips clauses after FROM that only Spark reads."""
        others: list[tuple[str, TextSpan]] = []
        while (word := self.clause(("LATERAL VIEW", "PIVOT", "UNPIVOT"))) is not None:
            others.append((word, self._skipped(word)))
        return tuple(others)

    def _named_windows(self) -> tuple[exp.Expr, ...]:
        begin = self._index
        self._advance()
        if any(self.at_word(word) for word in ("TUMBLING", "HOPPING", "SESSION")):
            rule = "a clause WINDOW with windows stands behind FROM (semantics 46.63)"
            raise self.unexpected(rule, "write FROM t WINDOW TUMBLING (SIZE 1 HOUR) WHERE ... GROUP BY k")
        windows = self.separated(self._parse_named_window)
        if not all(isinstance(window, exp.Window) and window.this is not None for window in windows):
            raise self.unexpected(
                "WINDOW has names with windows", "write WINDOW w AS (PARTITION BY k ORDER BY ts)"
            )
        names = [str(window.this.name).lower() for window in windows if window is not None]
        twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if twice is not None:
            self._retreat(begin)
            raise self.unexpected(
                f"each window of the clause has another name; {twice} has two", "rename one"
            )
        return tuple(window for window in windows if window is not None)

    def _after(self, word: str) -> Expr | None:
        return self.expr(f"a condition follows {word}") if self.take_words(word) else None

    def _item(self) -> SelectItem:
        index = self._index
        star = self._star()
        expr = self.expr("a SELECT has columns") if star is None else star
        alias = None
        if self.take_words("AS"):
            alias = self.name("a name follows AS")
        elif star is None and self.at_alias():
            alias = self.name("a column has a name")
        return SelectItem(expr, alias, self.span_from(index))

    def _star(self) -> Expr | None:
        """Parses `*` or `name.*`, with EXCEPT (...)."""
        index, ahead = self._index, 0
        while self.at(TokenType.DOT, ahead=ahead + 1):
            ahead += 2
        if not self.at(TokenType.STAR, ahead=ahead):
            return None
        self._advance(ahead + 1)
        if self.at_word("EXCEPT") and self.at(TokenType.L_PAREN, ahead=1):
            self._advance()
            self.column_names()
        return Expr(exp.Star(), self.span_from(index))

    def _tail(self) -> tuple[tuple[tuple[str, TextSpan], ...], tuple[Expr, ...]]:
        clauses: list[tuple[str, TextSpan]] = []
        order: tuple[Expr, ...] = ()
        while (word := self.clause(_TAIL)) is not None:
            begin = self._index
            if word == "ORDER BY":
                self.take_words("ORDER", "BY")
                order = self.separated(self._ordered)
                clauses.append((word, self.span_from(begin)))
            else:
                clauses.append((word, self._skipped(word)))
        return tuple(clauses), order

    def _ordered(self) -> Expr:
        """Parses an expression of ORDER BY, and the words after it. Spark sorts by them."""
        expr = self.expr("an expression follows ORDER BY")
        if not self.take_words("DESC"):
            self.take_words("ASC")
        if not self.take_words("NULLS", "FIRST"):
            self.take_words("NULLS", "LAST")
        return expr

    def _skipped(self, word: str) -> TextSpan:
        begin = self._index
        self.take_words(*word.split())
        self.skip(_CLAUSES)
        return self.span_from(begin)


def parse(sql: str, origin: Origin | None = None) -> tuple[Query, QueryParser]:
    """Returns the syntax of a query, and the parser, which knows the characters of each expression.

    `origin` is where a text comes from that is not the user's own.

    Raises:
        SqlError: at the first token that does not fit.

    >>> parse("SELECT k FROM t WHERE v > 3")[0].body.where.span
    TextSpan(start=22, end=27)
    """
    parser = QueryParser(dialect="spark")
    tokens = tokens_of(sql)
    parser.begin(sql, tokens, origin)
    check_nesting(parser.origin, tokens)
    query = _guarded(parser, parser.query)
    while parser.take(TokenType.SEMICOLON):
        pass
    if parser._curr:
        remedy = _REMEDIES.get(parser._curr.token_type, "correct the clause before it, or its order")
        if parser.word() in STATEMENTS:
            remedy = f"write a semicolon before {parser.word()} if it begins another statement of a script"
        raise parser.unexpected("nothing follows the end of a query", remedy)
    return query, parser


def parse_expression(text: str) -> tuple[Expr, QueryParser]:
    """Returns an expression of a text, and the parser, which knows its characters.

    Raises:
        SqlError: if the text does not begin with an expression.
        ParseError: for what sqlglot refuses.
    """
    parser = QueryParser(dialect="spark")
    parser.begin(text, tokens_of(text))
    return parser.expr(), parser


def _guarded(parser: QueryParser, parse: Callable[[], Query]) -> Query:
    """Returns what `parse` returns; errors of sqlglot become ours."""
    try:
        return parse()
    except ParseError as error:
        rule = "an expression is written as in Spark's SQL"
        message, at = str(error).split("\n", 1)[0], parser._curr or parser._prev
        if "<class" in message:  # sqlglot's own words for a part that is missing
            message = f"an expression that is not complete at {parser.text_of(at)!r}"
        remedy = _IN_EXPRESSIONS.get(at.text.upper(), "correct it")
        if isinstance(error, PlacedError):
            raise parser.fail(message, rule, remedy, error.place) from None
        raise SqlError(message, rule, remedy) from None
    except SqlError:
        raise
    except RecursionError:
        at = parser._curr or parser._prev
        raise too_deep(parser.origin, TextSpan(at.start, at.end + 1)) from None
    except (AttributeError, TypeError, ValueError, IndexError, KeyError) as error:
        # sqlglot does not check everything that it reads.
        raised = parser.unexpected("an expression is written as in Spark's SQL", "correct it")
        raise raised from error
