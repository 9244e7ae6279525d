"""The tables of a text that only an operator can read, until one has read them."""

from dataclasses import dataclass, field

from panewise.sql.parsing.syntax import NamedTable, TableFunction
from panewise.sql.parsing.written_text import Origin, WrittenText


@dataclass
class UnreadTables:
    """The tables of a text that no operator has read yet, by the places where they begin.

    Attributes:
        optional: those with options.
        embedded: those in the queries of expressions that have WATERMARK, or are a window function
            (semantics 46.29).
    """

    optional: dict[int, NamedTable] = field(default_factory=dict)
    embedded: dict[int, NamedTable | TableFunction] = field(default_factory=dict)

    def add_optional(self, table: NamedTable) -> None:
        """Adds a table with options."""
        self.optional[table.span.start] = table

    def add_embedded(self, table: NamedTable | TableFunction) -> None:
        """Adds a table in the query of an expression."""
        self.embedded[table.span.start] = table

    def read_options(self, table: NamedTable) -> None:
        """Notes that an operator has read the options of a table."""
        self.optional.pop(table.span.start, None)

    def read_in(self, text: WrittenText) -> None:
        """Notes that the tables which were copied into another text are read there."""
        for known in (self.optional, self.embedded):
            for place in filter(text.covers, [*known]):
                del known[place]

    def check(self, origin: Origin, sql: str) -> None:
        """Refuses the tables that are left in a text.

        Raises:
            SqlError: at the first one with options, else at the first one in an expression.
        """
        for table in self.optional.values():
            rule = "options of a table are those of the operator that reads it, and here Spark alone does"
            names = ", ".join(name for name, _ in table.options)
            raise origin.fail(names, rule, "leave WITH out", table.span)
        for embedded in self.embedded.values():
            rule = (
                "a query in an expression is Spark's, which has no window functions and no WATERMARK; only "
                "EXISTS"
            )
            rule += " and IN in WHERE are joins, if they compare window_start and window_end, or event times"
            remedy = "compare these, or write a join in FROM"
            span = embedded.span
            raise origin.fail(sql[span.start : span.end], rule, remedy, span)
