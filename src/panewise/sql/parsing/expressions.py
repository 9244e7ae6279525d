"""Words, names and expressions of a text, each with the characters that it stands for.

sqlglot parses the expressions. Functions stay as they are written: its own classes for them, and the
rewriting that comes with these, are switched off. So the tree has the shape of the text.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.sql.parsing.emit import FIRST_WORDS
from panewise.sql.parsing.error_places import Placing
from panewise.sql.parsing.intervals import duration
from panewise.sql.parsing.syntax import Expr, TextSpan
from panewise.sql.parsing.unread_tables import UnreadTables
from panewise.sql.parsing.written_text import Origin

# Words after a table that are no alias of it.
STOPS: Final = frozenset(
    {"ON", "USING", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "ASOF"}
    | {"FROM", "WHERE", "GROUP", "HAVING", "QUALIFY", "WINDOW", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"}
    | {"LIMIT", "OFFSET", "UNION", "EXCEPT", "MINUS", "INTERSECT", "LATERAL", "PIVOT", "UNPIVOT"}
    | {"WATERMARK", "TABLESAMPLE", "FOR", "MATCH_CONDITION", "WITHIN"}
)
SPAN = "span"  # in the meta data of a node: its first token, and the one after its last
_SPANNED = (
    "_parse_function_call",
    "_parse_column",
    "_parse_atom",
    "_parse_primary",
    "_parse_unary",
    "_parse_interval",
    "_parse_bitwise",
    "_parse_range",
    "_parse_equality",
    "_parse_conjunction",
    "_parse_disjunction",
    "_parse_assignment",
)
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "SUBSTR", "TRIM", "POSITION", "OVERLAY")
T = TypeVar("T")


class PlacedError(ParseError):
    """An error of sqlglot with the characters at which it was raised."""

    def __init__(self, message: str, place: TextSpan) -> None:
        super().__init__(message)
        self.place = place


class ExpressionParser(SparkParser):
    """Parses expressions, and what all clauses have: words, names, lists and lengths.

    It works on the tokens of one text, which :meth:`begin` sets.
    """

    FUNC_TOKENS: ClassVar[Any] = {*SparkParser.FUNC_TOKENS, TokenType.SESSION}
    FUNCTIONS: ClassVar[Any] = {}
    FUNCTION_PARSERS: ClassVar[Any] = {name: SparkParser.FUNCTION_PARSERS[name] for name in _SYNTAX}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[Any] = {
        name: SparkParser.NO_PAREN_FUNCTION_PARSERS[name] for name in ("CASE", "IF")
    }
    NO_PAREN_FUNCTIONS: ClassVar[Any] = {}
    # Spark has arrows in lambdas alone. As operators of JSON paths sqlglot would log what it finds wrong.
    COLUMN_OPERATORS: ClassVar[Any] = {
        kind: parse for kind, parse in SparkParser.COLUMN_OPERATORS.items() if "ARROW" not in kind.name
    }

    def begin(self, sql: str, tokens: list[Token], origin: Origin | None = None) -> None:
        """Sets the text, its tokens and where it comes from, and starts at the first token."""
        self.reset()
        self.unread = UnreadTables()
        self.sql, self._tokens, self._tokens_size = sql, tokens, len(tokens)
        self.origin = origin or Origin(sql)
        self._advance(0)

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Raises an error at a token, by default the present one."""
        at = token or self._curr or self._prev
        raise PlacedError(message, TextSpan(at.start, at.end + 1))

    def fail(self, given: str, rule: str, remedy: str, span: TextSpan) -> SqlError:
        """Returns an error at these characters."""
        return self.origin.fail(given, rule, remedy, span)

    def placing(self, span: TextSpan) -> Placing:
        """Returns a context whose errors of specifications become errors at these characters."""
        return Placing(self.fail, span)

    def unexpected(self, rule: str, remedy: str) -> SqlError:
        """Returns an error at the present token."""
        at = self._curr
        if not at:
            end = self._prev.end + 1 if self._prev else 0
            return self.fail("the end of the text", rule, remedy, TextSpan(end, end + 1))
        return self.fail(repr(self.text_of(at)), rule, remedy, TextSpan(at.start, at.end + 1))

    def text_of(self, token: Token) -> str:
        """Returns a token as it is written."""
        return self.sql[token.start : token.end + 1]

    def at_word(self, *words: str) -> bool:
        """Returns whether the next words are these, without quotes."""
        return self._matched(words) > 0

    def take_words(self, *words: str) -> bool:
        """Skips these words if they are next."""
        count = self._matched(words)
        if count:
            self._advance(count)
        return count > 0

    def _matched(self, words: tuple[str, ...]) -> int:
        """Returns how many tokens these words are, 0 if others are next.

        A token may have two words, such as GROUP BY.
        """
        missing, index = list(words), self._index
        while missing and index < self._tokens_size:
            token = self._tokens[index]
            words_of_token = [] if token.token_type in _QUOTED else token.text.upper().split()
            if not words_of_token or missing[: len(words_of_token)] != words_of_token:
                return 0
            missing, index = missing[len(words_of_token) :], index + 1
        return 0 if missing else index - self._index

    def at(self, *token_types: TokenType, ahead: int = 0) -> bool:
        """Returns whether the present token, or one after it, is of one of these types."""
        place = self._index + ahead
        return place < self._tokens_size and self._tokens[place].token_type in token_types

    def word(self, ahead: int = 0) -> str:
        """Returns the present token, or one after it, in upper case; "" after the end of the text."""
        place = self._index + ahead
        return self._tokens[place].text.upper() if place < self._tokens_size else ""

    @property
    def tokens(self) -> list[Token]:
        """The tokens of the text."""
        return self._tokens

    @property
    def index(self) -> int:
        """The number of the present token."""
        return self._index

    def move_to(self, index: int) -> None:
        """Makes another token the present one."""
        self._retreat(index)

    def take(self, token_type: TokenType) -> bool:
        """Skips a token of this type if it is next."""
        matches = self.at(token_type)
        if matches:
            self._advance()
        return matches

    def span_from(self, index: int) -> TextSpan:
        """Returns the characters from a token to the last one that was taken."""
        if self._index <= index:
            start = self._tokens[index].start if index < self._tokens_size else len(self.sql)
            return TextSpan(start, start)
        return TextSpan(self._tokens[index].start, self._tokens[self._index - 1].end + 1)

    def required(self, token_type: TokenType, rule: str, remedy: str) -> None:
        """Skips a token of this type.

        Raises:
            SqlError: if another one is next.
        """
        if not self.take(token_type):
            raise self.unexpected(rule, remedy)

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
        if token.token_type not in self.ID_VAR_TOKENS:
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

    def expr(self, rule: str = "an expression is expected here") -> Expr:
        """Parses an expression.

        Raises:
            SqlError: if there is none.
        """
        return self._expr(self._parse_disjunction, rule)

    def operand(self, rule: str = "an expression is expected here") -> Expr:
        """Parses an expression without comparisons, such as an interval.

        Raises:
            SqlError: if there is none.
        """
        return self._expr(self._parse_bitwise, rule)

    def length(self) -> Duration:
        """Parses an interval, with or without the word INTERVAL.

        Raises:
            SqlError: if there is none, or it has no exact length.
        """
        index = self._index
        if self.at(TokenType.INTERVAL):
            return self.interval()
        if not self.at(TokenType.NUMBER, TokenType.STRING):
            raise self.unexpected("an interval is expected here", "write INTERVAL '1' HOUR")
        said = self.at(TokenType.STRING) and any(map(str.isalpha, self._curr.text))  # as in '5 minutes'
        self._advance()
        unit = self._curr.token_type in self.ID_VAR_TOKENS and not said
        if unit and self.word() not in (*STOPS, "SLIDE", "EMIT"):
            self._advance()
        return self.duration_of(Expr(exp.Null(), self.span_from(index)))

    def interval(self) -> Duration:
        """Parses an interval.

        Raises:
            SqlError: if there is none, or it has no exact length.
        """
        return self.duration_of(self.operand("an interval is expected here"))

    def count(self, rule: str, remedy: str) -> int:
        """Parses a whole number.

        Raises:
            SqlError: if there is none.
        """
        if not (self.at(TokenType.NUMBER) and self._curr.text.isdigit()):
            raise self.unexpected(rule, remedy)
        self._advance()
        return int(self._prev.text)

    def duration_of(self, expr: Expr) -> Duration:
        """Returns the duration of an interval.

        Raises:
            SqlError: if it is none, or has no exact length.
        """
        with self.placing(expr.span):
            return duration(self.characters(expr.span))

    def expr_of(self, node: exp.Expr) -> Expr:
        """Returns an expression in a parsed one, with its characters."""
        return Expr(node, self.span_of(node))

    def characters_of(self, node: exp.Expr) -> str:
        """Returns the text of an expression in a parsed one."""
        return self.characters(self.span_of(node))

    def characters(self, span: TextSpan) -> str:
        """Returns the text of a span."""
        return self.sql[span.start : span.end]

    def _expr(self, parse: Callable[[], exp.Expr | None], rule: str) -> Expr:
        index = self._index
        node = parse()
        if node is None or self._index == index:
            self._retreat(index)
            raise self.unexpected(rule, "write one, such as a column or a function of Spark")
        return Expr(node, self.span_from(index))

    def span_of(self, node: exp.Expr) -> TextSpan:
        """Returns the characters of a node: its own, or those of all that it contains."""
        own = node.meta.get(SPAN)
        if own is not None:
            return TextSpan(self._tokens[own[0]].start, self._tokens[own[1] - 1].end + 1)
        inner = [self.span_of(child) for child in node.iter_expressions() if _has_place(child)]
        if not inner:
            return TextSpan(node.meta.get("start", 0), node.meta.get("end", len(self.sql) - 1) + 1)
        return TextSpan(min(child.start for child in inner), max(child.end for child in inner))

    def at_emit(self) -> bool:
        """Returns whether an EMIT clause begins here. The word alone may be a name."""
        return self.at_word("EMIT") and (self.word(1) in FIRST_WORDS or self._odd_emit())

    def _odd_emit(self) -> bool:
        """Returns whether the word after EMIT shows that it is no name."""
        follows_a_name = (TokenType.COMMA, TokenType.R_PAREN, TokenType.DOT, TokenType.SEMICOLON)
        return bool(self._next) and self._next.token_type not in follows_a_name and self.word(1) not in STOPS

    def at_alias(self) -> bool:
        """Returns whether a name without AS follows, which is no word of a clause."""
        framed = self.at_word("OVER") and self.at(TokenType.L_PAREN, ahead=1)
        if framed or self.at_emit():
            return False
        named = self._curr.token_type in self.ID_VAR_TOKENS and self.word().split(" ")[0] not in STOPS
        return named or self.at(TokenType.IDENTIFIER)

    def skip(self, words: tuple[str, ...]) -> None:
        """Moves to the next of these words that is not in parentheses, or to the end of what surrounds it."""
        depth = 0
        while self._curr:
            if self.at(TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE):
                depth += 1
            elif self.at(TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE):
                depth -= 1
                if depth < 0:
                    return
            elif depth == 0 and (
                self.at(TokenType.SEMICOLON) or any(self.at_word(*word.split()) for word in words)
            ):
                return
            self._advance()


def _has_place(node: exp.Expr) -> bool:
    return SPAN in node.meta or "start" in node.meta or any(map(_has_place, node.iter_expressions()))


def _spanned(name: str) -> Callable[..., exp.Expr | None]:
    """Returns a parser's method that also notes the tokens of the node that it returns."""
    inner: Callable[..., exp.Expr | None] = getattr(SparkParser, name)

    def parse(self: ExpressionParser, *args: Any, **named: Any) -> exp.Expr | None:
        index = self._index
        node = inner(self, *args, **named)
        # A call that gets the left side of an operator begins after it.
        if isinstance(node, exp.Expr) and not args and not named.get("this") and self._index > index:
            node.meta[SPAN] = (index, self._index)
        return node

    return parse


for _name in _SPANNED:
    setattr(ExpressionParser, _name, _spanned(_name))


def tokens_of(sql: str) -> list[Token]:
    """Returns the tokens of a text.

    Raises:
        SqlError: for a string or comment without an end.
    """
    try:
        return _DIALECT.tokenize(sql)
    except TokenError as error:
        start = getattr(error, "start", None)
        rule = "strings, quoted names and comments end with the character that they begin with"
        raise SqlError(
            "text without an end", rule, "close it", sql=sql, start=0 if start is None else start
        ) from None


_DIALECT = Spark()
