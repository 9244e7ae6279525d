"""Parses EMIT: phrases, each in one of the forms of :mod:`panewise.sql.parsing.emit`."""

from typing import Any, Final

from sqlglot import TokenType

from panewise.sql.parsing.emit import FORMS, INTERVAL, ROWS
from panewise.sql.parsing.relations import RelationParser
from panewise.sql.parsing.syntax import Emit, Phrase

_LONGEST_FIRST: Final = tuple(sorted(FORMS, key=len, reverse=True))


class EmitParser(RelationParser):
    """Parses EMIT, and what RelationParser does."""

    def emit_clause(self, clauses: tuple[str, ...]) -> Emit:
        """Parses EMIT and its phrases, up to one of these clauses.

        Raises:
            SqlError: if a phrase has none of the forms.
        """
        index = self._index
        self._advance()
        self.take_words("STREAM")
        phrases = [self._phrase()]
        while self.take(TokenType.COMMA) or self.take_words("AND") or not self._ends(clauses):
            phrases.append(self._phrase())
        return Emit(tuple(phrases), self.span_from(index))

    def clause(self, words: tuple[str, ...]) -> str | None:
        """Returns the clause that begins here, if it is one of these."""
        for word in words:
            if self.at_word(*word.split()):
                return word
        return None

    def _ends(self, clauses: tuple[str, ...]) -> bool:
        closes = not self._curr or self.at(TokenType.R_PAREN, TokenType.SEMICOLON)
        return closes or self.clause(clauses) is not None

    def _phrase(self) -> Phrase:
        index = self._index
        for words in _LONGEST_FIRST:
            values: list[Any] = []
            if all(self._word_of_emit(word, values) for word in words):
                return Phrase(words, values[0] if values else None, self.span_from(index))
            self._retreat(index)
        shown = ", ".join(" ".join(words) for words in list(FORMS)[:5])
        raise self.unexpected(
            "EMIT says when panes are emitted, and what they contain", f"write {shown}, ..."
        )

    def _word_of_emit(self, word: str, values: list[Any]) -> bool:
        """Skips a word of EMIT, or the value that it stands for."""
        if word == ROWS:
            matches = self.at(TokenType.NUMBER) and self.word(1) in ("ROWS", "ROW")
            if matches:
                values.append(int(self._curr.text) if self._curr.text.isdigit() else self._curr.text)
                self._advance(2)
            return matches
        if word != INTERVAL:
            return self.take_words(word)
        if not self.at(TokenType.INTERVAL, TokenType.STRING):
            return False
        values.append(self.interval())
        return True
