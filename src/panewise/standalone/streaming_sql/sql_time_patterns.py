"""Patterns of date_format, to_date and to_timestamp in process, such as `yyyy-MM-dd HH:mm`.

Here are the letters that have one meaning on Spark and in Polars. Texts are parsed only if they have all
digits of the pattern, as Spark requires.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from panewise.errors import InputError
from panewise.standalone.streaming_sql.sql_typed import Function, Typed, of_one, refusal

_FORMATS: Final[Mapping[str, str]] = {
    "yyyy": "%Y",
    "yy": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "M": "%-m",
    "dd": "%d",
    "d": "%-d",
    "EEEE": "%A",
    "EEE": "%a",
    "EE": "%a",
    "E": "%a",
    "HH": "%H",
    "H": "%-H",
    "hh": "%I",
    "h": "%-I",
    "mm": "%M",
    "m": "%-M",
    "ss": "%S",
    "s": "%-S",
    "SSS": "%3f",
    "SSSSSS": "%6f",
    "a": "%p",
}
_DIGITS: Final[Mapping[str, str]] = {
    "yyyy": r"\d{4}",
    "MM": r"\d\d",
    "dd": r"\d\d",
    "HH": r"\d\d",
    "mm": r"[0-5]\d",
    "ss": r"[0-5]\d",
    "SSS": r"\d{3}",
    "SSSSSS": r"\d{6}",
}
_PARSED: Final = ("yyyy MM dd", "yyyy MM dd HH mm", "yyyy MM dd HH mm ss", "yyyy MM dd HH mm ss SSS")
_SETS: Final = frozenset(frozenset(parts.split()) for parts in (*_PARSED, "yyyy MM dd HH mm ss SSSSSS"))
_PART: Final = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^][{}#])")


def _parts(name: str, pattern: str, letters: Mapping[str, str]) -> Iterator[tuple[str | None, str]]:
    """Yields the parts of a pattern: letters with None, or None with characters that stand for themselves."""
    at = 0
    while at < len(pattern):
        token = _PART.match(pattern, at)
        if token is None or (token["letters"] and token["letters"] not in letters):
            rule = (
                f"in process a pattern has {', '.join(letters)} and other characters, without [ ] {{ }} and #"
            )
            raise refusal(f"{name}(..., {pattern!r})", rule)
        quoted = token["quoted"]
        if quoted is not None:
            yield None, quoted.replace("''", "'") or "'"
        else:
            yield token["letters"], token["other"] or ""
        at = token.end()


def formatted(pattern: str) -> Function:
    """Returns the function that date_format is for a pattern."""
    parts = _parts("date_format", pattern, _FORMATS)
    chrono = "".join(_FORMATS[letters] if letters else text.replace("%", "%%") for letters, text in parts)

    def text(at: Typed) -> pl.Expr:
        utc = at.expr.dt.convert_time_zone("UTC") if at.is_time else at.expr.cast(pl.Datetime("us"))
        return utc.dt.to_string(chrono) if chrono else utc.dt.to_string("%Y").str.slice(0, 0)

    rule = "it takes an instant or a date, and a pattern"
    return of_one(rule, lambda at: at.is_time or isinstance(at.dtype, pl.Date), text)


def parsed(pattern: str, *, date: bool) -> Function:
    """Returns the function that to_date or to_timestamp is for a pattern."""
    parts = [*_parts("to_date" if date else "to_timestamp", pattern, _DIGITS)]
    used = Counter(letters for letters, _ in parts if letters)
    if frozenset(used) not in _SETS or max(used.values()) > 1:
        rule = f"in process a pattern has, once each, in any order, the letters of {', or of '.join(_PARSED)}"
        raise refusal(f"a pattern {pattern!r}", rule)
    chrono = "".join(_FORMATS[letters] if letters else text.replace("%", "%%") for letters, text in parts)
    digits = "".join(_DIGITS[letters] if letters else re.escape(text) for letters, text in parts)

    def instants(texts: pl.Series) -> pl.Series:
        fitting = texts.filter(texts.str.contains(f"^(?:{digits})$") | texts.is_null())
        at = fitting.str.to_datetime(chrono, strict=False, time_unit="us", time_zone="UTC")
        if len(at) < len(texts) or at.null_count() > texts.null_count():
            rule = f"a text has the pattern {pattern!r}, on Spark, too"
            raise InputError("a text that is no time", rule, "select the texts with RLIKE before")
        return at.dt.date() if date else at

    def times(text: Typed) -> pl.Expr:
        dtype = pl.Date() if date else pl.Datetime("us", "UTC")
        return text.expr.cast(pl.String).map_batches(instants, return_dtype=dtype)

    return of_one("it takes a text and a pattern", lambda text: text.is_text, times)
