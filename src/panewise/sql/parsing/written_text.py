"""Texts that are written again from the characters of a text of the user, with the places of these.

Invariant: a written text knows where each of its pieces comes from, and so each character that was copied. So
errors show the text of the user, whatever is compiled in its place.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from panewise.errors import SqlError
from panewise.sql.parsing.syntax import TextSpan


@dataclass
class WrittenText:
    """A text that is written in pieces.

    Attributes:
        sql: the text.
        places: where each piece begins in it, and where it begins in the old text.
    """

    sql: str = ""
    places: list[tuple[int, int]] = field(default_factory=list)

    def add(self, text: str, place: int) -> None:
        """Adds a piece that stands at a place of the old text, or whose first character is about it."""
        if text:
            self.places.append((len(self.sql), place))
            self.sql += text

    def copy(self, sql: str, span: TextSpan, changes: Mapping[TextSpan, str]) -> None:
        """Adds characters of the old text, in which other texts stand for some spans."""
        at = span.start
        inside = [part for part in changes if span.start <= part.start and part.end <= span.end]
        for part in sorted(inside, key=lambda part: part.start):
            self.add(sql[at : part.start], at)
            self.add(changes[part], part.start)
            at = part.end
        self.add(sql[at : span.end], at)

    def covers(self, place: int) -> bool:
        """Returns whether a character of the old text is in this one."""
        ends = [*(begin for begin, _ in self.places[1:]), len(self.sql)]
        pieces = zip(self.places, ends, strict=True)
        return any(old <= place < old + end - begin for (begin, old), end in pieces)

    def append(self, other: "WrittenText") -> None:
        """Adds another written text."""
        begins = [begin for begin, _ in other.places] + [len(other.sql)]
        for (begin, place), end in zip(other.places, begins[1:], strict=True):
            self.add(other.sql[begin:end], place)

    def place_of(self, offset: int) -> int:
        """Returns the place in the old text of a character of this one."""
        begin, place = max((piece for piece in self.places if piece[0] <= offset), default=(0, 0))
        return place + offset - begin

    def span_of(self, span: TextSpan) -> TextSpan:
        """Returns the place in the old text of characters of this one.

        It is that of the first character alone, unless they stand side by side there, too.
        """
        start, last = self.place_of(span.start), self.place_of(span.end - 1)
        together = last - start == span.end - 1 - span.start
        return TextSpan(start, last + 1 if together else start + 1)


Piece: TypeAlias = WrittenText | str


def written(place: int, *pieces: Piece) -> WrittenText:
    """Returns pieces as one text. All characters of those that are no written texts are about one place."""
    text = WrittenText()
    for piece in pieces:
        if isinstance(piece, WrittenText):
            text.append(piece)
        else:
            for character in piece:
                text.add(character, place)
    return text


def listed(place: int, between: str, pieces: Iterable[Piece]) -> WrittenText:
    """Returns pieces as one text, with a text between them that is about a place."""
    separated = [part for piece in pieces for part in (between, piece)]
    return written(place, *separated[1:])


@dataclass(frozen=True)
class Origin:
    """Where a text that is compiled comes from.

    Attributes:
        sql: the text of the user.
        written: the texts that were written from it, the last one first. Empty: the user's text is compiled.
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
