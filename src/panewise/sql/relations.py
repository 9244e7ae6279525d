"""FROM: tables, queries in parentheses, window functions and joins."""

from typing import Any, Final

from sqlglot import TokenType, exp

from panewise.chrono import Duration
from panewise.sql.expressions import SPAN
from panewise.sql.syntax import Expr, Join, JoinedRows, NamedTable, Source, TableFunction
from panewise.sql.window_tables import WINDOWS, WindowTableParser

UNNAMED: Final = "subquery"  # the name of a table of a query in an expression that gives it none
_OF_NAMES: Final = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT)
_JOINS: Final = (
    ("JOIN",),
    ("ASOF", "JOIN"),
    ("LEFT", "ASOF", "JOIN"),
    *(("ASOF", kind, "JOIN") for kind in ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")),
    *(("ASOF", side, "OUTER", "JOIN") for side in ("LEFT", "RIGHT", "FULL")),
    ("INNER", "JOIN"),
    *(((side, word, "JOIN")) for side in ("LEFT", "RIGHT", "FULL") for word in ("OUTER",)),
    *((side, "JOIN") for side in ("LEFT", "RIGHT", "FULL", "CROSS", "SEMI", "ANTI")),
    *(("LEFT", word, "JOIN") for word in ("SEMI", "ANTI")),
)


class RelationParser(WindowTableParser):
    """Parses the sources of a query."""

    def sources(self) -> Source:
        """Parses what follows FROM."""
        index = self._index
        left = self._joined()
        while self.take(TokenType.COMMA):
            left = Join(left, self._joined(), "CROSS JOIN", None, (), self.span_from(index))
        return left

    def _joined(self) -> Source:
        index = self._index
        left = self.source()
        while (words := self._join_words()) is not None:
            right = self.source()
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

    def source(self) -> Source:
        """Parses a table, a query in parentheses or a window function."""
        if self._at_wrapped_window():
            return self.wrapped_window()
        if self._at_window():
            return self.aliased(self.window())
        if self.at(TokenType.L_PAREN):
            return self.derived()
        return self.table()

    def _at_window(self) -> bool:
        called = bool(self._next) and self._next.token_type == TokenType.L_PAREN
        return called and self._curr.text.upper() in WINDOWS

    def _at_wrapped_window(self) -> bool:
        if not (self.at_word("TABLE") and self._next and self._next.token_type == TokenType.L_PAREN):
            return False
        ahead = self._tokens[self._index + 2] if self._index + 2 < self._tokens_size else None
        return ahead is not None and ahead.text.upper() in WINDOWS

    def _at_watermark(self) -> bool:
        """Returns whether the name of a table is next, and WATERMARK behind it."""
        index = self._index
        while index < self._tokens_size and self._tokens[index].token_type in _OF_NAMES:
            if index > self._index and self._tokens[index].text.upper() == "WATERMARK":
                return True
            index += 1
        return False

    def _parse_table(self, *args: Any, **named: Any) -> exp.Expr | None:
        """Parses a table of a query in an expression. Spark does not know window functions and WATERMARK."""
        index = self._index
        own = self._at_window() or self._at_wrapped_window() or self._at_watermark()
        node: exp.Expr | None = self._own_table() if own else super()._parse_table(*args, **named)
        if isinstance(node, exp.Subquery) or (own and node is not None):
            node.meta[SPAN] = (index, self._index)
        return node

    def _own_table(self) -> exp.Table:
        source = self.source()
        assert isinstance(source, (NamedTable, TableFunction))
        self.embedded[source.span.start] = source
        name = source.alias or (source.name if isinstance(source, NamedTable) else None)
        alias = exp.TableAlias(this=exp.to_identifier(source.alias)) if source.alias else None
        return exp.Table(this=exp.to_identifier(name or UNNAMED), alias=alias)
