"""Parses what tables and views have in common: columns, WATERMARK, USING, OPTIONS and LOCATION."""

from typing import Final

from sqlglot import TokenType

from panewise.chrono import Duration
from panewise.sql.parser import QueryParser
from panewise.sql.script.statements import ColumnSyntax
from panewise.sql.syntax import TextSpan

_BEHIND_TYPES: Final = frozenset({"NOT", "COMMENT", "DEFAULT", "GENERATED"})


class DeclarationParser(QueryParser):
    """Parses the parts of CREATE."""

    def _using(self, remedy: str) -> tuple[str, dict[str, str], dict[str, TextSpan]]:
        """Parses USING, OPTIONS and LOCATION."""
        if not self.take_words("USING"):
            raise self.unexpected("a table or view has a format", remedy)
        parts = [self.name("a format follows USING")]
        while self.take(TokenType.DOT):
            parts.append(self.name("the name of a format continues"))
        options, spans = dict[str, str](), dict[str, TextSpan]()
        while self._curr and not self.at(TokenType.SEMICOLON):
            begin = self._index
            if self.take_words("OPTIONS"):
                self._option_list(options, spans)
            elif self.take_words("LOCATION"):
                options["path"], spans["path"] = (
                    self._string("a path follows LOCATION"),
                    self.span_from(begin),
                )
            else:
                rule = "behind the format stand OPTIONS (...) and LOCATION 'path'"
                raise self.unexpected(rule, remedy)
        return ".".join(parts).lower(), options, spans

    def _option_list(self, options: dict[str, str], spans: dict[str, TextSpan]) -> None:
        rule, remedy = (
            "options stand in parentheses, with commas",
            "write OPTIONS (path 'p', header = 'true')",
        )
        self.required(TokenType.L_PAREN, rule, remedy)
        while True:
            begin = self._index
            key = self._option_key()
            if key in options:
                raise self.fail(key, "an option is given once", "leave one out", self.span_from(begin))
            self.take(TokenType.EQ)
            options[key] = self._option_value()
            spans[key] = self.span_from(begin)
            if not self.take(TokenType.COMMA):
                break
        self.required(TokenType.R_PAREN, rule, remedy)

    def _option_key(self) -> str:
        if self.at(TokenType.STRING):
            return self._string("an option has a name").lower()
        parts = [self._word_of_option()]
        while self.take(TokenType.DOT):
            parts.append(self._word_of_option())
        return ".".join(parts).lower()

    def _word_of_option(self) -> str:
        """Parses a word of an option's name, which may be a key word."""
        token = self._curr
        if not token or not token.text.replace("-", "_").isidentifier():
            raise self.unexpected("an option has a name", "write it in quotes if it has other characters")
        self._advance()
        return token.text

    def _option_value(self) -> str:
        if self.at(TokenType.STRING):
            return self._string("an option has a value")
        begin = self._index
        self.take(TokenType.DASH)
        if not (self.at(TokenType.NUMBER) or self.at(TokenType.TRUE) or self.at(TokenType.FALSE)):
            raise self.unexpected(
                "an option has a value: a text, a number, true or false", "write it in quotes"
            )
        self._advance()
        return self.characters(self.span_from(begin))

    def _string(self, rule: str) -> str:
        token = self._curr
        if not self.take(TokenType.STRING):
            raise self.unexpected(rule, "write it in quotes")
        return token.text

    def _columns(self) -> tuple[tuple[ColumnSyntax, ...], tuple[str, Duration] | None]:
        """Parses the columns of a table, with WATERMARK as the last one."""
        rule = "the columns of a table have names and types, in parentheses"
        self.required(TokenType.L_PAREN, rule, "write (ts TIMESTAMP, v BIGINT)")
        columns, watermark = list[ColumnSyntax](), None
        while True:
            if self._next and self.at_word("WATERMARK") and self._next.token_type != TokenType.COMMA:
                watermark = self._watermark_of_view()
                break
            columns.append(self._column_of_table())
            if not self.take(TokenType.COMMA):
                break
        self.required(TokenType.R_PAREN, rule, "close the parenthesis, or write a comma")
        return tuple(columns), watermark

    def _column_of_table(self) -> ColumnSyntax:
        begin = self._index
        name = self.name("a column has a name")
        first = self._index
        self._skip_type(stop=_BEHIND_TYPES)
        type_ = self.characters(self.span_from(first))
        if not type_:
            raise self.unexpected(f"the column {name} has a type", f"write {name} BIGINT")
        self._skip_type(stop=frozenset())
        return ColumnSyntax(name, type_.removeprefix(":").strip(), self.span_from(begin))

    def _skip_type(self, stop: frozenset[str]) -> None:
        """Moves to the end of a type: a comma or parenthesis that is not inside it, or one of these words."""
        depth = 0
        while self._curr and not self.at(TokenType.SEMICOLON):
            text = self._curr.text.upper()
            if depth == 0 and (text in (",", ")") or text in stop) and not self.at(TokenType.STRING):
                return
            depth += text.count("<") + text.count("(") - text.count(">") - text.count(")")
            self._advance()

    def _watermark_of_view(self) -> tuple[str, Duration]:
        """Parses WATERMARK ts DELAY OF interval, or WATERMARK FOR ts AS ts - interval."""
        self._advance()
        flink = self.take_words("FOR")
        name = self.name("WATERMARK has a column")
        rule = "the watermark of a view is a column and a delay"
        remedy = f"write WATERMARK {name} DELAY OF INTERVAL '10' MINUTES"
        if flink:
            if not (self.take_words("AS") and self.take_words(name.upper())):
                raise self.unexpected(rule, remedy)
            return name, self.interval() if self.take(TokenType.DASH) else Duration(0)
        if not self.take_words("DELAY", "OF"):
            raise self.unexpected(rule, remedy)
        return name, self.interval()
