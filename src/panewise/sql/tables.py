"""Tables in FROM, with WITH (...), WATERMARK, FOR SYSTEM_TIME AS OF and windows of CQL (semantics 46.23)."""

from typing import Final

from sqlglot import TokenType, exp

from panewise.sql.clauses import ClauseParser
from panewise.sql.syntax import CqlWindow, Derived, Expr, NamedTable, Source, Watermark

# Options of WITH for the operator that reads the table: fields of its specification, and how Spark runs it.
RUN_OPTIONS: Final = frozenset({"finish", "shards", "clock"})
OPTIONS: Final = RUN_OPTIONS | {"order", "position", "null_keys", "max_future_skew", "deletes"}
_WINDOW: Final = "a table may have a window of CQL in brackets"
_WINDOWS: Final = "write [ROWS 3], [RANGE 2 MINUTES], [RANGE UNBOUNDED], [NOW] or [PARTITION BY k ROWS 100]"


class TableParser(ClauseParser):
    """Parses tables."""

    def alias_and_columns(self) -> tuple[str | None, tuple[str, ...]]:
        """Parses the name that a query gives to a table, and the names of its columns."""
        alias = None
        if self.take_words("AS"):
            alias = self.name("a name follows AS")
        elif self.at_alias():
            alias = self.name("a table has a name")
        columns = self.column_names() if alias is not None and self.at(TokenType.L_PAREN) else ()
        return alias, columns

    def table(self) -> Source:
        """Parses a table by its name."""
        index = self._index
        name = self._table_name()
        text = self.span_from(index)
        options = (
            self._options() if self.at_word("WITH") and self._next.token_type == TokenType.L_PAREN else {}
        )
        if options and not {*options} & OPTIONS:
            text, options = self.span_from(index), {}
        window = self._cql_window()
        watermark, system = self._watermark(), self._system_time()
        alias, columns = self.alias_and_columns()
        watermark, system = watermark or self._watermark(), system or self._system_time()
        window = window or self._cql_window()
        if self._curr and self.at_word("TABLESAMPLE"):
            raise self.unexpected("a sample of a stream has no size", "use WHERE rand() < 0.1")
        span = self.span_from(index)
        table = NamedTable(
            text, name, alias, columns, watermark, span, tuple(options.items()), system, window
        )
        if options:
            self.optional[span.start] = table
        return table

    def _system_time(self) -> Expr | None:
        if not self.take_words("FOR", "SYSTEM_TIME", "AS", "OF"):
            return None
        return self.operand("the event time of the left side follows")

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
            plain = name is None or (name == column.name and not column.table)  # else a field of a struct
            return Watermark(name or column.name, delay, None if plain else expr, self.span_from(index))
        if name is None:
            raise self.fail(
                "an expression in WATERMARK",
                "an expression in WATERMARK becomes a column, which has a name",
                "add AS and its name",
                expr.span,
            )
        return Watermark(name, delay, expr, self.span_from(index))

    def derived(self) -> Source:
        """Parses a query, or a join, in parentheses."""
        index = self._index
        self._advance()
        if not (
            self.at(TokenType.L_PAREN) or any(self.at_word(word) for word in ("SELECT", "WITH", "VALUES"))
        ):
            inner = self.sources()
            self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
            return inner
        query = self.query()
        self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        watermark, system = self._watermark(), self._system_time()
        alias, columns = self.alias_and_columns()
        watermark, system = watermark or self._watermark(), system or self._system_time()
        return Derived(query, alias, columns, watermark, self.span_from(index), system)

    def _options(self) -> dict[str, str]:
        """Parses WITH (name = value, ...)."""
        begin = self._index
        self._advance(2)
        options: dict[str, str] = {}
        while True:
            name = self._option_word("an option has a name")
            self.take(TokenType.EQ)
            options[name.lower()] = self._option_word("an option has a value")
            if not self.take(TokenType.COMMA):
                break
        self.required(TokenType.R_PAREN, "the options of WITH stand in parentheses", "close the parenthesis")
        unknown = sorted({*options} - OPTIONS)
        if unknown and {*options} & OPTIONS:
            known = ", ".join(sorted(OPTIONS))
            rule = f"WITH has options of the operator or of Spark's source, not both; the former are {known}"
            raise self.fail(unknown[0], rule, "leave it out", self.span_from(begin))
        return options

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

    def _cql_window(self) -> CqlWindow | None:
        """Parses a window in brackets, if one follows.

        Raises:
            SqlError: for other words in brackets.
        """
        index = self._index
        if not self.take(TokenType.L_BRACKET):
            return None
        partition: tuple[Expr, ...] = ()
        if self.take_words("PARTITION", "BY"):
            partition = self.separated(self.operand)
        kind, length, slide = self._extent_of_window()
        time = self.name("a column of event times follows ON") if self.take_words("ON") else None
        self.required(TokenType.R_BRACKET, _WINDOW, _WINDOWS)
        window = CqlWindow(kind, length, slide, partition, time, self.span_from(index))
        if partition and kind != "rows":
            rule = "PARTITION BY is for windows of rows; windows of time contain the rows of all keys"
            raise self.fail("PARTITION BY", rule, "leave it out", window.span)
        return window

    def _extent_of_window(self) -> tuple[str, object, object]:
        """Returns the kind of a window, its length and its slide."""
        if self.take_words("NOW"):
            return "now", None, None
        if self.take_words("UNBOUNDED"):
            return "unbounded", None, None
        if self.take_words("ROWS") or self.take_words("ROW"):
            if self.take_words("UNBOUNDED"):
                return "unbounded", None, None
            rows = self.count("a number of rows follows ROWS", _WINDOWS)
            return "rows", rows, self.count(_WINDOW, _WINDOWS) if self.take_words("SLIDE") else None
        if self.take_words("RANGE"):
            if self.take_words("UNBOUNDED"):
                return "unbounded", None, None
            length = self.length()
            return "range", length, self.length() if self.take_words("SLIDE") else None
        raise self.unexpected(_WINDOW, _WINDOWS)
