"""Parses scripts: several statements of SQL that together are one application (semantics 46.40)."""

from collections.abc import Iterator
from typing import Final

from sqlglot import TokenType
from sqlglot.errors import ParseError

from panewise.chrono import Duration
from panewise.sql.parsing.expressions import ExpressionParser, tokens_of
from panewise.sql.parsing.parser import STATEMENTS, STREAMED
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.script.statements import (
    ColumnSyntax,
    Insert,
    QueryView,
    Setting,
    Show,
    SinkTable,
    SourceView,
    SparkStatement,
    SqlScript,
    Statement,
)

# Statements that Spark runs as they are.
PASSED: Final = frozenset(
    {"ADD", "ALTER", "ANALYZE", "CACHE", "CLEAR", "COMMENT", "CREATE", "DECLARE", "DROP", "LIST", "MSCK"}
    | {"REFRESH", "RESET", "UNCACHE", "USE"}
)
_SETS_OF_SPARK: Final = (("TIME", "ZONE"), ("VAR",), ("VARIABLE",), ("CATALOG",))  # after SET
QUERIES: Final = frozenset({"SELECT", "WITH", "(", "VALUES", "TABLE", "FROM", *STREAMED})
_AFTER_TYPES: Final = frozenset({"NOT", "COMMENT", "DEFAULT", "GENERATED"})
_TABLE_FORM: Final = "write CREATE TABLE name USING parquet LOCATION 'path', or with OPTIONS (path 'path')"
_VIEW_FORM: Final = "write CREATE TEMPORARY VIEW name (ts TIMESTAMP, v BIGINT) USING json OPTIONS (path 'p')"


def parse_script(text: str) -> SqlScript:
    r"""Returns the statements of a script.

    Semicolons in strings, quoted names and comments end no statement.

    Raises:
        SqlError: at the first token that does not fit.

    >>> script = parse_script("SET a = ';'; -- a comment; \nINSERT INTO t SELECT 1;")
    >>> [type(statement).__name__ for statement in script.statements]
    ['Setting', 'Insert']
    """
    parser = _ScriptParser(dialect="spark")
    try:
        return SqlScript(text, tuple(parser.statements(text)))
    except ParseError as error:  # of an interval
        said = str(error).split("\n", 1)[0]
        raise parser.unexpected(f"an interval is written as in Spark's SQL: {said}", "correct it") from None


class _ScriptParser(ExpressionParser):
    """Parses statements. It leaves queries alone, and notes their characters."""

    def statements(self, text: str) -> Iterator[Statement]:
        """Yields the statements of a text."""
        self.begin(text, tokens_of(text))
        while self._curr:
            if not self.take(TokenType.SEMICOLON):
                yield self._statement()  # up to a semicolon, or the end

    def _statement(self) -> Statement:
        index, word = self._index, self.word()
        if word == "SET" and not any(self.at_word("SET", *words) for words in _SETS_OF_SPARK):
            return self._setting(index)
        if word == "INSERT":
            return self._insert(index)
        if word in QUERIES:
            query = self._rest()
            return Show(query, query)
        if word == "CREATE":
            created = self._created(index)
            if created is not None:
                return created
            self._retreat(index)
        if word not in PASSED and word != "SET":
            rule = "a statement is SET, CREATE, INSERT INTO, a query, or a statement of Spark's such as USE"
            raise self.unexpected(rule, "write one of these, or a semicolon before it if it is missing")
        return SparkStatement(self._rest())

    def _rest(self) -> TextSpan:
        """Skips the rest of the statement, and returns its characters."""
        index = self._index
        while self._curr and not self.at(TokenType.SEMICOLON):
            self._advance()
        return self.span_from(index)

    def _setting(self, index: int) -> Setting:
        self._advance()
        rule, remedy = "SET has a key and a value", "write SET key = value"
        key_index = self._index
        while self._curr and not self.at(TokenType.EQ, TokenType.SEMICOLON):
            self._advance()
        key = self.characters(self.span_from(key_index)).strip("`")
        if len(key.split()) != 1:
            raise self.unexpected(rule, remedy)
        self.required(TokenType.EQ, rule, remedy)
        value_index = self._index
        value = self.characters(self._rest())
        if not value:
            raise self.unexpected(rule, remedy)
        if self._index == value_index + 1 and self._tokens[value_index].token_type == TokenType.STRING:
            value = self._tokens[value_index].text
        return Setting(key, value, self.span_from(index))

    def _insert(self, index: int) -> Insert:
        self._advance()
        rule = "rows are added to a table: INSERT INTO table, and a query"
        if not self.take_words("INTO"):
            raise self.unexpected(rule, "write INSERT INTO table SELECT ...")
        self.take_words("TABLE")
        begin = self._index
        name = self.name("a table has a name")
        name_span = self.span_from(begin)
        columns = self._column_list() if self._at_column_list() else None
        if self.word() not in QUERIES:
            raise self.unexpected(rule, "write the query behind the name of the table")
        query = self._rest()
        return Insert(name, query, self.span_from(index), name_span, columns)

    def _at_column_list(self) -> bool:
        """Returns whether a list of columns is next, and no query in parentheses."""
        return self.at(TokenType.L_PAREN) and self.word(1) not in {"", *QUERIES}

    def _column_list(self) -> tuple[str, ...]:
        rule, remedy = "the columns of INSERT stand in parentheses, with commas", "write (a, b)"
        self.required(TokenType.L_PAREN, rule, remedy)
        names = self.separated(lambda: self.name("a column has a name"))
        self.required(TokenType.R_PAREN, rule, remedy)
        return names

    def _created(self, index: int) -> Statement | None:
        """Returns a view or table of a script, None for another CREATE, which is Spark's."""
        self._advance()
        self.take_words("OR", "REPLACE")
        if self.take_words("TEMPORARY") or self.take_words("TEMP"):
            return self._view(index) if self.take_words("VIEW") else None
        return self._table_of_script(index) if self.take_words("TABLE") else None

    def _named(self) -> tuple[str, TextSpan]:
        self.take_words("IF", "NOT", "EXISTS")
        begin = self._index
        name = self.name("a table or view has a name")
        if self.at(TokenType.DOT):
            rule = "a table or view of a script is in no database, so its name is one word"
            raise self.unexpected(rule, "leave the database out; LOCATION says where the rows of a table are")
        return name, self.span_from(begin)

    def _view(self, index: int) -> Statement:
        name, name_span = self._named()
        columns, watermark = self._columns() if self.at(TokenType.L_PAREN) else (None, None)
        if self.take_words("AS"):
            if columns is not None:
                rule = "the columns of a view over a query are those of the query"
                raise self.fail(name, rule, "name them in the query, with AS", name_span)
            query = self._rest()
            if query.end == query.start:
                raise self.unexpected("a query follows AS", "write SELECT ...")
            return QueryView(name, query, self.span_from(index), name_span)
        format_, options, spans = self._using(_VIEW_FORM)
        span = self.span_from(index)
        return SourceView(name, columns, format_, options, watermark, span, name_span, spans)

    def _table_of_script(self, index: int) -> Statement:
        name, name_span = self._named()
        columns, watermark = self._columns() if self.at(TokenType.L_PAREN) else (None, None)
        if watermark is not None:
            rule = "a sink has no watermark"
            remedy = "write it in the view of the source"
            raise self.fail(f"WATERMARK {watermark[0]}", rule, remedy, name_span)
        format_, options, spans = self._using(_TABLE_FORM)
        return SinkTable(name, columns, format_, options, None, self.span_from(index), name_span, spans)

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
                same = self.word() not in STATEMENTS
                raise self.unexpected(rule, remedy if same else f"write a semicolon before {self.word()}")
        return ".".join(parts).lower(), options, spans

    def _option_list(self, options: dict[str, str], spans: dict[str, TextSpan]) -> None:
        rule = "options stand in parentheses, with commas"
        remedy = "write OPTIONS (path 'p', header = 'true')"
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
        if not self.at(TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE):
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
            if self._next and self.at_word("WATERMARK") and not self.at(TokenType.COMMA, ahead=1):
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
        self._skip_type(stop=_AFTER_TYPES)
        type_ = self.characters(self.span_from(first))
        if not type_:
            raise self.unexpected(f"the column {name} has a type", f"write {name} BIGINT")
        self._skip_type(stop=frozenset())
        return ColumnSyntax(name, type_.removeprefix(":").strip(), self.span_from(begin))

    def _skip_type(self, stop: frozenset[str]) -> None:
        """Moves to the end of a type: a comma or parenthesis that is not inside it, or one of these words."""
        depth = 0
        while self._curr and not self.at(TokenType.SEMICOLON):
            text = self.word()
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
