"""Expressions over panes: the SELECT list and HAVING of a query with GROUP BY."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from panewise.spec import PANE_COLUMNS, Aggregate
from panewise.spec.conditions.text import in_backticks
from panewise.spec.operators.panes import BOUNDS
from panewise.sql.expressions.function_calls import (
    CallSyntax,
    aggregate_call,
    check_no_window,
    column_name,
    function_name,
)
from panewise.sql.expressions.functions import FOREIGN
from panewise.sql.input_columns import InputColumns
from panewise.sql.parsing.syntax import Expr, TextSpan
from panewise.sql.text.pieces import normal, one_line, replaced, with_aliases
from panewise.sql.windows.grouping_sets import Sets

WINDOW_COLUMNS: Final = (*BOUNDS, "window_time")  # which a window function in FROM adds
END: Final = "(window_end - INTERVAL '0.000001' SECOND)"
CALLS: Final = ("window", "session_window", "tumble", "hop", "cumulate", "session")  # in GROUP BY
STRUCTS: Final = ("window", "session_window")
TEXT_AGGREGATES: Final = ("listagg", "string_agg")  # aggregates that join texts
_ENDS: Final = {"start": "window_start", "end": "window_end", "rowtime": END}
_META: Final = frozenset(PANE_COLUMNS) - {*BOUNDS}
BOUND_TEXTS: Final[Mapping[str, str]] = dict(zip(WINDOW_COLUMNS, (*BOUNDS, END), strict=True))
BOUND_OF: Final[Mapping[str, str]] = {text: bound for bound, text in BOUND_TEXTS.items()}
# Those of a clause WINDOW have these names, too, as in ksqlDB.
IMPLIED_BOUNDS: Final = {**BOUND_TEXTS, "windowstart": "window_start", "windowend": "window_end"}
_FIELDS: Final[Mapping[str, str]] = {"start": "window_start", "end": "window_end"}  # of Spark's structs


def window_call(node: exp.Expr) -> exp.Expr | None:
    """Returns the call of a window, also of one whose bound is read, as in `window(ts, '1 hour').start`.

    None for any other expression.
    """
    if isinstance(node, exp.Dot):
        inner = node.this
        # Sessions whose start alone is a key are not merged by Spark.
        return inner if function_name(inner) == "window" and node.expression.name.lower() in _FIELDS else None
    return node if function_name(node) in CALLS else None


def bound_in_struct(node: exp.Expr, struct: str | None, ends: Mapping[str, str]) -> str | None:
    """Returns which bound a field of a column with both bounds is; None for any other expression.

    The column is `struct`, or one that `ends` names and that is no single bound.
    """
    if not isinstance(node, exp.Column) or len(node.parts) != 2:
        return None
    table, field = (part.name.lower() for part in node.parts)
    known = {name for name, text in ends.items() if text not in BOUND_OF} | {(struct or "").lower()}
    return _FIELDS.get(field) if table in known else None


@dataclass(frozen=True)
class PaneWindow:
    """How expressions over panes call the window.

    Attributes:
        bounds: whether there are windows with bounds.
        struct: the name of the column with both bounds, if GROUP BY has Spark's window.
        call: the normal text of the call of a window in GROUP BY.
        ends: the texts of the bounds, by the names of columns.
    """

    bounds: bool
    struct: str | None = None
    call: str | None = None
    ends: Mapping[str, str] = field(default_factory=lambda: BOUND_TEXTS)


@dataclass
class Panes:
    """Expressions over panes: the SELECT list, HAVING.

    Attributes:
        columns: the columns that the operator reads.
        keys: the names of the key columns, by the normal text of the expressions.
        names: the names that aggregates get, by their normal texts.
        window: how the expressions call the window.
        sets: the sets of GROUP BY.
        aliases: the expressions of the SELECT list by their names, which HAVING may use.
        aggregates: the aggregates, by their normal texts.
    """

    columns: InputColumns
    keys: dict[str, str]
    names: dict[str, str]
    window: PaneWindow
    sets: Sets
    aliases: Mapping[str, Expr]
    aggregates: dict[str, Aggregate] = field(default_factory=dict)

    def text(self, expr: Expr) -> str:
        """Returns the expression over the columns of panes.

        Raises:
            SqlError: if it reads a column that is neither a key nor in an aggregate.
        """
        changes: dict[TextSpan, str] = {}
        self._visit(expr.node, changes)
        return replaced(self.columns.parser.sql, expr.span, changes)

    def having(self, expr: Expr) -> str:
        """Returns the condition of HAVING, which may also use names of the SELECT list."""
        changes: dict[TextSpan, str] = {}
        self._visit(expr.node, changes)
        return with_aliases(self.columns.parser, expr, self.aliases, changes, self.text)

    def _visit(self, node: exp.Expr, changes: dict[TextSpan, str]) -> None:
        parser = self.columns.parser
        if isinstance(node, exp.Query):
            rule = "a query in an expression reads other rows than those of FROM"
            raise parser.fail("a query in an expression", rule, "join it", parser.span_of(node))
        if isinstance(node, exp.Window):
            check_no_window(node, parser, "a query with GROUP BY")
        known = self._known(node)
        if known is not None:
            changes[parser.span_of(node)] = known
            return
        if isinstance(node, exp.Column):
            self._refuse(node)
            return
        for inner in node.iter_expressions():
            self._visit(inner, changes)

    def _known(self, node: exp.Expr) -> str | None:
        """Returns the text that stands for a node, None if what is in it has to be looked at."""
        if isinstance(node, (exp.Literal, exp.Identifier, exp.DataType, exp.Var)):
            return None
        call = aggregate_call(node, self.columns.parser)
        if call is not None:
            return (
                self._joined_texts(call)
                if call.name in TEXT_AGGREGATES
                else in_backticks(self._aggregate(call))
            )
        key = self.keys.get(self._normal(node)) if self._may_be_key(node) else None
        if key is not None:
            return in_backticks(key)
        called = self._called(node) or self._bound_of_call(node)
        if called is not None:
            return called
        return self._bound(node) if isinstance(node, exp.Column) else None

    def _may_be_key(self, node: exp.Expr) -> bool:
        """Returns whether a node may be a key: a column is one, and others only if a key is computed."""
        if isinstance(node, exp.Column):
            return True
        return any(name in self.columns.computed_names for name in self.keys.values())

    def _called(self, node: exp.Expr) -> str | None:
        """Returns the text that stands for a call of a window or of its bounds, or for `grouping`."""
        name, window = function_name(node), self.window
        if name == "window_time" and window.bounds:
            return END
        function, _, which = (name or "").partition("_")
        if window.call is not None and function in CALLS and which in _ENDS:
            return _ENDS[which]
        hive = isinstance(node, exp.Column) and node.sql().lower() == "grouping__id" and self.sets.sets
        if name in ("grouping", "grouping_id") or hive:  # the older name of grouping_id() is that of a column
            return self.sets.grouping(node, list(map(self._normal, node.expressions)), list(self.keys))
        if window.struct is not None and name in CALLS and window.call == self._normal(node):
            return in_backticks(window.struct)
        return None

    def _bound_of_call(self, node: exp.Expr) -> str | None:
        """Returns the bound in a call of the window such as `window(ts, '1 hour').start`."""
        call = window_call(node) if isinstance(node, exp.Dot) else None
        same = call is not None and self.window.call == self._normal(call)
        return _FIELDS[node.expression.name.lower()] if same else None

    def _bound(self, node: exp.Column) -> str | None:
        name, window = node.name.lower(), self.window
        of_struct = bound_in_struct(node, window.struct, window.ends)
        if of_struct is not None:
            return of_struct
        if window.struct is not None and node.parts[0].name.lower() == window.struct:
            return ".".join(
                [in_backticks(window.struct), *(in_backticks(part.name) for part in node.parts[1:])]
            )
        plain = column_name(node, self.columns.aliases)
        if plain is None or not window.bounds and name in window.ends:
            return None
        if name in window.ends:
            return window.ends[name]
        return name if name in _META and not node.table else None

    def _refuse(self, node: exp.Column) -> None:
        parser, name = self.columns.parser, column_name(node, self.columns.aliases)
        if name is None and not node.table and not node.this.quoted:
            return  # a function without parentheses
        if (name or "").lower() in self.aliases:
            return
        foreign = _foreign_call(node)
        if foreign is not None:
            function, aggregate = foreign
            span, rule = parser.span_of(aggregate), "this aggregate is one of another system"
            raise parser.fail(parser.characters(span), rule, f"write {FOREIGN[function]}", span)
        span = parser.span_of(node)
        rule = "a column of a query with GROUP BY is a key, a bound of the window, or in an aggregate"
        remedy = f"add {node.name} to GROUP BY, or write for example max({node.name})"
        call = None if node.parent is None else function_name(node.parent)
        remedy += "" if call is None else f"; {call} is no aggregate here"
        raise parser.fail(parser.characters(span), rule, remedy, span)

    def _normal(self, node: exp.Expr) -> str:
        name = column_name(node, self.columns.aliases)
        parser = self.columns.parser
        if name is not None:
            return normal(in_backticks(name))
        return normal(parser.characters_of(node), self.columns.aliases)

    def _joined_texts(self, call: CallSyntax) -> str:
        """Returns the text of listagg: the operator collects a list, whose elements are joined."""
        parser, written = self.columns.parser, self.columns.parser.characters(call.span)
        first, *rest = call.arguments or (None,)
        if first is None or len(rest) > 1 or not all(isinstance(node, exp.Literal) for node in rest):
            rule = f"{call.name} has a text, and may have a constant delimiter"
            raise parser.fail(written, rule, f"write {call.name}(name, ', ')", call.span)
        collect = "collect_set" if call.distinct else "collect_list"
        collected = replace(call, name=collect, arguments=(first,), distinct=False, within=None)
        rows = texts = in_backticks(self._aggregate(collected))
        if call.within is not None:
            texts = f"sort_array({rows}, {self._order_of(call)})"
        delimiter = "".join(map(parser.characters_of, rest)) or "''"
        return f"CASE WHEN size({rows}) > 0 THEN array_join({texts}, {delimiter}) END"

    def _order_of(self, call: CallSyntax) -> str:
        """Returns whether the texts of listagg are in ascending order: true or false."""
        orders = [] if call.within is None else call.within.expressions
        own = self._normal(call.arguments[0])
        if len(orders) != 1 or self._normal(orders[0].this) != own:
            rule = f"{call.name} is in the order of its own texts, or of their arrival"
            remedy = "order by the first argument, or leave WITHIN GROUP out"
            raise self.columns.parser.fail(self.columns.parser.characters(call.span), rule, remedy, call.span)
        return "false" if orders[0].args.get("desc") else "true"

    def _aggregate(self, call: CallSyntax) -> str:
        text = self.columns.parser.characters(call.span)
        key = normal(text)
        if key not in self.aggregates:
            name = self.names.get(key) or one_line(text)
            self.aggregates[key] = self.columns.aggregate(call).alias(name)
        return self.aggregates[key].name


def _foreign_call(node: exp.Expr) -> tuple[str, exp.Expr] | None:
    """Returns the aggregate of another system that reads a column, by name; None if there is none."""
    around: exp.Expr | None = node.parent
    while around is not None:
        name = function_name(around.this if isinstance(around, exp.WithinGroup) else around) or ""
        if name in FOREIGN:
            return name, around
        around = around.parent
    return None
