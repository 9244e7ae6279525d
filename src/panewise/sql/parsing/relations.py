"""FROM: tables, queries in parentheses, window functions and joins.

Tables may have WITH (...), WATERMARK, FOR SYSTEM_TIME AS OF and windows of CQL (semantics 46.23).
"""

from dataclasses import replace
from typing import Any, Final

from sqlglot import TokenType, exp

from panewise.chrono import Duration
from panewise.sql.parsing.expressions import SPAN, ExpressionParser
from panewise.sql.parsing.syntax import (
    HOWS,
    CqlWindow,
    Derived,
    Expr,
    Join,
    JoinedRows,
    NamedTable,
    Query,
    Source,
    TableFunction,
    Watermark,
)
from panewise.sql.parsing.window_tables import WINDOWS, at_window, check_name, window_function

# Options of WITH for the operator that reads the table: fields of its specification, and how Spark runs it.
RUN_OPTIONS: Final = frozenset({"finish", "shards", "clock"})
OPTIONS: Final = RUN_OPTIONS | {
    *("order", "position", "null_keys", "max_future_skew", "allowed_lateness", "deletes")
}
_WINDOW: Final = "a table may have a window of CQL in brackets"
_WINDOWS: Final = "write [ROWS 3], [RANGE 2 MINUTES], [RANGE UNBOUNDED], [NOW] or [PARTITION BY k ROWS 100]"
UNNAMED: Final = "subquery"  # the name of a table of a query in an expression that gives it none
# Words after FROM that only other systems have: the rule, and what to do.
_OTHERS: Final = (
    (("MATCH_RECOGNIZE",), "patterns of rows are not matched", "compare rows with LAG(...) OVER (...)"),
    (
        ("TIMESTAMP", "BY"),
        "WATERMARK names the event time",
        "write WATERMARK ts DELAY OF INTERVAL '0' SECONDS",
    ),
    (
        ("LATERAL",),
        "LATERAL stands before VIEW",
        "write FROM t LATERAL VIEW explode(items) e AS item, or JOIN rates FOR SYSTEM_TIME AS OF t.ts",
    ),
    (("TABLESAMPLE",), "a sample of a stream has no size", "use WHERE rand() < 0.1"),
)
_OF_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT)
_JOINS: Final = tuple(tuple(words.split()) for words in HOWS)


class RelationParser(ExpressionParser):
    """Parses the sources of a query."""

    def query(self) -> Query:
        """Parses a query in parentheses."""
        raise AssertionError("QueryParser has it")

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
        while (words := self._join_words()) is not None:
            right = self._source()
            last = self._joined_rows() if self.at_word("OVER") else None
            within = self._within() if self.take_words("WITHIN") else None
            grace = self.length() if within is not None and self.take_words("GRACE", "PERIOD") else None
            match = self._match_condition() if self.take_words("MATCH_CONDITION") else None
            on = self.expr("a condition follows ON") if self.take_words("ON") else None
            using = self.column_names() if on is None and self.take_words("USING") else ()
            span, kind = self.span_from(index), " ".join(words)
            left = Join(left, right, kind, on, using, span, match, within, last, grace)
        return left

    def _join_words(self) -> tuple[str, ...] | None:
        """Parses the words of a join, None if there is none."""
        natural = self.at_word("NATURAL")
        if natural:
            self._advance()
        words = next((words for words in _JOINS if self.at_word(*words)), None)
        if words is None:
            self._retreat(self._index - natural)
            return None
        self._advance(len(words))
        return ("NATURAL", *words) if natural else words

    def _match_condition(self) -> Expr:
        rule = "MATCH_CONDITION has a comparison in parentheses"
        self.required(TokenType.L_PAREN, rule, "write MATCH_CONDITION (a.ts >= b.ts)")
        condition = self.expr(rule)
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return condition

    def _within(self) -> tuple[Duration, Duration]:
        if not self.take(TokenType.L_PAREN):
            length = self.length()
            return length, length
        before = self.length()
        self.required(TokenType.COMMA, "WITHIN (...) has two intervals", "write WITHIN (1 HOUR, 2 HOURS)")
        after = self.length()
        self.required(TokenType.R_PAREN, "WITHIN (...) has two intervals", "close the parenthesis")
        return before, after

    def _joined_rows(self) -> JoinedRows:
        """Parses OVER (ROWS n PRECEDING), OVER (ORDER BY ts RANGE d PRECEDING) or OVER (LATEST d)."""
        self._advance()
        rule, remedy = (
            "OVER behind a table says which of its rows are joined",
            "write OVER (ROWS 3 PRECEDING)",
        )
        self.required(TokenType.L_PAREN, rule, remedy)
        if self.take_words("LATEST"):
            ttl = None if self.at(TokenType.R_PAREN) else self.length()
            self.required(TokenType.R_PAREN, rule, "close the parenthesis")
            return JoinedRows("latest", ttl, None)
        time = self.name("a column follows ORDER BY") if self.take_words("ORDER", "BY") else None
        if self.take_words("ROWS"):
            rows = JoinedRows("rows", self.count("a number of rows follows ROWS", remedy), time)
        elif self.take_words("RANGE"):
            rows = JoinedRows("range", self.length(), time)
        else:
            raise self.unexpected(rule, remedy)
        if not self.take_words("PRECEDING"):
            raise self.unexpected(
                "the rows in OVER behind a table are those before the row that is joined", "write PRECEDING"
            )
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return rows

    def _source(self) -> Source:
        """Parses a table, a query in parentheses or a window function."""
        self._refuse_others()
        index = self._index
        wrapped = self._at_wrapped_window()
        if wrapped:
            self._advance(2)  # TABLE(TUMBLE(...))
        if wrapped or at_window(self):
            window = window_function(self, self._data)
            if wrapped:
                rule = "TABLE(...) has one window function"
                self.required(TokenType.R_PAREN, rule, "close the parenthesis")
            return self._aliased(window, index)
        return self._derived() if self.at(TokenType.L_PAREN) else self._table()

    def _at_wrapped_window(self) -> bool:
        return self.at_word("TABLE") and self.at(TokenType.L_PAREN, ahead=1) and self.word(2) in WINDOWS

    def _data(self) -> Source:
        """Parses the table of a window function: a name or a query, after TABLE or without it."""
        bare = self.take_words("TABLE")
        return self._derived() if bare and self.at(TokenType.L_PAREN) else self._source()

    def _aliased(self, window: TableFunction, index: int) -> TableFunction:
        """Parses the name after a window function that begins at a token."""
        alias, columns = self._alias_and_columns()
        if columns:
            rule = "the columns of a window function have the names of its table"
            raise self.fail(f"{alias} (...)", rule, "give a name alone", window.span)
        return replace(window, alias=alias, span=self.span_from(index))

    def _alias_and_columns(self) -> tuple[str | None, tuple[str, ...]]:
        """Parses the name that a query gives to a table, and the names of its columns."""
        self._refuse_others()
        alias = None
        if self.take_words("AS"):
            alias = self.name("a name follows AS")
        elif self.at_alias():
            alias = self.name("a table has a name")
        columns = self.column_names() if alias is not None and self.at(TokenType.L_PAREN) else ()
        return alias, columns

    def _refuse_others(self) -> None:
        """Refuses a clause of another system."""
        for words, rule, remedy in _OTHERS:
            if self.at_word(*words) and self.word(len(words)) != "VIEW":
                raise self.unexpected(rule, remedy)

    def _table(self) -> Source:
        """Parses a table by its name."""
        index = self._index
        name = self._table_name()
        text = self.span_from(index)
        options = self._options() if self.at_word("WITH") and self.at(TokenType.L_PAREN, ahead=1) else {}
        if options and not {*options} & OPTIONS:
            text, options = self.span_from(index), {}
        window = self._cql_window()
        watermark, system = self._watermark(), self._system_time()
        alias, columns = self._alias_and_columns()
        watermark, system = watermark or self._watermark(), system or self._system_time()
        window = window or self._cql_window()
        self._refuse_others()
        span = self.span_from(index)
        table = NamedTable(
            text, name, alias, columns, watermark, span, tuple(options.items()), system, window
        )
        if options:
            self.unread.add_optional(table)
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
        check_name(self)
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
            rule = "an expression in WATERMARK becomes a column, which has a name"
            raise self.fail("an expression in WATERMARK", rule, "add AS and its name", expr.span)
        return Watermark(name, delay, expr, self.span_from(index))

    def _derived(self) -> Source:
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
        alias, columns = self._alias_and_columns()
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

    def _at_watermark(self) -> bool:
        """Returns whether the name of a table is next, and WATERMARK behind it."""
        ahead = 0
        while self.at(*_OF_NAMES, ahead=ahead):
            if ahead and self.word(ahead) == "WATERMARK":
                return True
            ahead += 1
        return False

    def _parse_table(self, *args: Any, **named: Any) -> exp.Expr | None:
        """Parses a table of a query in an expression. Spark does not know window functions and WATERMARK."""
        index = self._index
        own = at_window(self) or self._at_wrapped_window() or self._at_watermark()
        node: exp.Expr | None = self._own_table() if own else super()._parse_table(*args, **named)
        if isinstance(node, exp.Subquery) or (own and node is not None):
            node.meta[SPAN] = (index, self._index)
        return node

    def _own_table(self) -> exp.Table:
        source = self._source()
        assert isinstance(source, (NamedTable, TableFunction))
        self.unread.add_embedded(source)
        name = source.alias or (source.name if isinstance(source, NamedTable) else None)
        alias = exp.TableAlias(this=exp.to_identifier(source.alias)) if source.alias else None
        return exp.Table(this=exp.to_identifier(name or UNNAMED), alias=alias)
