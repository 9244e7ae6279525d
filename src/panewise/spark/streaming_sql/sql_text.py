"""Runs parts of a text of SQL in a session: DataFrames stand for tables as temporary views."""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from panewise.errors import SpecError, SqlError
from panewise.spark.session.driver import is_classic
from panewise.spec.conditions.text import in_backticks
from panewise.sql.parsing.error_places import error_at
from panewise.sql.parsing.expressions import STOPS, tokens_of
from panewise.sql.text.named_places import first_place, placed
from panewise.sql.text.recognize import is_table

T = TypeVar("T")


class SparkText:
    """Runs texts in a session, with errors that show the place in the whole text.

    Args:
        session: the session.
        text: the whole text.
    """

    def __init__(self, session: SparkSession, text: str) -> None:
        self.session, self.text = session, text

    def guarded(self, make: Callable[[], T]) -> T:
        """Returns what `make` returns; an error of Spark about the text becomes a SqlError."""
        try:
            return make()
        except (AnalysisException, ParseException) as error:
            message = str(error).strip().split("\n", 1)[0]
            rule = "expressions and names are those of Spark's SQL"
            refused = SqlError(message, rule, "correct the expression or the name")
            place = first_place(self.text, *re.findall(r"`([^`]+)`", message))
            raise error_at(refused, self.text, place) from error

    def run_query(self, pieces: Sequence[str], frames: Sequence[tuple[DataFrame, str | None]]) -> DataFrame:
        """Runs a query of Spark's, in which DataFrames stand between the pieces of the text."""
        views = self.views({str(number): df for number, (df, _) in enumerate(frames)})
        text = pieces[0]
        for number, (_, alias) in enumerate(frames):
            name = "" if alias is None else f" AS {in_backticks(alias)}"
            text += f"{views[str(number)]}{name}{pieces[number + 1]}"
        return self.run_text(text, views)

    def run_text(self, text: str, views: Mapping[str, str]) -> DataFrame:
        """Runs a text for Spark, and drops the views for it.

        In a session of Spark Connect they stay, because the server reads the text when a result is wanted.
        """
        try:
            return self.session.sql(text)
        finally:
            if is_classic(self.session):
                for view in views.values():
                    self.session.catalog.dropTempView(view)

    def views(self, frames: Mapping[str, DataFrame]) -> dict[str, str]:
        """Returns the names of new temporary views of DataFrames."""
        views = {}
        for name, df in frames.items():
            view = views[name] = f"panewise_{uuid.uuid4().hex}"
            df.createOrReplaceTempView(view)
        return views

    def checked(self, make: Callable[[], T]) -> T:
        """Returns what `make` returns; an error of the operator gets the place of its column."""
        try:
            return make()
        except SpecError as error:
            shown = placed(error, self.text)
            raise shown from None if shown is error else error


def _after_sample(tokens: Sequence[Any], index: int) -> int:
    """Returns the index after TABLESAMPLE (...) REPEATABLE (...), or this index without it.

    In Spark's grammar the name that a query gives to a table stands after its sample.
    """
    for word in ("TABLESAMPLE", "REPEATABLE"):
        if index < len(tokens) and tokens[index].text.upper() == word:
            closing = (at for at in range(index, len(tokens)) if tokens[at].text == ")")
            index = next(closing, len(tokens) - 1) + 1
    return index


def _has_alias(tokens: Sequence[Any], index: int) -> bool:
    """Returns whether the name of a table is followed by one that the query gives to it."""
    if index >= len(tokens):
        return False
    text = tokens[index].text
    return text.upper() == "AS" or (text.isidentifier() and text.upper() not in STOPS)


def named_tables(text: str, views: Mapping[str, str]) -> str:
    """Returns a text in which views stand for the tables of these names, also in braces.

    >>> named_tables("SELECT t.v FROM t WHERE v > 1", {"t": "a"})
    'SELECT t.v FROM a AS `t` WHERE v > 1'
    >>> named_tables("TABLE t |> WHERE t.v > 1", {"t": "a"}), named_tables("TABLE t", {"t": "a"})
    ('FROM a AS `t` |> WHERE t.v > 1', 'SELECT * FROM a AS `t`')
    """
    tokens, pieces, at = tokens_of(text), list[str](), 0
    known = {**{name.lower(): view for name, view in views.items()}, **views}
    for index, token in enumerate(tokens):
        view = known.get(token.text) or known.get(token.text.lower())
        before = tokens[index - 1].text if index else ""
        braces = before == "{" and index + 1 < len(tokens) and tokens[index + 1].text == "}"
        if view is None or not (braces or is_table(tokens, index)):
            continue
        last = index + 1 if braces else index
        first = index - 1 if braces else index
        if first and tokens[first - 1].text.upper() == "TABLE":  # Spark's TABLE t takes no other name
            first -= 1
            piped = last + 1 < len(tokens) and tokens[last + 1].text == "|>"
            view = f"FROM {view}" if piped else f"SELECT * FROM {view}"
        behind = _after_sample(tokens, last + 1)
        alias = "" if _has_alias(tokens, behind) else f" AS {in_backticks(token.text)}"
        sampled = text[tokens[last].end + 1 : tokens[behind - 1].end + 1]
        pieces += [text[at : tokens[first].start], view, sampled, alias]
        at = tokens[behind - 1].end + 1
    return "".join([*pieces, text[at:]])
