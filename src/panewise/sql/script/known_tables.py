"""What a script declares about its tables and views, by statement."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from sqlglot import Token

from panewise.errors import SpecError
from panewise.spec.column_types import Type
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.script.steps import SinkStep
from panewise.sql.text.recognize import tables_named


class KnownColumn(NamedTuple):
    """A column: its name, None if only Spark knows it; and its type, None if that is not known."""

    name: str | None
    type: Type | None = None


KnownColumns: TypeAlias = tuple[KnownColumn, ...]


@dataclass(frozen=True)
class KnownTable:
    """What a script declares about a table.

    Attributes:
        columns: the columns, None if they are not known.
        streaming: whether it is a stream.
        watermarks: the columns with a watermark, in lower case; None if that is not known.
    """

    columns: KnownColumns | None
    streaming: bool
    watermarks: frozenset[str] | None = frozenset()

    @property
    def names(self) -> list[str] | None:
        """The names of the columns, None if some are not known."""
        names = [column.name for column in self.columns or ()]
        complete = self.columns is not None and None not in names
        return [name for name in names if name is not None] if complete else None

    @property
    def types(self) -> dict[str, Type]:
        """The types that are known, by column."""
        pairs = [(column.name, column.type) for column in self.columns or ()]
        return {name: type_ for name, type_ in pairs if name is not None and type_ is not None}

    def with_columns(self, *added: KnownColumn) -> "KnownTable":
        """Returns a table with further columns, which replace those of the same name."""
        if self.columns is None:
            return self
        new = {column.name.lower() for column in added if column.name is not None}
        others = (column for column in self.columns if column.name is None or column.name.lower() not in new)
        return replace(self, columns=(*others, *added))


UNKNOWN: Final = KnownTable(None, streaming=False, watermarks=None)


@dataclass
class Tables:
    """The tables and views that a script has declared so far, by their names in lower case.

    Attributes:
        views: the sources and the queries with names.
        sinks: the sinks.
        results: the views with operators, which have outputs such as late rows.
        written: the sinks that a query writes to.
        closed: whether there are no other tables, but for those with a database.
    """

    views: dict[str, KnownTable] = field(default_factory=dict)
    sinks: dict[str, SinkStep] = field(default_factory=dict)
    results: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    closed: bool = True

    def allow_others(self) -> None:
        """Notes that a statement of Spark's may have made further tables."""
        self.closed = False

    def check_new(self, name: str) -> None:
        """Refuses a name that is declared.

        Raises:
            SpecError: if it is.
        """
        if self.declares(name):
            rule = "each table and view of a script has a name of its own"
            raise SpecError(name, rule, "give it another name")

    def declares(self, name: str) -> bool:
        """Returns whether a table or view has this name."""
        return name.lower() in self.views or name.lower() in self.sinks

    @property
    def readable(self) -> dict[str, KnownTable]:
        """The views, and the sinks, whose columns are not known before they are written."""
        return {**dict.fromkeys(self.sinks, UNKNOWN), **self.views}

    def reads_a_stream(self, text: str) -> bool:
        """Returns whether a query reads a view that is a stream."""
        return any(name in self.views and self.views[name].streaming for name in tables_read(text))

    def reads_a_result(self, text: str) -> bool:
        """Returns whether a query reads a view with operators."""
        return bool(tables_read(text).keys() & self.results)


def tables_read(sql: str) -> dict[str, Token]:
    """Returns the tables that a query reads, in lower case, each with its first token.

    >>> list(tables_read("WITH a AS (SELECT v FROM t), b (x) AS (SELECT v FROM a) SELECT x FROM b JOIN u"))
    ['t', 'u']
    """
    named = tables_named(sql)
    return {name: token for name, token in named.items() if name not in _queries_named(tokens_of(sql))}


def _queries_named(tokens: Sequence[Token]) -> set[str]:
    """Returns the names that WITH gives to queries, in lower case."""
    names = set[str]()
    for place, token in enumerate(tokens[1:-1], 1):
        if token.text.upper() == "AS" and tokens[place + 1].text == "(":
            name = place - 1
            while tokens[name].text != "(" and tokens[place - 1].text == ")" and name:
                name -= 1
            name -= tokens[place - 1].text == ")"
            if name > 0 and tokens[name - 1].text.upper() in ("WITH", ","):
                names.add(tokens[name].text.lower())
    return names
