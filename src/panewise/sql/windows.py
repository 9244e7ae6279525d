"""A SELECT with windows and GROUP BY as a window operator, with what Spark computes before and after it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from sqlglot import exp

from panewise.errors import SpecError, SqlError
from panewise.families import INPUT
from panewise.spec import PANE_COLUMNS, Aggregate, Chain, Global, WindowOperator
from panewise.sql.emit import emission
from panewise.sql.function_calls import (
    CallSyntax,
    aggregate_call,
    check_no_window,
    column_name,
    columns_in,
    conjuncts,
    constant,
    function_name,
    has_aggregate,
)
from panewise.sql.functions import AggregateCall, aggregate_of
from panewise.sql.grouping_sets import Sets
from panewise.sql.parser import QueryParser
from panewise.sql.stages import Computed, OutputColumn, Stage, WindowsStage
from panewise.sql.syntax import Emit, Expr, Select, SelectItem, TableFunction, TextSpan
from panewise.sql.texts import normal, one_line, quoted, replaced
from panewise.sql.window_functions import WindowSyntax, window_of_call, window_of_table

BOUNDS: Final = ("window_start", "window_end", "window_time")
END: Final = "(window_end - INTERVAL '0.000001' SECOND)"
CALLS: Final = ("window", "session_window", "tumble", "hop", "cumulate", "session")  # in GROUP BY
_STRUCTS: Final = ("window", "session_window")
_ENDS: Final = {"start": "window_start", "end": "window_end", "rowtime": END}
_META: Final = frozenset(PANE_COLUMNS) - {"window_start", "window_end"}


@dataclass
class Columns:
    """The columns that an operator reads: plain ones by name, others are computed."""

    parser: QueryParser
    aliases: frozenset[str]
    computed: dict[str, Computed] = field(default_factory=dict)

    def name_of(self, expr: Expr) -> str:
        """Returns the name of the column with the value of an expression."""
        name = column_name(expr.node, self.aliases)
        return self.add(self.parser.characters(expr.span)) if name is None else name

    def add(self, text: str, name: str | None = None) -> str:
        """Returns the name of the column with the value of a text."""
        shown = one_line(text) if name is None else name
        return self.computed.setdefault(normal(text), Computed(shown, text)).name

    def mask(self, condition: str, column: str) -> str:
        """Returns the name of a column that is null where a condition is not true."""
        texts = {one.name: one.text for one in self.computed.values()}
        test, value = (texts.get(one, quoted(one)) for one in (condition, column))
        return self.add(f"CASE WHEN {test} THEN {value} END", f"{column} FILTER (WHERE {condition})")

    def aggregate(self, call: CallSyntax) -> Aggregate:
        """Returns the aggregate of a call.

        Raises:
            SqlError: if panewise does not have it.
        """
        try:
            return aggregate_of(self._call(call), self.mask)
        except SqlError:
            raise
        except SpecError as error:
            raise self.parser.fail(error.given, error.rule, error.remedy, call.span) from None

    def _call(self, call: CallSyntax) -> AggregateCall:
        values = list(call.arguments)
        for one in (*values, call.condition):
            if one is not None and has_aggregate(one):
                rule = "an aggregate is computed from rows, not from aggregates"
                text = self.parser.characters(call.span)
                raise self.parser.fail(text, rule, "aggregate again in a query over this one", call.span)
            if one is not None:
                check_no_window(one, self.parser, "an aggregate")
        if call.within is not None:
            self._check_within(call)
            values = [*(one.this for one in call.within.expressions), *values]
        if call.name == "count" and not call.distinct and len(values) == 1:
            known = constant(values[0])
            if isinstance(values[0], exp.Star) or (known is not None and known[0] is not None):
                values = []
        constants: tuple[Any, ...] = ()
        while len(values) > 1 and (known := constant(values[-1])) is not None:
            constants, values = (*known, *constants), values[:-1]
        places = [Expr(one, self.parser.span_of(one)) for one in values]
        columns = tuple(map(self.name_of, places))
        if call.name == "count" and len(places) > 1:
            columns = (self._all_of(places, distinct=call.distinct),)
        condition = call.condition
        tested = None if condition is None else self.name_of(Expr(condition, self.parser.span_of(condition)))
        return AggregateCall(call.name, columns, constants, call.distinct, call.ignore_nulls, tested)

    def _check_within(self, call: CallSyntax) -> None:
        """Refuses an order of WITHIN GROUP that would change the value."""
        assert call.within is not None
        if any(one.args.get("desc") for one in call.within.expressions):
            rule = f"{call.name} has its values in ascending order"
            remedy = "leave DESC out; percentile_cont(p) of descending values is that of 1 - p"
            raise self.parser.fail("WITHIN GROUP (ORDER BY ... DESC)", rule, remedy, call.span)

    def _all_of(self, places: list[Expr], *, distinct: bool) -> str:
        """Returns the name of a column that is null if one of several values is null."""
        texts = [self.parser.characters(one.span) for one in places]
        test = " AND ".join(f"({text}) IS NOT NULL" for text in texts)
        value = f"struct({', '.join(texts)})" if distinct else "1"
        return self.add(f"CASE WHEN {test} THEN {value} END", f"({', '.join(map(one_line, texts))})")


@dataclass
class Panes:
    """Expressions over panes: the SELECT list, HAVING.

    Attributes:
        columns: the columns that the operator reads.
        keys: the names of the key columns, by the normal text of the expressions.
        names: the names that aggregates get, by their normal texts.
        aggregates: the aggregates, by their normal texts.
        aliases: the expressions of the SELECT list by their names, which HAVING may use.
        struct: the name of the column with both bounds, if GROUP BY has Spark's window.
        window: the normal text of the call of Spark's window.
        bounds: whether the query has windows with bounds.
    """

    columns: Columns
    keys: dict[str, str]
    names: dict[str, str]
    struct: str | None
    window: str | None
    bounds: bool
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    aliases: dict[str, Expr] = field(default_factory=dict)
    sets: Sets | None = None
    ends: dict[str, str] = field(default_factory=lambda: dict(zip(BOUNDS, (*BOUNDS[:2], END), strict=True)))

    def text(self, expr: Expr) -> str:
        """Returns the expression over the columns of panes.

        Raises:
            SqlError: if it reads a column that is neither a key nor in an aggregate.
        """
        changes: dict[TextSpan, str] = {}
        self._visit(expr.node, changes)
        return replaced(self.columns.parser.sql, expr.span, changes)

    def _visit(self, node: exp.Expr, changes: dict[TextSpan, str]) -> None:
        parser = self.columns.parser
        if isinstance(node, exp.Query):
            raise parser.fail(
                "a query in an expression", "it reads other rows", "join it", parser.span_of(node)
            )
        check_no_window(node, parser, "a query with GROUP BY") if isinstance(node, exp.Window) else None
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
            return quoted(self._aggregate(call))
        key = self.keys.get(self._normal(node))
        if key is not None:
            return quoted(key)
        name = function_name(node)
        if name == "window_time" and self.bounds:
            return END
        function, _, which = (name or "").partition("_")
        if self.window is not None and function in CALLS and which in _ENDS:
            return _ENDS[which]
        if name in ("grouping", "grouping_id") and self.sets is not None:
            return self.sets.grouping(node, [self._normal(one) for one in node.expressions], list(self.keys))
        if name in _STRUCTS and self.window == self._normal(node) and self.struct is not None:
            return quoted(self.struct)
        return self._bound(node) if isinstance(node, exp.Column) else None

    def _bound(self, node: exp.Column) -> str | None:
        name = node.name.lower()
        if self.struct is not None and node.parts[0].name.lower() == self.struct:
            return ".".join([quoted(self.struct), *(quoted(part.name) for part in node.parts[1:])])
        plain = column_name(node, self.columns.aliases)
        if plain is None or not self.bounds and name in self.ends:
            return None
        if name in self.ends:
            return self.ends[name]
        return name if name in _META and not node.table else None

    def _refuse(self, node: exp.Column) -> None:
        parser, name = self.columns.parser, column_name(node, self.columns.aliases)
        alias = self.aliases.get((name or "").lower())
        span = parser.span_of(node)
        if name is None and not node.table and not node.this.quoted:
            return  # a function without parentheses
        if alias is not None:
            return
        rule = "a column of a query with GROUP BY is a key, a bound of the window, or in an aggregate"
        remedy = f"add {node.name} to GROUP BY, or write for example max({node.name})"
        raise parser.fail(parser.characters(span), rule, remedy, span)

    def _normal(self, node: exp.Expr) -> str:
        name = column_name(node, self.columns.aliases)
        return normal(
            quoted(name) if name else self.columns.parser.characters(self.columns.parser.span_of(node))
        )

    def _aggregate(self, call: CallSyntax) -> str:
        text = self.columns.parser.characters(call.span)
        key = normal(text)
        if key not in self.aggregates:
            name = self.names.get(key) or one_line(text)
            self.aggregates[key] = self.columns.aggregate(call).alias(name)
        return self.aggregates[key].name

    def having(self, expr: Expr) -> str:
        """Returns the condition of HAVING, which may also use names of the SELECT list."""
        changes: dict[TextSpan, str] = {}
        self._visit(expr.node, changes)
        parser = self.columns.parser
        for node in expr.node.find_all(exp.Column):
            alias = self.aliases.get(node.name.lower()) if not node.table else None
            span = parser.span_of(node)
            if alias is not None and not any(one.start <= span.start < one.end for one in changes):
                changes[span] = f"({self.text(alias)})"
        return replaced(parser.sql, expr.span, changes)


class WindowCompiler:
    """Compiles one SELECT with windows.

    Args:
        parser: the parser, which knows the text.
        select: the SELECT.
        emit: its EMIT clause, if it has one.
        table: the window function in FROM, if there is one.
        alias: the name of the source, if it has one.
        names: further names of the source by which expressions may call its columns.
        time: the column of WATERMARK, if there is one.
        options: further fields of the specification.
    """

    def __init__(
        self,
        parser: QueryParser,
        select: Select,
        emit: Emit | None,
        table: TableFunction | None,
        names: frozenset[str],
        *,
        time: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.parser, self.select, self.emit, self.table, self.time = parser, select, emit, table, time
        self.options = options or {}
        self.columns = Columns(parser, names)
        self.sets = Sets(parser, None if select.group is None else select.group.sets)
        self.call: exp.Expr | None = None
        self.bounds: set[str] = set()
        self.renamed_time: str | None = None  # the column of the event time, if its rows call it otherwise

    def compile(self, input: Stage, alias: str | None) -> WindowsStage:  # noqa: A002 - the field's name
        """Returns the stage over this input.

        Raises:
            SqlError: if a part breaks a rule.
        """
        keys = self._keys()
        window = self._window()
        panes = self._panes(keys, window)
        outputs = tuple(self._output(item, panes) for item in self.select.items)
        where, of_bounds = self._where(self.select.where)
        conditions = [panes.text(one) for one in of_bounds]
        if self.select.having is not None:
            conditions.append(panes.having(self.select.having))
        having = _all(conditions)
        spec = self._spec(window, list(keys.values()), panes)
        if retracts(spec) and not any(one.name == "op" for one in outputs):
            outputs = (*outputs, OutputColumn("op", "op", "op"))
        computed = tuple(one for one in self.columns.computed.values() if one.name in spec.columns_read)
        return WindowsStage(
            input,
            alias,
            where,
            computed,
            spec,
            outputs,
            having,
            panes.struct,
            self._naming(),
            self.sets.exploded,
        )

    def _where(self, where: Expr | None) -> tuple[str | None, list[Expr]]:
        """Returns the condition on rows, and conditions on bounds of windows, which select panes."""
        if where is None:
            return None, []
        check_no_window(where.node, self.parser, "WHERE")
        if has_aggregate(where.node):
            rule = "WHERE selects rows before they are aggregated"
            raise self.parser.fail("an aggregate in WHERE", rule, "use HAVING", where.span)
        parts = [Expr(one, self.parser.span_of(one)) for one in conjuncts(where.node)]
        of_bounds = [
            one for one in parts if self.table is not None and reads_bounds(one, self.columns.aliases)
        ]
        if not of_bounds:
            return self.parser.characters(where.span), []
        return _all([self.parser.characters(one.span) for one in parts if one not in of_bounds]), of_bounds

    def _keys(self) -> dict[str, str]:
        """Returns the names of the key columns by the normal texts of their expressions."""
        found: dict[str, str] = {}
        for number, expr in enumerate(self._grouped()):
            if self._is_window(expr):
                self.sets.check_window(number, expr)
                continue
            check_no_window(expr.node, self.parser, "GROUP BY")
            if has_aggregate(expr.node):
                rule = "a key has a value in each row"
                raise self.parser.fail("an aggregate in GROUP BY", rule, "leave it out", expr.span)
            name = column_name(expr.node, self.columns.aliases)
            text = quoted(name) if name else self.parser.characters(expr.span)
            key = self.sets.key(number, text)
            found.setdefault(normal(text), self._named(expr, key))
        return {**found, **self.sets.number_key}

    def _named(self, expr: Expr, key: str | None) -> str:
        """Returns the name of a key: that of its column, or of one that is null in some sets."""
        name = column_name(expr.node, self.columns.aliases) or one_line(self.parser.characters(expr.span))
        return self.columns.name_of(expr) if key is None else self.columns.add(key, f"{name} of its set")

    def _grouped(self) -> list[Expr]:
        group = self.select.group
        if group is None:
            return []
        if group.every:
            return [item.expr for item in self.select.items if not has_aggregate(item.expr.node)]
        return [self._meant(expr) for expr in group.expressions]

    def _meant(self, expr: Expr) -> Expr:
        """Returns the expression that a number or a name of the SELECT list in GROUP BY means."""
        items, known = self.select.items, constant(expr.node)
        if known is not None and isinstance(known[0], int) and not isinstance(known[0], bool):
            if not 1 <= known[0] <= len(items):
                rule = f"a number in GROUP BY is that of a column of the SELECT list, 1 to {len(items)}"
                raise self.parser.fail(
                    str(known[0]), rule, "write such a number, or the expression", expr.span
                )
            return items[known[0] - 1].expr
        name = column_name(expr.node, frozenset())
        if name is not None and name.lower() in self._read():
            return expr  # as in Spark, columns of the input come first
        for item in items:
            if name is not None and item.alias is not None and item.alias.lower() == name.lower():
                other = column_name(item.expr.node, self.columns.aliases)
                return expr if other is not None and other.lower() in BOUNDS else item.expr
        return expr

    def _read(self) -> set[str]:
        """Returns the columns of the input that the SELECT list reads, in lower case."""
        nodes = (one for item in self.select.items for one in columns_in(item.expr.node))
        return {one.name.lower() for one in nodes if column_name(one, self.columns.aliases) is not None}

    def _is_window(self, expr: Expr) -> bool:
        """Returns whether an expression of GROUP BY is the window, or a bound of it."""
        if function_name(expr.node) in CALLS and (self.table is None):
            if self.call is not None:
                raise self.parser.fail("two windows", "a query has one window", "leave one out", expr.span)
            self.call = expr.node
            return True
        name = column_name(expr.node, self.columns.aliases)
        if self.table is not None and name is not None and name.lower() in BOUNDS:
            self.bounds.add(name.lower())
            return True
        return False

    def _window(self) -> WindowSyntax | None:
        if self.table is not None:
            if not {"window_start", "window_end"} <= self.bounds:
                rule = "GROUP BY has both bounds of the window"
                remedy = "write GROUP BY window_start, window_end, and the keys"
                raise self.parser.fail(f"{self.table.function} without them", rule, remedy, self.table.name)
            self._check_partition()
            return window_of_table(self.table, self.parser)
        if self.call is not None:
            return window_of_call(self.call, str(function_name(self.call)), self.parser, self.columns.add)
        if self.emit is None:
            rule = "GROUP BY has the window, and a name in it is that of an input column which is selected"
            remedy = "write the call of the window in GROUP BY"
            raise self.parser.fail("GROUP BY without a window", rule, remedy, self.select.span)
        return None

    def _check_partition(self) -> None:
        """Refuses windows that rows of several keys make, with the keys of GROUP BY (semantics 46.12)."""
        table = self.table
        assert table is not None
        of_rows = any(one.rows for one in table.arguments)
        if table.function != "SESSION" and not of_rows:
            return
        given = {self.columns.name_of(one).lower() for one in table.partition_by}
        keys = {one.lower() for one in self._keys().values()}
        if given != keys:
            rule = f"the windows of {table.function} depend on the rows of a key, given in both clauses"
            shown = ", ".join(sorted(keys)) or "no column"
            remedy = f"name the same columns in both; GROUP BY has {shown}"
            raise self.parser.fail("PARTITION BY", rule, remedy, table.span)

    def _panes(self, keys: dict[str, str], window: WindowSyntax | None) -> Panes:
        call = None if self.call is None else normal(self.parser.characters(self.parser.span_of(self.call)))
        name = function_name(self.call) if self.call is not None else None
        struct = name if name in _STRUCTS else None
        panes = Panes(self.columns, keys, self._names(set(keys.values())), struct, call, window is not None)
        panes.sets = self.sets
        panes.aliases = {
            item.alias.lower(): item.expr for item in self.select.items if item.alias is not None
        }
        return panes

    def _names(self, keys: set[str]) -> dict[str, str]:
        """Returns the names of aggregates that are a whole column of the SELECT list, by normal texts."""
        found: dict[str, str] = {}
        for item in self.select.items:
            alias = item.alias
            taken = {one.lower() for one in (*keys, *PANE_COLUMNS, "timestamp", *found.values())}
            if alias is None or alias.lower() in taken or aggregate_call(item.expr.node, self.parser) is None:
                continue
            found.setdefault(normal(self.parser.characters(item.expr.span)), alias)
        return found

    def _output(self, item: SelectItem, panes: Panes) -> OutputColumn:
        if isinstance(item.expr.node, exp.Star):
            rule = "the columns of a query with GROUP BY are keys, bounds and aggregates"
            raise self.parser.fail("*", rule, "name the columns", item.span)
        original = self.parser.characters(item.expr.span)
        name = item.alias
        if name is None and isinstance(item.expr.node, exp.Column):
            name = item.expr.node.name
        return OutputColumn(panes.text(item.expr), name, original)

    def _spec(self, window: WindowSyntax | None, keys: list[str], panes: Panes) -> WindowOperator:
        fields = {**emission(self.emit, self.parser.fail), **self.options}
        if window is None:
            fields = {
                **fields,
                **({"time": "processing"} if self.time is None else {"event_time": self.time}),
            }
        elif window.time is not None:
            fields["event_time"] = self._time(window.time)
        aggregates = list(panes.aggregates.values()) or [_count()]
        kind = Global() if window is None else window.window
        span = self.select.span if window is None else window.span

        def make() -> WindowOperator:
            return WindowOperator(window=kind, keys=keys, aggregates=aggregates, **fields)

        return self._checked(make, self.emit.span if self.emit is not None and window is None else span)

    def _checked(self, make: Callable[[], WindowOperator], span: TextSpan) -> WindowOperator:
        try:
            return make()
        except SqlError:
            raise
        except SpecError as error:
            raise self.parser.fail(error.given, error.rule, error.remedy, span) from None

    def _time(self, time: Expr) -> str:
        name = self.renamed_time or column_name(time.node, self.columns.aliases)
        if name is None:
            text, rule = self.parser.characters(time.span), "the event time is a column of its table"
            raise self.parser.fail(text, rule, "compute it in a query in FROM, with WATERMARK", time.span)
        return name

    def _naming(self) -> tuple[str, str]:
        items = ", ".join(self.parser.characters(item.span) for item in self.select.items)
        group = self.select.group
        return (
            f"SELECT {items} FROM",
            "" if group is None else f"GROUP BY {self.parser.characters(group.span)}",
        )


def reads_bounds(expr: Expr, aliases: frozenset[str]) -> bool:
    """Returns whether an expression reads a bound of the windows of a table."""
    return any((column_name(one, aliases) or "").lower() in BOUNDS for one in columns_in(expr.node))


def _all(conditions: list[str]) -> str | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return " AND ".join(f"({one})" for one in conditions)


def retracts(spec: WindowOperator | Chain) -> bool:
    """Returns whether an operator emits retractions."""
    return spec.ports[INPUT].accumulation == "retracting"


def is_first(spec: WindowOperator | Chain) -> TypeGuard[WindowOperator]:
    """Returns whether an operator has no stages behind it."""
    return spec.ports[INPUT] is spec


def _count() -> Aggregate:
    from panewise import functions as F  # noqa: PLC0415

    return F.count().alias("count(*)")
