"""Queries that have no result on a stream, though they have one on a batch."""

from dataclasses import dataclass
from typing import Final

from panewise.errors import SqlError

UNSORTED: Final = (  # why ORDER BY, LIMIT and OFFSET are refused on a stream, and what to do
    "the rows of a stream have no end, so they cannot be sorted or limited",
    "leave it out, sort in the sink, or use ROW_NUMBER() OVER (...)",
)


class EndlessError(SqlError):
    """A query has no result on a stream, though it has one on a batch."""


@dataclass(frozen=True)
class Endless:
    """Why a query has no result on a stream: the parts of an error, and the characters of its place.

    They are those of the text that is compiled, which may be another one than the user's. A pipe, for
    example, is compiled as a query in FROM.
    """

    given: str
    rule: str
    remedy: str
    start: int
    end: int
    written: str

    @classmethod
    def at(cls, error: EndlessError, start: int, end: int, written: str) -> "Endless":
        """Returns why a query has no result: an error, and the characters that it is about."""
        return cls(error.given, error.rule, error.remedy, start, end, written)

    def error(self, sql: str) -> EndlessError:
        """Returns the error in the user's text. The place may be all of it."""
        start, end = self.start, self.end
        if sql[start:end] != self.written:
            start = max(sql.find(self.written), 0)
            end = start + len(self.written) if self.written in sql else len(sql)
        return EndlessError(self.given, self.rule, self.remedy, sql=sql, start=start, end=end)
