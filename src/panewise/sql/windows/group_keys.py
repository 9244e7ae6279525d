"""GROUP BY: the keys, and the window that stands among them (semantics 46.4)."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import (
    check_no_window,
    column_name,
    columns_in,
    constant,
    has_aggregate,
    plain_name,
)
from panewise.sql.input_columns import InputColumns
from panewise.sql.parsing.syntax import Expr, Select, SelectItem
from panewise.sql.text.pieces import normal, one_line
from panewise.sql.windows.grouping_sets import Sets
from panewise.sql.windows.panes import END, WINDOW_COLUMNS, bound_in_struct, window_call


class GroupKeys:
    """The keys of a GROUP BY, and its window.

    Args:
        select: the SELECT.
        columns: the columns that the operator reads.
        sets: the sets of GROUP BY.
        ends: the texts of the bounds of the rows' windows, by the lower-case names of columns; None if GROUP
            BY calls the window.

    Attributes:
        call: the call of a window in GROUP BY, once the keys have been read.
        bounds: the bounds of windows in GROUP BY, or the column with both, once the keys have been read.
    """

    def __init__(
        self, select: Select, columns: InputColumns, sets: Sets, ends: Mapping[str, str] | None = None
    ) -> None:
        self.select, self.columns, self.sets, self.ends = select, columns, sets, ends
        self.parser = columns.parser
        self.call: exp.Expr | None = None
        self.bounds: set[str] = set()

    def names(self) -> dict[str, str]:
        """Returns the names of the key columns by the normal texts of their expressions.

        Raises:
            SqlError: for what is no key.
        """
        names: dict[str, str] = {}
        for number, expr in enumerate(self.grouped()):
            if self.is_window(expr):
                self.sets.check_window(number, expr)
                continue
            check_no_window(expr.node, self.parser, "GROUP BY")
            if has_aggregate(expr.node):
                rule = "a key has a value in each row"
                raise self.parser.fail("an aggregate in GROUP BY", rule, "leave it out", expr.span)
            name = column_name(expr.node, self.columns.aliases)
            written = in_backticks(name) if name else self.parser.characters(expr.span)
            text = normal(written, self.columns.aliases)
            with self.parser.placing(expr.span):
                names.setdefault(text, self._named(expr, self.sets.key(number, written, text)))
        return {**names, **self.sets.number_key}

    def is_window(self, expr: Expr) -> bool:
        """Returns whether an expression of GROUP BY is the window, or a bound of it."""
        if self.ends is not None:
            end = self.ends.get(plain_name(expr.node, self.columns.aliases))
            end = end or bound_in_struct(expr.node, None, self.ends)
            if end is not None:
                self.bounds.add("window_time" if end == END else end.strip("`"))
            return end is not None
        call = window_call(expr.node)
        if call is None:
            return False
        if self.call is not None and self._written(call) != self._written(self.call):
            raise self.parser.fail("two windows", "a query has one window", "leave one out", expr.span)
        self.call = call
        return True

    def _written(self, node: exp.Expr) -> str:
        return normal(self.parser.characters_of(node), self.columns.aliases)

    def _named(self, expr: Expr, key: str | None) -> str:
        """Returns the name of a key: that of its column, or of one that is null in some sets."""
        name = column_name(expr.node, self.columns.aliases) or one_line(self.parser.characters(expr.span))
        if key is None and name.lower() in WINDOW_COLUMNS:  # of the rows; panes have their own
            return self.columns.add(in_backticks(name), f"{name} of the rows")
        return self.columns.name_of(expr) if key is None else self.columns.add(key, f"{name} of its set")

    def grouped(self) -> list[Expr]:
        """Returns the expressions of GROUP BY.

        A number, or a name of the SELECT list, is replaced by the expression that it stands for.
        """
        group = self.select.group
        if group is None:
            return []
        if group.every:
            return [item.expr for item in self.select.items if not has_aggregate(item.expr.node)]
        return [self._meant(expr) for expr in group.expressions]

    def _meant(self, expr: Expr) -> Expr:
        """Returns the expression that a number or a name of the SELECT list in GROUP BY means."""
        known = constant(expr.node)
        if known is not None and isinstance(known[0], int) and not isinstance(known[0], bool):
            return self._numbered(known[0], expr)
        name = column_name(expr.node, frozenset())
        if name is not None and name.lower() in self._read():
            return expr  # as in Spark, columns of the input come first
        for item in self.select.items:
            named = name is not None and item.alias is not None and item.alias.lower() == name.lower()
            if named and not has_aggregate(item.expr.node):
                return item.expr
        return expr

    def _numbered(self, number: int, expr: Expr) -> Expr:
        items = self.select.items
        if not 1 <= number <= len(items):
            rule = f"a number in GROUP BY is that of a column of the SELECT list, 1 to {len(items)}"
            raise self.parser.fail(str(number), rule, "write such a number, or the expression", expr.span)
        item: SelectItem = items[number - 1]
        return item.expr

    def _read(self) -> set[str]:
        """Returns the columns of the input that the SELECT list reads, in lower case."""
        return {name.lower() for name in self._plain_columns()}

    def _plain_columns(self) -> Iterator[str]:
        for item in self.select.items:
            for node in columns_in(item.expr.node):
                if column_name(node, self.columns.aliases) is not None:
                    yield node.name
