"""FROM: tables, queries in parentheses, window functions and joins."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from sqlglot import TokenType, exp

from panewise.chrono import Duration
from panewise.sql.emit import FIRST_WORDS
from panewise.sql.expressions import ExpressionParser
from panewise.sql.syntax import (
    Argument,
    Derived,
    Expr,
    Join,
    NamedTable,
    Ordered,
    Query,
    Source,
    TableFunction,
    TextSpan,
    Watermark,
)

WINDOWS: Final = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
# Words behind a table that are no alias of it.
STOPS: Final = frozenset(
    {
        "ON",
        "USING",
        "JOIN",
        "INNER",
        "LEFT",
        "RIGHT",
        "FULL",
        "CROSS",
        "NATURAL",
        "SEMI",
        "ANTI",
        "ASOF",
        "FROM",
    }
    | {"WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT"}
    | {"OFFSET", "UNION", "EXCEPT", "MINUS", "INTERSECT", "LATERAL", "PIVOT", "UNPIVOT", "WATERMARK"}
    | {"TABLESAMPLE", "FOR", "MATCH_CONDITION", "WITHIN"}
)
_JOINS: Final = (
    ("JOIN",),
    ("ASOF", "JOIN"),
    ("LEFT", "ASOF", "JOIN"),
    ("ASOF", "LEFT", "JOIN"),
    ("INNER", "JOIN"),
    *(((side, word, "JOIN")) for side in ("LEFT", "RIGHT", "FULL") for word in ("OUTER",)),
    *((side, "JOIN") for side in ("LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI")),
    *(("LEFT", word, "JOIN") for word in ("SEMI", "ANTI")),
)
OPTIONS: Final = frozenset({"order", "position", "null_keys", "max_future_skew"})  # of WITH, for operators
T = TypeVar("T")


class RelationParser(ExpressionParser):
    """Parses the sources of a query."""

    def query(self) -> Query:
        """Parses a query."""
        raise AssertionError("QueryParser has it")

    def separated(self, parse: Callable[[], T]) -> tuple[T, ...]:
        """Parses a list with commas."""
        found = [parse()]
        while self.take(TokenType.COMMA):
            found.append(parse())
        return tuple(found)

    def name(self, rule: str) -> str:
        """Parses a name, with or without backticks.

        Raises:
            SqlError: if there is none.
        """
        token = self._curr
        named = bool(token) and (
            token.token_type == TokenType.IDENTIFIER or token.token_type in self.ID_VAR_TOKENS
        )
        if not named:
            raise self.unexpected(rule, "write a name; other names than words stand in backticks")
        self._advance()
        return token.text

    def column_names(self) -> tuple[str, ...]:
        """Parses a list of names in parentheses."""
        rule = "the names of columns stand in parentheses"
        self.required(TokenType.L_PAREN, rule, "write (a, b)")
        found = self.separated(lambda: self.name("a column has a name"))
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return found

    def at_emit(self) -> bool:
        """Returns whether an EMIT clause begins here. The word alone may be a name."""
        return (
            self.at_word("EMIT")
            and bool(self._next)
            and (self._next.text.upper() in FIRST_WORDS or self._odd_emit())
        )

    def _odd_emit(self) -> bool:
        """Returns whether the word behind EMIT shows that it is no name."""
        follows_a_name = (TokenType.COMMA, TokenType.R_PAREN, TokenType.DOT, TokenType.SEMICOLON)
        return self._next.token_type not in follows_a_name and self._next.text.upper() not in STOPS

    def at_alias(self) -> bool:
        """Returns whether a name without AS follows, which is no word of a clause."""
        token = self._curr
        framed = self.at_word("OVER") and self._next.token_type == TokenType.L_PAREN
        if not token or framed or self.at_emit():
            return False
        if token.token_type == TokenType.IDENTIFIER:
            return True
        first = token.text.upper().split(" ")[0]
        return token.token_type in self.ID_VAR_TOKENS and first not in STOPS

    def skip(self, words: tuple[str, ...]) -> None:
        """Moves to the next of these words that is not in parentheses, or to the end of what surrounds it."""
        depth = 0
        while self._curr:
            if self._curr.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
                depth += 1
            elif self._curr.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
                depth -= 1
                if depth < 0:
                    return
            elif depth == 0 and (
                self._curr.token_type == TokenType.SEMICOLON
                or any(self.at_word(*word.split()) for word in words)
            ):
                return
            self._advance()

    def skip_hint(self) -> None:
        """Skips a hint."""
        while self._curr and self._curr.text != "*/":
            self._advance()
        self._advance()

    def ordered(self) -> Ordered:
        """Parses an expression of ORDER BY."""
        expr = self.expr("an expression follows ORDER BY")
        descending = self.take_words("DESC")
        if not descending:
            self.take_words("ASC")
        first = not descending
        if self.take_words("NULLS", "FIRST"):
            first = True
        elif self.take_words("NULLS", "LAST"):
            first = False
        return Ordered(expr, descending, first)

    def sources(self) -> Source:
        """Parses what follows FROM."""
        index = self._index
        left = self._joined()
        while self.take(TokenType.COMMA):
            left = Join(left, self._joined(), "CROSS JOIN", None, (), self.span_from(index))
        return left

    def _joined(self) -> Source:
        index = self._index
        left = self._source()
        while (words := next((one for one in _JOINS if self.at_word(*one)), None)) is not None:
            self._advance(len(words))
            right = self._source()
            last = self._last_rows() if self.at_word("OVER") else None
            within = self._within() if self.take_words("WITHIN") else None
            match = self._match_condition() if self.take_words("MATCH_CONDITION") else None
            on = self.expr("a condition follows ON") if self.take_words("ON") else None
            using = self.column_names() if on is None and self.take_words("USING") else ()
            span, kind = self.span_from(index), " ".join(words)
            left = Join(left, right, kind, on, using, span, match, within, last)
        return left

    def _match_condition(self) -> Expr:
        rule = "MATCH_CONDITION has a comparison in parentheses"
        self.required(TokenType.L_PAREN, rule, "write MATCH_CONDITION (a.ts >= b.ts)")
        made = self.expr(rule)
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return made

    def _within(self) -> tuple[Duration, Duration]:
        if not self.take(TokenType.L_PAREN):
            length = self._length()
            return length, length
        before = self._length()
        self.required(TokenType.COMMA, "WITHIN (...) has two intervals", "write WITHIN (1 HOUR, 2 HOURS)")
        after = self._length()
        self.required(TokenType.R_PAREN, "WITHIN (...) has two intervals", "close the parenthesis")
        return before, after

    def _length(self) -> Duration:
        """Parses an interval, with or without the word INTERVAL."""
        index = self._index
        if self.at(TokenType.INTERVAL):
            return self.interval()
        if not (self.at(TokenType.NUMBER) or self.at(TokenType.STRING)):
            raise self.unexpected("an interval is expected here", "write INTERVAL '1' HOUR")
        self._advance()
        if (
            self._curr
            and self._curr.token_type in self.ID_VAR_TOKENS
            and self._curr.text.upper() not in STOPS
        ):
            self._advance()
        return self.duration_of(Expr(exp.Null(), self.span_from(index)))

    def _last_rows(self) -> tuple[str, Any, str | None]:
        """Parses OVER (ROWS n PRECEDING), OVER (ORDER BY ts RANGE d PRECEDING) or OVER (LATEST d)."""
        self._advance()
        rule, remedy = (
            "OVER behind a table says which of its rows are joined",
            "write OVER (ROWS 3 PRECEDING)",
        )
        self.required(TokenType.L_PAREN, rule, remedy)
        if self.take_words("LATEST"):
            ttl = None if self.at(TokenType.R_PAREN) else self._length()
            self.required(TokenType.R_PAREN, rule, "close the parenthesis")
            return "latest", ttl, None
        time = self.name("a column follows ORDER BY") if self.take_words("ORDER", "BY") else None
        made: tuple[str, Any, str | None]
        if self.take_words("ROWS"):
            if not (self.at(TokenType.NUMBER) and self._curr.text.isdigit()):
                raise self.unexpected("a number of rows follows ROWS", remedy)
            made = "rows", int(self._curr.text), time
            self._advance()
        elif self.take_words("RANGE"):
            made = "range", self._length(), time
        else:
            raise self.unexpected(rule, remedy)
        if not self.take_words("PRECEDING"):
            raise self.unexpected("these rows are before the row that is joined", "write PRECEDING")
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return made

    def _source(self) -> Source:
        if self.at_word("TABLE") and self._next.token_type == TokenType.L_PAREN:
            ahead = self._tokens[self._index + 2] if self._index + 2 < self._tokens_size else None
            if ahead is not None and ahead.text.upper() in WINDOWS:
                return self._wrapped_window()
        if self._curr and self._curr.text.upper() in WINDOWS and self._next.token_type == TokenType.L_PAREN:
            return self._aliased(self._window())
        if self.at(TokenType.L_PAREN):
            return self._derived()
        return self._table()

    def _wrapped_window(self) -> Source:
        index = self._index
        self._advance(2)
        made = self._window()
        self.required(TokenType.R_PAREN, "TABLE(...) has one window function", "close the parenthesis")
        return self._aliased(made, index)

    def _aliased(self, made: TableFunction, index: int | None = None) -> TableFunction:
        alias, columns = self._alias()
        if columns:
            rule = "the columns of a window function have the names of its table"
            raise self.fail(f"{alias} (...)", rule, "give a name alone", made.span)
        start = made.span.start if index is None else self._tokens[index].start
        end = self._tokens[self._index - 1].end + 1
        return TableFunction(
            made.function,
            made.data,
            made.partition_by,
            made.time,
            made.arguments,
            alias,
            made.name,
            TextSpan(start, end),
        )

    def _alias(self) -> tuple[str | None, tuple[str, ...]]:
        alias = None
        if self.take_words("AS"):
            alias = self.name("a name follows AS")
        elif self.at_alias():
            alias = self.name("a table has a name")
        columns = self.column_names() if alias is not None and self.at(TokenType.L_PAREN) else ()
        return alias, columns

    def _derived(self) -> Source:
        index = self._index
        self._advance()
        if not (self.at(TokenType.L_PAREN) or any(self.at_word(one) for one in ("SELECT", "WITH", "VALUES"))):
            inner = self.sources()
            self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
            return inner
        query = self.query()
        self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        watermark = self._watermark()
        alias, columns = self._alias()
        watermark = watermark or self._watermark()
        return Derived(query, alias, columns, watermark, self.span_from(index))

    def _table(self) -> Source:
        index = self._index
        name = self._table_name()
        text = self.span_from(index)
        options = (
            self._options() if self.at_word("WITH") and self._next.token_type == TokenType.L_PAREN else {}
        )
        if options and not {*options} & OPTIONS:
            text, options = self.span_from(index), {}
        watermark = self._watermark()
        system = self._system_time()
        alias, columns = self._alias()
        watermark = watermark or self._watermark()
        system = system or self._system_time()
        if self._curr and self.at_word("TABLESAMPLE"):
            raise self.unexpected("a sample of a stream has no size", "use WHERE rand() < 0.1")
        span = self.span_from(index)
        return NamedTable(text, name, alias, columns, watermark, span, tuple(options.items()), system)

    def _system_time(self) -> Expr | None:
        found = self.take_words("FOR", "SYSTEM_TIME", "AS", "OF")
        return self.operand("the event time of the left side follows") if found else None

    def _options(self) -> dict[str, str]:
        """Parses WITH (name = value, ...)."""
        begin = self._index
        self._advance(2)
        found: dict[str, str] = {}
        while True:
            name = self._option_word("an option has a name")
            self.take(TokenType.EQ)
            found[name.lower()] = self._option_word("an option has a value")
            if not self.take(TokenType.COMMA):
                break
        self.required(TokenType.R_PAREN, "the options of WITH stand in parentheses", "close the parenthesis")
        unknown = sorted({*found} - OPTIONS)
        if unknown and {*found} & OPTIONS:
            rule = f"options of the operator are {', '.join(sorted(OPTIONS))}, and stand alone"
            raise self.fail(unknown[0], rule, "leave it out", self.span_from(begin))
        return found

    def _option_word(self, rule: str) -> str:
        token = self._curr
        ends = (TokenType.COMMA, TokenType.R_PAREN, TokenType.EQ, TokenType.SEMICOLON)
        if not token or token.token_type in ends:
            raise self.unexpected(rule, "write for example WITH (order = 'id')")
        parts = [token.text]
        self._advance()
        while self.take(TokenType.DOT):
            parts.append(self._curr.text if self._curr else "")
            self._advance()
        return ".".join(parts)

    def _table_name(self) -> str | None:
        """Skips the name of a table, a function or VALUES. Returns the name of a table."""
        rule, remedy = "a table, a query in parentheses or a window function follows", "write its name"
        if self.take(TokenType.L_BRACE):
            name = self.name("a name stands in braces")
            self.required(TokenType.R_BRACE, "a name stands in braces", "close the brace")
            return name
        if self.at_word("VALUES"):
            self._advance()
            self.separated(
                lambda: self._parenthesis(rule, remedy) if self.at(TokenType.L_PAREN) else self.expr()
            )
            return None
        parts = [self.name(rule)]
        while self.take(TokenType.DOT):
            parts.append(self.name("a name follows the dot"))
        if self.at(TokenType.L_PAREN):
            self._parenthesis(rule, remedy)
            return None
        return ".".join(parts)

    def _parenthesis(self, rule: str, remedy: str) -> None:
        self.required(TokenType.L_PAREN, rule, remedy)
        self.skip(())
        self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")

    def _watermark(self) -> Watermark | None:
        index = self._index
        if not self.take_words("WATERMARK"):
            return None
        expr = self.operand("a column of event times follows WATERMARK")
        name = self.name("a name follows AS") if self.take_words("AS") else None
        remedy = "write WATERMARK ts DELAY OF INTERVAL '10' MINUTES"
        if not self.take_words("DELAY", "OF"):
            raise self.unexpected("DELAY OF and an interval follow the column of a WATERMARK", remedy)
        delay = self.operand("an interval follows DELAY OF")
        column = expr.node
        if isinstance(column, exp.Column):
            plain = name is None or name == column.name
            return Watermark(name or column.name, delay, None if plain else expr, self.span_from(index))
        if name is None:
            raise self.fail(
                "an expression in WATERMARK", "it becomes a column", "add AS and its name", expr.span
            )
        return Watermark(name, delay, expr, self.span_from(index))

    def _window(self) -> TableFunction:
        index = self._index
        function = self._curr.text.upper()
        self._advance(2)
        found: dict[str, Any] = {"data": None, "partition_by": (), "time": None}
        arguments: list[Argument] = []
        self._window_argument(function, found, arguments)
        while self.take(TokenType.COMMA):
            self._window_argument(function, found, arguments)
        self.required(TokenType.R_PAREN, f"{function}(...) is closed", "close the parenthesis")
        name = TextSpan(self._tokens[index].start, self._tokens[index].end + 1)
        if found["data"] is None:
            rule = f"{function} has a table"
            raise self.fail(function, rule, f"write {function}(TABLE t, DESCRIPTOR(ts), ...)", name)
        span = self.span_from(index)
        return TableFunction(
            function, found["data"], found["partition_by"], found["time"], tuple(arguments), None, name, span
        )

    def _window_argument(self, function: str, found: dict[str, Any], arguments: list[Argument]) -> None:
        named = None
        if self._next and self._next.token_type == TokenType.FARROW:
            named = self.name("an argument has a name").lower()
            self._advance()
        if found["data"] is None and named in (None, "data", "input", "table"):
            found["data"] = self._data()
            if self.take_words("PARTITION", "BY"):
                bare = not self.at(TokenType.L_PAREN)
                found["partition_by"] = (self.expr(),) if bare else self._list()
                while bare and self._another_partition(function):
                    found["partition_by"] += (self.expr(),)
                if bare and len(found["partition_by"]) > 1 and self._length_follows():
                    *partition, found["time"] = found["partition_by"]
                    found["partition_by"] = tuple(partition)
            return
        if found["time"] is None and self._is_time(named, arguments):
            found["time"] = self._descriptor()
            return
        arguments.append(self._argument(named))

    def _another_partition(self, function: str) -> bool:
        """Skips a comma, if another column of PARTITION BY follows it."""
        ahead = self._tokens[self._index + 1] if self._index + 1 < self._tokens_size else None
        behind = self._tokens[self._index + 2] if self._index + 2 < self._tokens_size else None
        more = (
            self.at(TokenType.COMMA)
            and ahead is not None
            and behind is not None
            and ahead.text.upper() not in ("DESCRIPTOR", "INTERVAL")
            and ahead.token_type not in (TokenType.NUMBER, TokenType.STRING)
            and behind.token_type == TokenType.COMMA
        )
        if more:
            self._advance()
        return more

    def _length_follows(self) -> bool:
        """Returns whether an interval follows: then the last name before it is the event time."""
        return self.at(TokenType.COMMA) and self._next.token_type in (TokenType.INTERVAL, TokenType.STRING)

    def _is_time(self, named: str | None, arguments: list[Argument]) -> bool:
        if named is not None:
            return named in ("timecol", "time", "on_time")
        plain = bool(self._curr) and self._curr.token_type not in (
            TokenType.NUMBER,
            TokenType.INTERVAL,
            TokenType.STRING,
        )
        return not arguments and plain

    def _data(self) -> Source:
        bare = self.take_words("TABLE")
        if bare and self.at(TokenType.L_PAREN):
            return self._derived()
        return self._source()

    def _list(self) -> tuple[Expr, ...]:
        self._advance()
        found = self.separated(self.expr)
        self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        return found

    def _descriptor(self) -> Expr:
        if not (self.at_word("DESCRIPTOR") and self._next.token_type == TokenType.L_PAREN):
            return self.operand("the column of the event time follows")
        self._advance(2)
        made = self.operand("DESCRIPTOR has the column of the event time")
        self.required(TokenType.R_PAREN, "DESCRIPTOR has one column", "close the parenthesis")
        return made

    def _argument(self, named: str | None) -> Argument:
        if self.at(TokenType.NUMBER) and self._next.text.upper() in ("ROWS", "ROW"):
            index = self._index
            value = Expr(exp.Literal.number(self._curr.text), TextSpan(self._curr.start, self._curr.end + 1))
            self._advance(2)
            return Argument(named, Expr(value.node, self.span_from(index)), True)
        return Argument(named, self.operand("an interval or a number of rows follows"), False)
