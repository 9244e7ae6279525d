"""GROUP BY, functions over windows and DISTINCT over the rows of a join, as a query over a query (46.28)."""

from collections.abc import Iterator

from sqlglot import exp

from panewise.spec import PANE_COLUMNS
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import columns_in, plain_name
from panewise.sql.joins.side_columns import joined_name
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Emit, Select, SelectItem, TextSpan
from panewise.sql.parsing.written_text import WrittenText
from panewise.sql.rewriting import add_emit, clauses

_OWN = frozenset({*PANE_COLUMNS, "window_time", "window", "session_window"})


class SelectOverJoin:
    """Writes a SELECT whose FROM is a join as two SELECTs: the inner one has the columns of the join.

    Args:
        parser: the parser, which knows the text.
        select: the SELECT.
        emit: its EMIT clause.
        tables: the names of the joined tables, in lower case.
    """

    def __init__(
        self, parser: QueryParser, select: Select, emit: Emit | None, tables: frozenset[str]
    ) -> None:
        self.parser, self.select, self.emit, self.tables = parser, select, emit, tables
        self.aliases = {item.alias.lower() for item in select.items if item.alias is not None}
        self.nodes = list(self._columns())
        self.names = self._names()

    def written(self) -> WrittenText:
        """Returns the text of both SELECTs.

        Raises:
            SqlError: for `*`.
        """
        select, text = self.select, WrittenText()
        changes = {self.parser.span_of(node): self._text(node) for node in self.nodes}
        text.add("SELECT DISTINCT " if select.distinct else "SELECT ", select.span.start)
        for number, item in enumerate(select.items):
            text.add(", " if number else "", item.span.start)
            self._item(text, item, changes)
        text.add(" FROM (", select.span.start)
        self._inner(text)
        text.add(") AS joined", select.span.start)
        spans: list[tuple[str, TextSpan | None]] = [
            ("GROUP BY", None if select.group is None else select.group.span),
            ("HAVING", None if select.having is None else select.having.span),
            ("", select.windows_span),
            ("QUALIFY", None if select.qualify is None else select.qualify.span),
        ]
        clauses(text, self.parser.sql, spans, changes)
        add_emit(text, self.parser.sql, self.emit)
        return text

    def _columns(self) -> Iterator[exp.Column]:
        """Yields the columns of the join that the outer SELECT reads."""
        select = self.select
        exprs = [expr for expr in (select.having, select.qualify) if expr is not None]
        exprs += select.group.expressions if select.group is not None else ()
        others = [*(expr.node for expr in exprs), *select.windows]
        listed = [item.expr.node for item in select.items]
        for node, of_list in (*((node, True) for node in listed), *((node, False) for node in others)):
            for column in columns_in(node):
                if self._is_of_join(column, of_list=of_list):
                    yield column

    def _is_of_join(self, node: exp.Column, *, of_list: bool) -> bool:
        """Returns whether a column, or a field of one, is of the join.

        In clauses after the SELECT list a name may be that of a column of the list.
        """
        if node.table:
            first = node.parts[0].name.lower()
            return first in self.tables or not (first in _OWN or first in self.aliases)
        name = plain_name(node, frozenset())
        return bool(name) and name not in _OWN and (of_list or name not in self.aliases)

    def _names(self) -> dict[tuple[str, str], str]:
        """Returns the names of the inner columns, by what precedes them. Equal ones have it before them."""
        pairs = list(dict.fromkeys((_prefix(node), node.name.lower()) for node in self.nodes))
        names = [name for _, name in pairs]
        return {
            (table, name): f"{table}.{name}" if table and names.count(name) > 1 else name
            for table, name in pairs
        }

    def _name(self, node: exp.Column) -> str:
        return self.names[_prefix(node), node.name.lower()]

    def _text(self, node: exp.Column) -> str:
        """Returns a column of the join as the outer SELECT writes it: without its table, if it has none."""
        name = self._name(node)
        written = self.parser.characters_of(node)
        return in_backticks(name) if name != node.name.lower() else written.rpartition(".")[2]

    def _item(self, text: WrittenText, item: SelectItem, changes: dict[TextSpan, str]) -> None:
        node = item.expr.node
        if isinstance(node, exp.Star):
            rule = "a query with GROUP BY, OVER or DISTINCT over a join names its columns"
            raise self.parser.fail("*", rule, "write them", item.span)
        text.copy(self.parser.sql, item.expr.span, changes)
        if item.name is not None:
            text.add(f" AS {in_backticks(item.name)}", item.span.end)

    def _inner(self, text: WrittenText) -> None:
        select, first = self.select, True
        text.add("SELECT ", select.span.start)
        for node in {self._name(node): node for node in self.nodes}.values():
            span = self.parser.span_of(node)
            text.add("" if first else ", ", span.start)
            text.add(f"{self.parser.characters(span)} AS {self._text(node)}", span.start)
            first = False
        if first:
            text.add("1 AS `row`", select.span.start)
        where = None if select.where is None else select.where.span
        clauses(text, self.parser.sql, [("FROM", select.source_span), ("WHERE", where)])


def _prefix(node: exp.Column) -> str:
    """Returns what precedes the name of a column: its table, and the struct of which it is a field."""
    return ".".join(part.name.lower() for part in node.parts[:-1])


def over_joined(
    parser: QueryParser, select: Select, span: TextSpan, tables: frozenset[str], joined: str
) -> WrittenText:
    """Returns a SELECT from a join of a join with a table that only Spark can join.

    Args:
        parser: the parser.
        select: the SELECT.
        span: the characters of the inner join.
        tables: the names of its tables.
        joined: the name of the inner join, which stands in the place of its characters.
    """
    nodes = [node for node in _read(select) if node.table.lower() in tables]
    names = {parser.span_of(node): f"{joined}.{in_backticks(joined_name(node))}" for node in nodes}
    text, sql = WrittenText(), parser.sql
    text.add("SELECT ", select.span.start)
    for number, item in enumerate(select.items):
        text.add(", " if number else "", item.span.start)
        text.copy(sql, item.expr.span, names)
        text.add(f" AS {in_backticks(item.name)}" if item.name else "", item.span.end)
    text.add(f" FROM {joined}", span.start)
    text.copy(sql, TextSpan(span.end, select.span.end), names)
    return text


def _read(select: Select) -> Iterator[exp.Column]:
    source = select.source
    exprs = [item.expr for item in select.items]
    others = (select.where, getattr(source, "on", None))
    for expr in (*exprs, *(other for other in others if other is not None)):
        yield from columns_in(expr.node)
