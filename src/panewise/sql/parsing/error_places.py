"""Errors of specifications that get a place in a text of SQL."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TypeAlias

from panewise.errors import SpecError, SqlError
from panewise.sql.parsing.syntax import TextSpan

Failure: TypeAlias = Callable[[str, str, str, TextSpan], SqlError]  # an error at these characters


@dataclass(frozen=True)
class Placing:
    """A context whose errors of specifications become errors at these characters.

    An error that has a place keeps it.

    Attributes:
        fail: returns an error at characters of a text.
        span: the characters.
    """

    fail: Failure
    span: TextSpan

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        placed = isinstance(error, SqlError) and error.start is not None
        if isinstance(error, SpecError) and not placed:
            raise self.fail(error.given, error.rule, error.remedy, self.span) from None


def error_at(error: SpecError, sql: str, place: TextSpan | None) -> SqlError:
    """Returns an error as one about these characters of a text; None are no characters."""
    start, end = (None, None) if place is None else (place.start, place.end)
    return SqlError(error.given, error.rule, error.remedy, sql=sql, start=start, end=end)
