"""A SELECT with windows and GROUP BY as a window operator, with what Spark computes before and after it."""

from collections.abc import Mapping
from typing import Any

from panewise import functions as F
from panewise.spec import PANE_COLUMNS, Chain, Global, WindowOperator, counted
from panewise.sql.expressions.function_calls import (
    aggregate_call,
    check_no_window,
    column_name,
    conjuncts,
    function_name,
    has_aggregate,
)
from panewise.sql.input_columns import InputColumns
from panewise.sql.options import with_options
from panewise.sql.parsing.emit import emission
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Emit, Expr, Select, SelectItem, TableFunction, TextSpan
from panewise.sql.retracted import retracts
from panewise.sql.stages import WATERMARKED, OutputColumn, QueryStage, WindowsStage
from panewise.sql.text.pieces import normal
from panewise.sql.windows.group_keys import GroupKeys
from panewise.sql.windows.grouping_sets import Sets
from panewise.sql.windows.panes import BOUND_TEXTS, IMPLIED_BOUNDS, STRUCTS, Panes, PaneWindow
from panewise.sql.windows.window_functions import WindowSyntax, identifies, window_of_call, window_of_table


class WindowCompiler:
    """Compiles one SELECT with windows.

    Args:
        parser: the parser, which knows the text.
        select: the SELECT.
        emit: its EMIT clause, if it has one.
        table: the window function in FROM, if there is one.
        names: the names by which expressions call the source.
        time: the column of WATERMARK, if there is one.
        renamed_time: the column of the event time, if the rows call it otherwise than the query does.
        options: further fields of the specification.
        window: the windows, if neither FROM nor GROUP BY has them.
        ends: the texts of the bounds of windows that the rows have without a window function in FROM, by the
            lower-case names of columns.
        conditions: conditions on panes that other clauses than WHERE and HAVING have.
    """

    def __init__(  # noqa: PLR0913 - each is a part of the query
        self,
        parser: QueryParser,
        select: Select,
        emit: Emit | None,
        table: TableFunction | None,
        names: frozenset[str],
        *,
        time: str | None = None,
        renamed_time: str | None = None,
        options: Mapping[str, Any] | None = None,
        window: WindowSyntax | None = None,
        ends: Mapping[str, str] | None = None,
        conditions: tuple[str, ...] = (),
    ) -> None:
        self.parser, self.select, self.emit, self.table, self.time = parser, select, emit, table, time
        self.renamed_time, self.options, self.window = renamed_time, options or {}, window
        self.ends, self.conditions = (ends or {}) if table is None else BOUND_TEXTS, conditions
        self.columns = self._columns(names)
        self.sets = Sets(parser, None if select.group is None else select.group.sets)
        called = table is None and ends is None
        self.group = GroupKeys(select, self.columns, self.sets, None if called else self.ends)

    def _columns(self, names: frozenset[str]) -> InputColumns:
        return InputColumns(self.parser, names, bounds=frozenset(self.ends))

    def compile(self, input: QueryStage, alias: str | None) -> WindowsStage:  # noqa: A002 - the field's name
        """Returns the stage over this input.

        Raises:
            SqlError: if a part breaks a rule.
        """
        keys = self.group.names()
        window = self._window()
        panes = self._panes(keys, window)
        outputs = tuple(self._output(item, panes) for item in self.select.items)
        where, of_bounds = self._where(self.select.where)
        conditions = [*self.conditions, *(panes.text(condition) for condition in of_bounds)]
        if self.select.having is not None:
            conditions.append(panes.having(self.select.having))
        spec = self._spec(window, list(keys.values()), panes)
        if retracts(spec) and not any(output.name == "op" for output in outputs):
            outputs = (*outputs, OutputColumn("op", "op", "op"))
        return WindowsStage(
            input,
            alias,
            where,
            tuple(column for column in self.columns.computed.values() if column.name in spec.columns_read),
            spec,
            outputs,
            all_of(conditions),
            self._naming(),
            panes.window.struct,
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
        parts = [self.parser.expr_of(node) for node in conjuncts(where.node)]
        of_bounds = [part for part in parts if self.columns.reads_bounds(part.node)]
        if not of_bounds:
            return self.parser.characters(where.span), []
        of_rows = [self.parser.characters(part.span) for part in parts if part not in of_bounds]
        return all_of(of_rows), of_bounds

    def _window(self) -> WindowSyntax | None:
        group = self.group
        if self.window is not None:
            return self.window
        if self.table is not None:
            self._check_partition(self.table)
            syntax = window_of_table(self.table, self.parser)
            if not (self.table.implied or identifies(syntax.window, group.bounds)):
                rule = "GROUP BY has the bounds of the window; CUMULATE needs both, others one of them"
                remedy = "write GROUP BY window_start, window_end, and the keys"
                raise self.parser.fail(f"{self.table.function} without them", rule, remedy, self.table.name)
            return syntax
        if group.call is not None:
            return window_of_call(group.call, str(function_name(group.call)), self.parser, self.columns.add)
        if self.emit is None:
            rule = (
                "GROUP BY has the call of the window; a name in it is that of an input column if "
                "the SELECT list reads this column"
            )
            remedy = "write the call of the window in GROUP BY"
            raise self.parser.fail("GROUP BY without a window", rule, remedy, self.select.span)
        return None

    def _check_partition(self, table: TableFunction) -> None:
        """Refuses windows that rows of several keys make, with the keys of GROUP BY (semantics 46.12)."""
        of_rows = any(argument.rows for argument in table.arguments)
        if table.implied or (table.function != "SESSION" and not of_rows):
            return
        partition = {self.columns.name_of(expr).lower() for expr in table.partition_by}
        self.check_keys(table.function, partition, table.span)

    def check_keys(self, function: str, partition: set[str] | frozenset[str], span: TextSpan) -> None:
        """Refuses windows of a function whose PARTITION BY has other columns than GROUP BY.

        Raises:
            SqlError: at these characters.
        """
        keys = {name.lower() for name in self.group.names().values()}
        if partition != keys:
            rule = f"the windows of {function} depend on the rows of a key, given in both clauses"
            shown = ", ".join(sorted(keys)) or "no column"
            remedy = f"name the same columns in both; GROUP BY has {shown}"
            raise self.parser.fail("PARTITION BY", rule, remedy, span)

    def _panes(self, keys: dict[str, str], window: WindowSyntax | None) -> Panes:
        names = self._names(set(keys.values()))
        return Panes(self.columns, keys, names, self._pane_window(window), self.sets, self.select.aliases)

    def _pane_window(self, window: WindowSyntax | None) -> PaneWindow:
        call = self.group.call
        if call is None:
            implied = self.table is not None and self.table.implied
            ends = IMPLIED_BOUNDS if implied else self.ends or BOUND_TEXTS
            return PaneWindow(window is not None, ends=ends)
        name = function_name(call)
        text = self.parser.characters_of(call)
        written = normal(text, self.columns.aliases)
        selected = {
            normal(self.parser.characters(item.expr.span), self.columns.aliases) for item in self.select.items
        }
        whole = window is not None and (window.time is None or written in selected)
        struct = name if name in STRUCTS else "window" if whole else None
        return PaneWindow(window is not None, struct, written)

    def _names(self, keys: set[str]) -> dict[str, str]:
        """Returns the names of aggregates that are a whole column of the SELECT list, by normal texts."""
        names: dict[str, str] = {}
        for item in self.select.items:
            alias = item.alias
            taken = {name.lower() for name in (*keys, *PANE_COLUMNS, "timestamp", *names.values())}
            if alias is None or alias.lower() in taken or aggregate_call(item.expr.node, self.parser) is None:
                continue
            names.setdefault(normal(self.parser.characters(item.expr.span)), alias)
        return names

    def _output(self, item: SelectItem, panes: Panes) -> OutputColumn:
        if item.is_star:
            rule = "the columns of a query with GROUP BY are keys, bounds and aggregates"
            raise self.parser.fail("*", rule, "name the columns", item.span)
        original = self.parser.characters(item.expr.span)
        return OutputColumn(panes.text(item.expr), item.name, original)

    def _spec(self, window: WindowSyntax | None, keys: list[str], panes: Panes) -> WindowOperator | Chain:
        fields = self._fields(window)
        aggregates = list(panes.aggregates.values()) or [F.count().alias("count(*)")]
        kind = Global() if window is None else window.window
        if isinstance(kind, Global) and self.time is None:
            fields["time"] = "processing"
        span = self.select.span if window is None else window.span
        if self.emit is not None and window is None:
            span = self.emit.span
        with self.parser.placing(span):
            return WindowOperator(window=kind, keys=keys, aggregates=aggregates, **fields)

    def _fields(self, window: WindowSyntax | None) -> dict[str, Any]:
        """Returns the fields that EMIT, the options of the table and the window say."""
        said = emission(self.emit, self.parser.fail)
        fields = with_options(said, self.options, self.parser, self.select.span)
        if window is None:
            clock = {"time": "processing"} if self.time is None else {"event_time": self.time}
            fields = {**fields, **clock}
        elif window.time is not None:
            fields["event_time"] = self._time(window.time)
        elif not counted(window.window) and not isinstance(window.window, Global):
            fields["event_time"] = self.renamed_time or self.time or WATERMARKED
        grace = None if self.table is None else self.table.grace
        if grace is not None and "allowed_lateness" in fields:
            rule = "the lateness of a query is given once, as GRACE PERIOD or in EMIT"
            raise self.parser.fail("WITH LATENESS", rule, "leave one of them out", grace.span)
        return fields if grace is None else {**fields, "allowed_lateness": self.parser.duration_of(grace)}

    def _time(self, time: Expr) -> str:
        name = self.renamed_time or column_name(time.node, self.columns.aliases)
        if name is None:
            text, rule = self.parser.characters(time.span), "the event time is a column of its table"
            raise self.parser.fail(text, rule, "compute it in a query in FROM, with WATERMARK", time.span)
        return self.columns.spelling(name)

    def _naming(self) -> tuple[str, str]:
        items = ", ".join(self.parser.characters(item.span) for item in self.select.items)
        group = self.select.group
        groups = "" if group is None else f"GROUP BY {self.parser.characters(group.span)}"
        return f"SELECT {items} FROM", groups


def all_of(conditions: list[str]) -> str | None:
    """Returns the condition that all of these are true, None without any."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return " AND ".join(f"({condition})" for condition in conditions)
