"""CQL's windows behind a table: [ROWS 3], [RANGE 2 MINUTES], [NOW] (semantics 46.23)."""

from sqlglot import TokenType

from panewise.sql.clauses import ClauseParser
from panewise.sql.syntax import CqlWindow, Expr

_RULE = "a table may have a window of CQL in brackets"
_REMEDY = "write [ROWS 3], [RANGE 2 MINUTES], [RANGE UNBOUNDED], [NOW] or [PARTITION BY k ROWS 100]"


class StreamWindowParser(ClauseParser):
    """Parses windows in brackets."""

    def stream_window(self) -> CqlWindow | None:
        """Parses a window in brackets, if one follows.

        Raises:
            SqlError: for other words in brackets.
        """
        index = self._index
        if not self.take(TokenType.L_BRACKET):
            return None
        partition: tuple[Expr, ...] = ()
        if self.take_words("PARTITION", "BY"):
            partition = self.separated(self.operand)
        kind, length, slide = self._extent()
        time = self.name("a column of event times follows ON") if self.take_words("ON") else None
        self.required(TokenType.R_BRACKET, _RULE, _REMEDY)
        window = CqlWindow(kind, length, slide, partition, time, self.span_from(index))
        if partition and kind != "rows":
            rule = "PARTITION BY is for windows of rows; windows of time contain the rows of all keys"
            raise self.fail("PARTITION BY", rule, "leave it out", window.span)
        return window

    def _extent(self) -> tuple[str, object, object]:
        """Returns the kind of a window, its length and its slide."""
        if self.take_words("NOW"):
            return "now", None, None
        if self.take_words("UNBOUNDED"):
            return "unbounded", None, None
        if self.take_words("ROWS") or self.take_words("ROW"):
            if self.take_words("UNBOUNDED"):
                return "unbounded", None, None
            rows = self.count("a number of rows follows ROWS", _REMEDY)
            return "rows", rows, self.count(_RULE, _REMEDY) if self.take_words("SLIDE") else None
        if self.take_words("RANGE"):
            if self.take_words("UNBOUNDED"):
                return "unbounded", None, None
            length = self.length()
            return "range", length, self.length() if self.take_words("SLIDE") else None
        raise self.unexpected(_RULE, _REMEDY)
