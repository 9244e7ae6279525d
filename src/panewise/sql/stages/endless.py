"""Queries that have no result on a stream, though they have one on a batch."""

from dataclasses import dataclass, field
from typing import Final

from panewise.errors import SqlError
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.parsing.written_text import Origin

UNSORTED: Final = (  # why ORDER BY, LIMIT and OFFSET are refused on a stream, and what to do
    "the rows of a stream have no end, so they cannot be sorted or limited",
    "leave it out, sort in the sink, or use ROW_NUMBER() OVER (...)",
)


class EndlessError(SqlError):
    """A query has no result on a stream, though it has one on a batch."""


@dataclass(frozen=True)
class Endless:
    """Why a query has no result on a stream: the parts of an error, and its place in the text of the user."""

    given: str
    rule: str
    remedy: str
    place: TextSpan
    sql: str = field(repr=False)

    @classmethod
    def at(cls, error: EndlessError, origin: Origin, span: TextSpan) -> "Endless":
        """Returns why a query has no result: an error, and the characters of the compiled text."""
        return cls(error.given, error.rule, error.remedy, origin.place(span), origin.sql)

    def error(self) -> EndlessError:
        """Returns the error, which shows the text of the user."""
        start, end = self.place.start, self.place.end
        return EndlessError(self.given, self.rule, self.remedy, sql=self.sql, start=start, end=end)
