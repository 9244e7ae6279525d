"""TUMBLE, HOP, CUMULATE and SESSION in FROM."""

from collections.abc import Callable
from typing import Final

from sqlglot import TokenType, exp

from panewise.sql.parsing.expressions import ExpressionParser
from panewise.sql.parsing.syntax import Argument, Expr, Source, TableFunction, TextSpan
from panewise.sql.text.recognize import mistaken_window

WINDOWS: Final = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_CLAUSES: Final = {"TUMBLING": "TUMBLE", "HOPPING": "HOP", "SESSION": "SESSION"}
_CLAUSE_PARTS: Final = {
    ("SIZE",): "size",
    ("ADVANCE", "BY"): "slide",
    ("GRACE", "PERIOD"): "grace",
    (): "gap",
}
_CLAUSE_EXAMPLES: Final = {
    "TUMBLING": "WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 10 MINUTES)",
    "HOPPING": "WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 5 MINUTES)",
    "SESSION": "WINDOW SESSION (30 MINUTES)",
}
_IN_PARENTHESES: Final = "the lengths of a clause WINDOW stand in parentheses"


def at_window(parser: ExpressionParser) -> bool:
    """Returns whether a window function begins at the present token."""
    return parser.word() in WINDOWS and parser.at(TokenType.L_PAREN, ahead=1)


def window_function(parser: ExpressionParser, data: Callable[[], Source]) -> TableFunction:
    """Parses a window function. `data` parses the table that it has."""
    index, function = parser.index, parser.word()
    parser.move_to(index + 1)
    name = parser.span_from(index)
    parser.move_to(index + 2)
    parts = _WindowArguments(parser, data)
    parser.separated(parts.read)
    parser.required(TokenType.R_PAREN, f"{function}(...) is closed", "close the parenthesis")
    if parts.data is None:
        rule = f"{function} has a table"
        raise parser.fail(function, rule, f"write {function}(TABLE t, DESCRIPTOR(ts), ...)", name)
    span, arguments = parser.span_from(index), tuple(parts.arguments)
    return TableFunction(function, parts.data, parts.partition_by, parts.time, arguments, None, name, span)


def check_name(parser: ExpressionParser) -> None:
    """Refuses a call, here or in `TABLE(...)`, that nearly has the name of a window function.

    Raises:
        SqlError: if it has.
    """
    wrapped = parser.at_word("TABLE") and parser.at(TokenType.L_PAREN, ahead=1)
    index = parser.index + 2 * wrapped
    meant = mistaken_window(parser.tokens, index) if index < len(parser.tokens) else None
    if meant is not None:
        parser.move_to(index)
        rule = f"the window functions are {', '.join(WINDOWS)}"
        raise parser.unexpected(rule, f"write {meant}")


def at_window_clause(parser: ExpressionParser) -> bool:
    """Returns whether a clause WINDOW with windows begins here, as ksqlDB writes it."""
    return parser.at_word("WINDOW") and parser.word(1) in _CLAUSES


def window_clause(parser: ExpressionParser, data: Source) -> TableFunction:
    """Parses WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 10 MINUTES) after the source that it is of."""
    index, word = parser.index, parser.word(1)
    parser.move_to(index + 2)
    name = parser.span_from(index + 1)
    parser.required(TokenType.L_PAREN, _IN_PARENTHESES, f"write {_CLAUSE_EXAMPLES[word]}")
    lengths: dict[str, Expr] = {}
    parser.separated(lambda: _clause_part(parser, word, lengths))
    parser.required(TokenType.R_PAREN, _IN_PARENTHESES, "close the parenthesis")
    grace = lengths.pop("grace", None)
    arguments = tuple(Argument(part, length, rows=False) for part, length in lengths.items())
    span = TextSpan(data.span.start, parser.span_from(index).end)
    function = _CLAUSES[word]
    return TableFunction(function, data, (), None, arguments, None, name, span, implied=True, grace=grace)


def _clause_part(parser: ExpressionParser, word: str, lengths: dict[str, Expr]) -> None:
    """Parses a part of a clause WINDOW: its words, and a length."""
    begin = parser.index
    words = next((words for words in _CLAUSE_PARTS if words and parser.take_words(*words)), ())
    part = _CLAUSE_PARTS[words]
    if part in lengths or (words == () and word != "SESSION"):
        parser.move_to(begin)
        raise parser.unexpected(f"WINDOW {word} has only its own parts", f"write {_CLAUSE_EXAMPLES[word]}")
    index = parser.index
    parser.length()
    lengths[part] = Expr(exp.Null(), parser.span_from(index))


class _WindowArguments:
    """The arguments of a window function, as far as they have been parsed.

    Args:
        parser: the parser.
        read_data: parses the table.
    """

    def __init__(self, parser: ExpressionParser, read_data: Callable[[], Source]) -> None:
        self.parser, self.read_data = parser, read_data
        self.data: Source | None = None
        self.partition_by: tuple[Expr, ...] = ()
        self.time: Expr | None = None
        self.arguments: list[Argument] = []

    def read(self) -> None:
        """Parses an argument."""
        named = None
        if self.parser.at(TokenType.FARROW, ahead=1):
            named = self.parser.name("an argument has a name").lower()
            self.parser.move_to(self.parser.index + 1)
        if self.data is None and named in (None, "data", "input", "table"):
            self.data = self.read_data()
            if self.parser.take_words("PARTITION", "BY"):
                self._partition()
        elif self.time is None and self._is_time(named):
            self.time = self._descriptor()
        elif self._at_descriptor() and named in (None, "key"):
            self._key()
        else:
            self.arguments.append(self._argument(named))

    def _at_descriptor(self) -> bool:
        return self.parser.at_word("DESCRIPTOR") and self.parser.at(TokenType.L_PAREN, ahead=1)

    def _key(self) -> None:
        """Parses a second DESCRIPTOR, whose columns are those of PARTITION BY (semantics 46.127)."""
        if self.partition_by:
            rule = "the keys of a window function are given once, by PARTITION BY or by DESCRIPTOR"
            raise self.parser.unexpected(rule, "leave one of them out")
        self.parser.move_to(self.parser.index + 1)
        self.partition_by = self._list()

    def _partition(self) -> None:
        """Parses the columns of PARTITION BY, with or without parentheses.

        Without these the last name may be that of the event time, which is no part of the list.
        """
        if self.parser.at(TokenType.L_PAREN):
            self.partition_by = self._list()
            return
        columns = [self.parser.expr()]
        while self._another_partition():
            columns.append(self.parser.expr())
        if len(columns) > 1 and self._length_follows():
            self.time = columns.pop()
        self.partition_by = tuple(columns)

    def _another_partition(self) -> bool:
        """Skips a comma, if another column of PARTITION BY follows it."""
        more = (
            self.parser.at(TokenType.COMMA)
            and self.parser.word(1) not in ("DESCRIPTOR", "INTERVAL")
            and not self.parser.at(TokenType.NUMBER, TokenType.STRING, ahead=1)
            and self.parser.at(TokenType.COMMA, ahead=2)
        )
        return more and self.parser.take(TokenType.COMMA)

    def _length_follows(self) -> bool:
        """Returns whether an interval follows: then the last name before it is the event time."""
        lengths = (TokenType.INTERVAL, TokenType.STRING)
        return self.parser.at(TokenType.COMMA) and self.parser.at(*lengths, ahead=1)

    def _is_time(self, named: str | None) -> bool:
        if named is not None:
            return named in ("timecol", "time", "on_time")
        length = self.parser.at(TokenType.NUMBER, TokenType.INTERVAL, TokenType.STRING)
        return not self.arguments and not length and self.parser.word() != ""

    def _list(self) -> tuple[Expr, ...]:
        self.parser.move_to(self.parser.index + 1)
        columns = self.parser.separated(self.parser.expr)
        self.parser.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        return columns

    def _descriptor(self) -> Expr:
        if not self._at_descriptor():
            return self.parser.operand("the column of the event time follows")
        self.parser.move_to(self.parser.index + 2)
        column = self.parser.operand("DESCRIPTOR has the column of the event time")
        self.parser.required(TokenType.R_PAREN, "DESCRIPTOR has one column", "close the parenthesis")
        return column

    def _argument(self, named: str | None) -> Argument:
        if self.parser.at(TokenType.NUMBER) and self.parser.word(1) in ("ROWS", "ROW"):
            index = self.parser.index
            node = exp.Literal.number(self.parser.word())
            self.parser.move_to(index + 2)
            return Argument(named, Expr(node, self.parser.span_from(index)), True)
        return Argument(named, self.parser.operand("an interval or a number of rows follows"), False)
