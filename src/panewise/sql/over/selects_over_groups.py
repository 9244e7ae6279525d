"""A SELECT whose functions over windows, or QUALIFY, read its groups, as two SELECTs (semantics 46.82).

SQL computes functions over windows after the groups. So the inner SELECT has the groups with all that the
outer one reads of them, and the outer one has the functions.
"""

from collections.abc import Iterator

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import function_name, inner_call, windows_in
from panewise.sql.expressions.functions import is_aggregate
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Emit, Select, SelectItem, TextSpan
from panewise.sql.parsing.written_text import WrittenText
from panewise.sql.rewriting import add_emit, clauses
from panewise.sql.text.pieces import normal, one_line


class SelectOverGroups:
    """Writes the two SELECTs."""

    def __init__(self, parser: QueryParser, select: Select, emit: Emit | None) -> None:
        self.parser, self.select, self.emit = parser, select, emit
        self.outer = [item for item in select.items if windows_in(item.expr.node)]
        expressions = select.group.expressions if select.group is not None else ()
        self.keys = {normal(parser.characters(expr.span)) for expr in expressions}
        # By lower-case name, the columns of the inner SELECT: their names, and their characters in the text.
        self.columns: dict[str, tuple[str, TextSpan]] = {}

    def written(self) -> WrittenText:
        """Returns the text of both SELECTs.

        Raises:
            SqlError: if a column has no name.
        """
        qualify = self.select.qualify
        if qualify is not None and not self.outer and not windows_in(qualify.node):
            rule = "QUALIFY is a condition on functions over windows"
            raise self.parser.fail("QUALIFY", rule, "write it as HAVING", qualify.span)
        for item in self.select.items:
            if item not in self.outer:
                self._add(self._name(item), item.expr.span)
        text = WrittenText()
        text.add("SELECT ", self.select.span.start)
        for number, item in enumerate(self.select.items):
            text.add(", " if number else "", item.span.start)
            self._item(text, item)
        after_from = self._clauses()  # which may add columns to the inner SELECT
        text.add(" FROM (", self.select.span.start)
        self._inner(text)
        text.add(") ", self.select.span.start)
        text.append(after_from)
        return text

    def _clauses(self) -> WrittenText:
        """Returns the clauses WINDOW and QUALIFY."""
        text, windows, condition = WrittenText(), WrittenText(), WrittenText()
        if self.select.windows_span is not None:
            nodes = exp.Array(expressions=list(self.select.windows))
            self._replaced(windows, nodes, self.select.windows_span)
        if self.select.qualify is not None:
            self._replaced(condition, self.select.qualify.node, self.select.qualify.span)
        for word, clause in (("", windows), ("QUALIFY ", condition)):
            if clause.sql:
                text.add(word, clause.place)
                text.append(clause)
                text.add(" ", clause.place)
        return text

    def _name(self, item: SelectItem) -> str:
        if item.name is not None:
            return item.name
        rule = "beside functions over windows, the columns of a query with GROUP BY have names"
        text = self.parser.characters(item.expr.span)
        raise self.parser.fail(text, rule, "add AS and a name", item.span)

    def _add(self, name: str, span: TextSpan) -> None:
        self.columns.setdefault(name.lower(), (name, span))

    def _item(self, text: WrittenText, item: SelectItem) -> None:
        span, place = item.expr.span, item.span.start
        if item not in self.outer:
            text.add(in_backticks(self._name(item)), place)
            return
        self._replaced(text, item.expr.node, span)
        name = item.alias or one_line(self.parser.characters(span))
        text.add(f" AS {in_backticks(name)}", item.span.end)

    def _replaced(self, text: WrittenText, node: exp.Expr, span: TextSpan) -> None:
        """Adds an expression. Parts that the groups compute are replaced by names of the inner columns."""
        parts = sorted(self._of_groups(node), key=lambda part: self.parser.span_of(part).start)
        names = {self.parser.span_of(part): in_backticks(self._column(part)) for part in parts}
        text.copy(self.parser.sql, span, names)

    def _of_groups(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """Yields the largest parts of an expression that the groups have: aggregates, keys and columns."""
        name = function_name(inner_call(node))
        is_call = name is not None and is_aggregate(name)
        whole = isinstance(node, exp.Column) or is_call or normal(self._text(node)) in self.keys
        if whole and not isinstance(node, exp.Window):
            yield node
            return
        children = node.iter_expressions()
        if isinstance(node, exp.Window):
            alias = node.args.get("alias")
            others = [child for child in node.iter_expressions() if child not in (node.this, alias)]
            children = iter([*inner_call(node.this).iter_expressions(), *others])
        for child in children:
            yield from self._of_groups(child)

    def _text(self, node: exp.Expr) -> str:
        try:
            return self.parser.characters_of(node)
        except (ValueError, SqlError):
            return ""

    def _column(self, node: exp.Expr) -> str:
        """Returns the name of an inner column."""
        span = self.parser.span_of(node)
        text = self.parser.characters(span)
        plain = isinstance(node, exp.Column) and not node.table
        if plain and node.name.lower() in self.select.aliases:
            return node.name
        name = node.name if isinstance(node, exp.Column) else one_line(text)
        same = [
            known for known, at in self.columns.values() if normal(self.parser.characters(at)) == normal(text)
        ]
        if same:
            return same[0]
        self._add(name, span)
        return name

    def _inner(self, text: WrittenText) -> None:
        select = self.select
        text.add("SELECT ", select.span.start)
        for number, (name, span) in enumerate(self.columns.values()):
            text.add(", " if number else "", span.start)
            text.copy(self.parser.sql, span)
            text.add(f" AS {in_backticks(name)}", span.end)
        spans: list[tuple[str, TextSpan | None]] = [
            ("FROM", select.source_span),
            *(("", span) for _, span in select.others),
            ("WHERE", None if select.where is None else select.where.span),
            ("GROUP BY", None if select.group is None else select.group.span),
            ("HAVING", None if select.having is None else select.having.span),
        ]
        clauses(text, self.parser.sql, spans)
        add_emit(text, self.parser.sql, self.emit)
