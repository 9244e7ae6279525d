"""TUMBLE, HOP, CUMULATE and SESSION in FROM."""

from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import TokenType, exp

from panewise.sql.syntax import Argument, Expr, Source, TableFunction, TextSpan
from panewise.sql.tables import TableParser

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


@dataclass
class _WindowArguments:
    """The arguments of a window function, as far as they have been parsed."""

    data: Source | None = None
    partition_by: tuple[Expr, ...] = ()
    time: Expr | None = None
    arguments: list[Argument] = field(default_factory=list)


class WindowTableParser(TableParser):
    """Parses window functions in FROM."""

    def wrapped_window(self) -> Source:
        """Parses TABLE(TUMBLE(...))."""
        index = self._index
        self._advance(2)
        window = self.window()
        self.required(TokenType.R_PAREN, "TABLE(...) has one window function", "close the parenthesis")
        return self.aliased(window, index)

    def aliased(self, window: TableFunction, index: int | None = None) -> TableFunction:
        """Parses the name behind a window function that begins at a token."""
        alias, columns = self.alias_and_columns()
        if columns:
            rule = "the columns of a window function have the names of its table"
            raise self.fail(f"{alias} (...)", rule, "give a name alone", window.span)
        start = window.span.start if index is None else self._tokens[index].start
        end = self._tokens[self._index - 1].end + 1
        return replace(window, alias=alias, span=TextSpan(start, end))

    def window(self) -> TableFunction:
        """Parses a window function."""
        index = self._index
        function = self._curr.text.upper()
        self._advance(2)
        parts = _WindowArguments()
        self._window_argument(parts)
        while self.take(TokenType.COMMA):
            self._window_argument(parts)
        self.required(TokenType.R_PAREN, f"{function}(...) is closed", "close the parenthesis")
        name = TextSpan(self._tokens[index].start, self._tokens[index].end + 1)
        if parts.data is None:
            rule = f"{function} has a table"
            raise self.fail(function, rule, f"write {function}(TABLE t, DESCRIPTOR(ts), ...)", name)
        span, arguments = self.span_from(index), tuple(parts.arguments)
        return TableFunction(
            function, parts.data, parts.partition_by, parts.time, arguments, None, name, span
        )

    def at_window_clause(self) -> bool:
        """Returns whether a clause WINDOW with windows begins here, as ksqlDB writes it."""
        return self.at_word("WINDOW") and bool(self._next) and self._next.text.upper() in _CLAUSES

    def window_clause(self, data: Source) -> TableFunction:
        """Parses WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 10 MINUTES) behind the source that it is of."""
        index = self._index
        self._advance()
        word = self._curr.text.upper()
        name = TextSpan(self._curr.start, self._curr.end + 1)
        self._advance()
        self.required(TokenType.L_PAREN, _IN_PARENTHESES, f"write {_CLAUSE_EXAMPLES[word]}")
        lengths: dict[str, Expr] = {}
        self._clause_part(word, lengths)
        while self.take(TokenType.COMMA):
            self._clause_part(word, lengths)
        self.required(TokenType.R_PAREN, _IN_PARENTHESES, "close the parenthesis")
        grace = lengths.pop("grace", None)
        arguments = tuple(Argument(part, length, rows=False) for part, length in lengths.items())
        span = TextSpan(data.span.start, self.span_from(index).end)
        function = _CLAUSES[word]
        return TableFunction(function, data, (), None, arguments, None, name, span, implied=True, grace=grace)

    def _clause_part(self, word: str, lengths: dict[str, Expr]) -> None:
        """Parses a part of a clause WINDOW: its words, and a length."""
        begin = self._index
        words = next((words for words in _CLAUSE_PARTS if words and self.at_word(*words)), ())
        part = _CLAUSE_PARTS[words]
        if words:
            self.take_words(*words)
        if part in lengths or (words == () and word != "SESSION"):
            self._retreat(begin)
            raise self.unexpected(f"WINDOW {word} has only its own parts", f"write {_CLAUSE_EXAMPLES[word]}")
        index = self._index
        self.length()
        lengths[part] = Expr(exp.Null(), self.span_from(index))

    def _window_argument(self, parts: _WindowArguments) -> None:
        named = None
        if self._next and self._next.token_type == TokenType.FARROW:
            named = self.name("an argument has a name").lower()
            self._advance()
        if parts.data is None and named in (None, "data", "input", "table"):
            parts.data = self._data()
            if self.take_words("PARTITION", "BY"):
                self._partition(parts)
        elif parts.time is None and self._is_time(named, parts.arguments):
            parts.time = self._descriptor()
        elif self._at_descriptor() and named in (None, "key"):
            self._key(parts)
        else:
            parts.arguments.append(self._argument(named))

    def _at_descriptor(self) -> bool:
        called = bool(self._next) and self._next.token_type == TokenType.L_PAREN
        return self.at_word("DESCRIPTOR") and called

    def _key(self, parts: _WindowArguments) -> None:
        """Parses a second DESCRIPTOR, whose columns are those of PARTITION BY (semantics 46.127)."""
        if parts.partition_by:
            rule = "the keys of a window function are given once, by PARTITION BY or by DESCRIPTOR"
            raise self.unexpected(rule, "leave one of them out")
        self._advance()
        parts.partition_by = self._list()

    def _partition(self, parts: _WindowArguments) -> None:
        """Parses the columns of PARTITION BY, with or without parentheses.

        Without these the last name may be that of the event time, which is no part of the list.
        """
        if self.at(TokenType.L_PAREN):
            parts.partition_by = self._list()
            return
        columns = [self.expr()]
        while self._another_partition():
            columns.append(self.expr())
        if len(columns) > 1 and self._length_follows():
            parts.time = columns.pop()
        parts.partition_by = tuple(columns)

    def _another_partition(self) -> bool:
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
            return self.derived()
        return self.source()

    def _list(self) -> tuple[Expr, ...]:
        self._advance()
        columns = self.separated(self.expr)
        self.required(TokenType.R_PAREN, "a parenthesis is closed", "close it")
        return columns

    def _descriptor(self) -> Expr:
        if not self._at_descriptor():
            return self.operand("the column of the event time follows")
        self._advance(2)
        column = self.operand("DESCRIPTOR has the column of the event time")
        self.required(TokenType.R_PAREN, "DESCRIPTOR has one column", "close the parenthesis")
        return column

    def _argument(self, named: str | None) -> Argument:
        if self.at(TokenType.NUMBER) and self._next.text.upper() in ("ROWS", "ROW"):
            index = self._index
            value = Expr(exp.Literal.number(self._curr.text), TextSpan(self._curr.start, self._curr.end + 1))
            self._advance(2)
            return Argument(named, Expr(value.node, self.span_from(index)), True)
        return Argument(named, self.operand("an interval or a number of rows follows"), False)
