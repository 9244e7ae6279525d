"""What the clauses of a query share: names, lists, and words behind which a clause ends."""

from collections.abc import Callable
from typing import Final, TypeVar

from sqlglot import TokenType, exp

from panewise.chrono import Duration
from panewise.sql.emit import FIRST_WORDS
from panewise.sql.expressions import ExpressionParser
from panewise.sql.syntax import Expr, Query, Source

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
T = TypeVar("T")


class ClauseParser(ExpressionParser):
    """Parses the parts of clauses."""

    def query(self) -> Query:
        """Parses a query."""
        raise AssertionError("QueryParser has it")

    def separated(self, parse: Callable[[], T]) -> tuple[T, ...]:
        """Parses a list with commas."""
        parsed = [parse()]
        while self.take(TokenType.COMMA):
            parsed.append(parse())
        return tuple(parsed)

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
        names = self.separated(lambda: self.name("a column has a name"))
        self.required(TokenType.R_PAREN, rule, "close the parenthesis")
        return names

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

    def ordered(self) -> Expr:
        """Parses an expression of ORDER BY, and the words behind it. Spark sorts by them."""
        expr = self.expr("an expression follows ORDER BY")
        if not self.take_words("DESC"):
            self.take_words("ASC")
        if not self.take_words("NULLS", "FIRST"):
            self.take_words("NULLS", "LAST")
        return expr

    def count(self, rule: str, remedy: str) -> int:
        """Parses a whole number.

        Raises:
            SqlError: if there is none.
        """
        if not (self.at(TokenType.NUMBER) and self._curr.text.isdigit()):
            raise self.unexpected(rule, remedy)
        self._advance()
        return int(self._prev.text)

    def length(self) -> Duration:
        """Parses an interval, with or without the word INTERVAL.

        Raises:
            SqlError: if there is none, or it has no exact length.
        """
        index = self._index
        if self.at(TokenType.INTERVAL):
            return self.interval()
        if not (self.at(TokenType.NUMBER) or self.at(TokenType.STRING)):
            raise self.unexpected("an interval is expected here", "write INTERVAL '1' HOUR")
        said = self.at(TokenType.STRING) and any(map(str.isalpha, self._curr.text))  # as in '5 minutes'
        self._advance()
        unit = self._curr and self._curr.token_type in self.ID_VAR_TOKENS and not said
        if unit and self._curr.text.upper() not in (*STOPS, "SLIDE", "EMIT"):
            self._advance()
        return self.duration_of(Expr(exp.Null(), self.span_from(index)))

    def sources(self) -> Source:
        """Parses what follows FROM."""
        raise AssertionError("RelationParser has it")

    def source(self) -> Source:
        """Parses a table, a query in parentheses or a window function."""
        raise AssertionError("RelationParser has it")
