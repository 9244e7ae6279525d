"""Texts that are written again from a text of the user, and know where their characters come from.

Invariant: each character was copied from a place of the old text, or replaces what stands at a place. So
errors show the text of the user, whatever is compiled instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from panewise.errors import SqlError
from panewise.sql.parsing.syntax import TextSpan


@dataclass(frozen=True)
class _Part:
    """Characters of a written text.

    Attributes:
        begin: where they begin in it.
        place: where they were copied from, or the place of the old text that all of them are about.
        copied: whether they are copied from the old text as they stand.
    """

    begin: int
    place: int
    copied: bool


@dataclass
class WrittenText:
    """A text that is written in parts, some of which are copied from an old text.

    Attributes:
        sql: the text.
        parts: where the parts come from, in their order.
    """

    sql: str = ""
    parts: list[_Part] = field(default_factory=list)

    @property
    def place(self) -> int:
        """The place of the first character. The text is not empty."""
        return self.parts[0].place

    def add(self, text: str, place: int) -> None:
        """Adds characters that are about a place of the old text."""
        self._add(text, place, copied=False)

    def copy(self, sql: str, span: TextSpan, changes: Mapping[TextSpan, str] | None = None) -> None:
        """Adds characters of the old text, in which other texts stand for some spans."""
        at = span.start
        inside = [part for part in changes or {} if span.start <= part.start and part.end <= span.end]
        for part in sorted(inside, key=lambda part: part.start):
            self._add(sql[at : part.start], at, copied=True)
            self.add((changes or {})[part], part.start)
            at = part.end
        self._add(sql[at : span.end], at, copied=True)

    def append(self, other: "WrittenText") -> None:
        """Adds another written text."""
        for part, end in other._ends():
            self._add(other.sql[part.begin : end], part.place, copied=part.copied)

    def covers(self, place: int) -> bool:
        """Returns whether a character of the old text is copied into this one."""
        return any(
            part.copied and part.place <= place < part.place + end - part.begin for part, end in self._ends()
        )

    def place_of(self, offset: int) -> int:
        """Returns the place in the old text of a character of this one."""
        nothing = _Part(0, 0, copied=True)
        part = max((part for part in self.parts if part.begin <= offset), key=_begin, default=nothing)
        return part.place + (offset - part.begin if part.copied else 0)

    def span_of(self, span: TextSpan) -> TextSpan:
        """Returns the place in the old text of characters of this one.

        It is that of the first character alone, unless the last one is as far from it there.
        """
        start, last = self.place_of(span.start), self.place_of(span.end - 1)
        together = last - start == span.end - 1 - span.start
        return TextSpan(start, last + 1 if together else start + 1)

    def _add(self, text: str, place: int, *, copied: bool) -> None:
        if text:
            self.parts.append(_Part(len(self.sql), place, copied))
            self.sql += text

    def _ends(self) -> Iterator[tuple[_Part, int]]:
        """Returns the parts with their ends in this text."""
        end = _Part(len(self.sql), 0, copied=False)
        return ((part, behind.begin) for part, behind in pairwise([*self.parts, end]))


def _begin(part: _Part) -> int:
    return part.begin


Piece: TypeAlias = WrittenText | str


def written(place: int, *pieces: Piece) -> WrittenText:
    """Returns pieces as one text. Strings among them are about one place."""
    text = WrittenText()
    for piece in pieces:
        if isinstance(piece, WrittenText):
            text.append(piece)
        else:
            text.add(piece, place)
    return text


def separated_texts(place: int, between: str, pieces: Iterable[Piece]) -> WrittenText:
    """Returns pieces as one text, with a text between them. It and strings are about a place."""
    parts = [part for piece in pieces for part in (between, piece)]
    return written(place, *parts[1:])


@dataclass(frozen=True)
class Origin:
    """Where a text that is compiled comes from.

    Attributes:
        sql: the text of the user.
        written: the texts that were written one from the other, the last one first. Empty: the user's own
            text is compiled.
    """

    sql: str
    written: tuple[WrittenText, ...] = ()

    def place(self, span: TextSpan) -> TextSpan:
        """Returns the place in the text of the user of characters of the compiled text."""
        for text in self.written:
            span = text.span_of(span)
        return span

    def behind(self, text: WrittenText) -> "Origin":
        """Returns the origin of a text that was written from the compiled one."""
        return Origin(self.sql, (text, *self.written))

    def fail(self, given: str, rule: str, remedy: str, span: TextSpan) -> SqlError:
        """Returns an error at characters of the compiled text, which shows the text of the user."""
        place = self.place(span)
        return SqlError(given, rule, remedy, sql=self.sql, start=place.start, end=place.end)
