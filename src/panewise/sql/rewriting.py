"""A query that is written again from the characters of the text, and compiled like any other query."""

from collections.abc import Iterable, Mapping

from panewise.sql.parsing.parser import parse
from panewise.sql.parsing.syntax import Emit, Select, TextSpan
from panewise.sql.parsing.written_text import WrittenText
from panewise.sql.scope import QueryScope
from panewise.sql.stages import QueryStage


def compiled_again(text: WrittenText, scope: QueryScope) -> QueryStage:
    """Returns the stage of a query that is written again. Its errors show the text of the user."""
    key = (text.sql, tuple((name, id(query)) for name, query in scope.known.items()))
    if key not in scope.written:
        query, parser = parse(text.sql, scope.parser.origin.behind(text))
        stage = scope.of_text(parser).query(query)
        parser.unread.check(parser.origin, parser.sql)
        scope.written[key] = stage, scope.known
    scope.parser.unread.read_in(text)
    return scope.written[key][0]


def with_part(select: Select, emit: Emit | None, span: TextSpan, part: WrittenText, sql: str) -> WrittenText:
    """Returns a SELECT of the old text, in which another text stands for these characters, with its EMIT."""
    text = WrittenText()
    text.copy(sql, TextSpan(select.span.start, span.start))
    text.append(part)
    text.copy(sql, TextSpan(span.end, select.span.end))
    add_emit(text, sql, emit)
    return text


def add_emit(text: WrittenText, sql: str, emit: Emit | None) -> None:
    """Adds an EMIT clause, whose parts need not all stand in the old text."""
    for number, phrase in enumerate(() if emit is None else emit.phrases):
        text.add(", " if number else " EMIT ", phrase.span.start)
        if phrase.value is None:
            text.add(" ".join(phrase.words), phrase.span.start)
        else:
            text.copy(sql, phrase.span)


def clauses(
    text: WrittenText,
    sql: str,
    spans: Iterable[tuple[str, TextSpan | None]],
    changes: Mapping[TextSpan, str] | None = None,
) -> None:
    """Adds clauses of the old text, each after its word. Those without a span are left out."""
    for word, span in spans:
        if span is not None:
            text.add(f" {word} ", span.start)
            text.copy(sql, span, changes)
