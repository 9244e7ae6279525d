"""The statements of a script: values that know which characters of the script they stand for.

So errors name the line and the column of the script, and queries keep the characters that the user wrote.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.sql.parsing.error_places import Placing
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.parsing.syntax import TextSpan


@dataclass(frozen=True)
class ColumnSyntax:
    """A column of a table: its name, and its type as it is written."""

    name: str
    type: str
    span: TextSpan


@dataclass(frozen=True)
class Setting:
    """SET key = value."""

    key: str
    value: str
    span: TextSpan


@dataclass(frozen=True)
class Relation:
    """A table or view that a script declares.

    Attributes:
        name: its name.
        columns: its columns, None if the statement has none.
        format: the format of USING, in lower case.
        options: the options, with the path of LOCATION as `path`. Names are in lower case.
        watermark: the column and the delay of WATERMARK, None if there is none.
        span: the characters of the statement.
        name_span: those of the name.
        option_spans: those of each option.
    """

    name: str
    columns: tuple[ColumnSyntax, ...] | None
    format: str
    options: Mapping[str, str]
    watermark: tuple[str, Duration] | None
    span: TextSpan
    name_span: TextSpan
    option_spans: Mapping[str, TextSpan]


@dataclass(frozen=True)
class SourceView(Relation):
    """CREATE TEMPORARY VIEW ... USING: a source."""


@dataclass(frozen=True)
class SinkTable(Relation):
    """CREATE TABLE ... USING: a sink."""


@dataclass(frozen=True)
class QueryView:
    """CREATE TEMPORARY VIEW ... AS: a query with a name."""

    name: str
    query: TextSpan
    span: TextSpan
    name_span: TextSpan


@dataclass(frozen=True)
class Insert:
    """INSERT INTO table: a query that is written to a sink.

    `columns` are those of the table that the query has values for, None without a list.
    """

    table: str
    query: TextSpan
    span: TextSpan
    name_span: TextSpan
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Show:
    """A query whose rows are printed."""

    query: TextSpan
    span: TextSpan


@dataclass(frozen=True)
class SparkStatement:
    """A statement that Spark runs as it is."""

    span: TextSpan


Statement: TypeAlias = Setting | SourceView | SinkTable | QueryView | Insert | Show | SparkStatement


@dataclass(frozen=True)
class SqlScript:
    """A parsed script."""

    text: str
    statements: tuple[Statement, ...]

    def query(self, span: TextSpan) -> str:
        """Returns a query with spaces in the place of what stands before it.

        So all places in it are places in the script.
        """
        before = "".join(character if character == "\n" else " " for character in self.text[: span.start])
        return before + self.text[span.start : span.end]

    def characters(self, span: TextSpan) -> str:
        """Returns the text of a span."""
        return self.text[span.start : span.end]

    def fail(self, what: str, rule: str, remedy: str, span: TextSpan) -> SqlError:
        """Returns an error at these characters."""
        return SqlError(what, rule, remedy, sql=self.text, start=span.start, end=span.end)

    def placing(self, span: TextSpan) -> Placing:
        """Returns a context whose errors of specifications become errors at these characters."""
        return Placing(self.fail, span)

    def placed(self, error: SqlError, statement: TextSpan) -> SqlError:
        """Returns an error of a statement with its place in the script, by default the first word.

        The error of a query has the right place, but shows spaces in the place of what is before the query.
        """
        start, end = error.start, error.end
        if start is None:
            first = tokens_of(self.text[statement.start : statement.end])[0]
            start, end = statement.start + first.start, statement.start + first.end + 1
        return SqlError(error.given, error.rule, error.remedy, sql=self.text, start=start, end=end)
