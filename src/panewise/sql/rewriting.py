"""A query that is written again from the characters of the text, and compiled like any other query.

Each character of the new text knows its place in the old one, so errors show the text of the user.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from panewise.errors import SqlError
from panewise.sql.embedded_tables import check_embedded
from panewise.sql.options import check_options_read
from panewise.sql.parsing.parser import QueryParser, parse
from panewise.sql.parsing.syntax import Emit, Select, TextSpan
from panewise.sql.scope import QueryScope
from panewise.sql.stages import QueryStage


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
        """Adds a piece that stands at, or is about, a place of the old text."""
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

    def error_of(self, error: SqlError, parser: QueryParser) -> SqlError:
        """Returns an error about this text as one about the old text, which `parser` knows."""
        if error.line is None or error.column is None:
            return error
        lines = self.sql.split("\n")[: error.line - 1]
        place = self.place_of(sum(len(line) + 1 for line in lines) + error.column - 1)
        return parser.fail(error.given, error.rule, error.remedy, TextSpan(place, place + 1))


def compiled_again(text: WrittenText, scope: QueryScope) -> QueryStage:
    """Returns the stage of a query that is written again. Its errors show the text of the user."""
    key = (text.sql, tuple((name, id(query)) for name, query in scope.known.items()))
    if key not in scope.written:
        try:
            query, parser = parse(text.sql)
            stage = scope.of_text(parser).query(query)
            check_options_read(parser)
            check_embedded(parser)
        except SqlError as error:
            raise text.error_of(error, scope.parser) from None
        scope.written[key] = stage, scope.known
    for known in (scope.parser.optional, scope.parser.embedded):
        for place in [place for place in known if text.covers(place)]:
            del known[place]  # it is read there
    return scope.written[key][0]


def with_part(select: Select, emit: Emit | None, span: TextSpan, part: WrittenText, sql: str) -> WrittenText:
    """Returns a SELECT of the old text, in which another text stands for these characters, with its EMIT."""
    text = WrittenText()
    text.copy(sql, TextSpan(select.span.start, span.start), {})
    text.append(part)
    text.copy(sql, TextSpan(span.end, select.span.end), {})
    add_emit(text, sql, emit)
    return text


def add_emit(text: WrittenText, sql: str, emit: Emit | None) -> None:
    """Adds an EMIT clause, whose parts need not all stand in the old text."""
    for number, phrase in enumerate(() if emit is None else emit.phrases):
        text.add(", " if number else " EMIT ", phrase.span.start)
        if phrase.value is None:
            text.add(" ".join(phrase.words), phrase.span.start)
        else:
            text.copy(sql, phrase.span, {})


def clauses(
    text: WrittenText,
    sql: str,
    spans: Iterable[tuple[str, TextSpan | None]],
    changes: Mapping[TextSpan, str],
) -> None:
    """Adds clauses of the old text, each behind its word. Those without a span are left out."""
    for word, span in spans:
        if span is not None:
            text.add(f" {word} ", span.start)
            text.copy(sql, span, changes)
