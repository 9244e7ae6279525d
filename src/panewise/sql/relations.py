"""FROM: tables, queries in parentheses, window functions and joins."""

from typing import Any, Final

from sqlglot import TokenType, exp

from panewise.chrono import Duration
from panewise.sql.clauses import STOPS
from panewise.sql.syntax import Expr, Join, Source
from panewise.sql.window_tables import WINDOWS, WindowTableParser

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
        while (words := next((words for words in _JOINS if self.at_word(*words)), None)) is not None:
            self._advance(len(words))
            right = self.source()
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
        condition = self.expr(rule)
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return condition

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
        return self.duration_of(self.length())

    def length(self) -> Expr:
        """Parses an interval, with or without the word INTERVAL."""
        index = self._index
        if self.at(TokenType.INTERVAL):
            return self.operand("an interval is expected here")
        if not (self.at(TokenType.NUMBER) or self.at(TokenType.STRING)):
            raise self.unexpected("an interval is expected here", "write INTERVAL '1' HOUR")
        self._advance()
        if (
            self._curr
            and self._curr.token_type in self.ID_VAR_TOKENS
            and self._curr.text.upper() not in STOPS
        ):
            self._advance()
        return Expr(exp.Null(), self.span_from(index))

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
        last: tuple[str, Any, str | None]
        if self.take_words("ROWS"):
            if not (self.at(TokenType.NUMBER) and self._curr.text.isdigit()):
                raise self.unexpected("a number of rows follows ROWS", remedy)
            last = "rows", int(self._curr.text), time
            self._advance()
        elif self.take_words("RANGE"):
            last = "range", self._length(), time
        else:
            raise self.unexpected(rule, remedy)
        if not self.take_words("PRECEDING"):
            raise self.unexpected("these rows are before the row that is joined", "write PRECEDING")
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return last

    def source(self) -> Source:
        """Parses a table, a query in parentheses or a window function."""
        if self.at_word("TABLE") and self._next.token_type == TokenType.L_PAREN:
            ahead = self._tokens[self._index + 2] if self._index + 2 < self._tokens_size else None
            if ahead is not None and ahead.text.upper() in WINDOWS:
                return self.wrapped_window()
        if self._curr and self._curr.text.upper() in WINDOWS and self._next.token_type == TokenType.L_PAREN:
            return self.aliased(self.window())
        if self.at(TokenType.L_PAREN):
            return self.derived()
        return self.table()
