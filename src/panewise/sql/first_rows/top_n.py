"""A Top-N as a ranking: of the rows of each key, in windows or without, or of the panes of each window."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from panewise import functions as F
from panewise.errors import SqlError
from panewise.families import INPUT
from panewise.spec import AfterWatermark, Aggregate, Always, Global, WindowOperator
from panewise.spec.aggregates.order_columns import OrderColumn
from panewise.spec.conditions.text import in_backticks
from panewise.sql.event_times import instant_window, rows_once
from panewise.sql.expressions.column_syntax import plain_column
from panewise.sql.expressions.function_calls import column_name, plain_name
from panewise.sql.expressions.stars import check_stars
from panewise.sql.first_rows.of_panes import first_panes
from panewise.sql.first_rows.order import ALL_ROWS, order_of
from panewise.sql.first_rows.pattern import Pattern
from panewise.sql.first_rows.row_list import RowList
from panewise.sql.input_columns import InputColumns
from panewise.sql.options import options_of, with_options
from panewise.sql.over.named_windows import described
from panewise.sql.parsing.emit import emission
from panewise.sql.parsing.syntax import Source, TableFunction
from panewise.sql.retracted import retracts
from panewise.sql.scope import QueryScope
from panewise.sql.sources import OperatorInput, operator_input, single_input
from panewise.sql.stage_columns import over_rows
from panewise.sql.stages import OutputColumn, QueryStage, Ties, WindowsStage
from panewise.sql.windows.bound_columns import STRUCT, bound_columns, folded
from panewise.sql.windows.panes import BOUND_OF, BOUND_TEXTS
from panewise.sql.windows.window_functions import WindowSyntax, identifies, window_of_table
from panewise.sql.windows.window_rows import window_rows

_ROW = "row"
_SELECTED: Final = (
    "HAVING and WHERE before a Top-N select panes of windows that fire once",
    "leave EARLY and LATENESS out, or select in WHERE of the query over it",
)
_WHOLE_PANES: Final = (
    "over windows that fire more than once `*` of a Top-N has keys, aggregates and bounds",
    "name the columns, and compute others in the query over it",
)
_BEFORE_WINDOWS: Final = (
    "WHERE selects rows before they have windows",
    "select them in WHERE of the query over it",
)


class TopNCompiler:
    """Compiles a Top-N.

    Args:
        pattern: the Top-N.
        scope: where its inner query stands.
    """

    def __init__(self, pattern: Pattern, scope: QueryScope) -> None:
        self.parser, self.pattern, self.scope = scope.parser, pattern, scope
        self.described = described(pattern.window, pattern.inner.windows, self.parser)

    def compile(self) -> QueryStage:
        """Returns the stages.

        Raises:
            SqlError: if a part breaks a rule.
        """
        pattern, source = self.pattern, self.pattern.inner.source
        if pattern.items is not None:
            check_stars(pattern.items, () if pattern.alias is None else (pattern.alias,), self.parser)
        if source is None:
            raise self._fail("no FROM", "a Top-N has a table", "write FROM and a table")
        if pattern.inner.having is not None or (pattern.inner.others and isinstance(source, TableFunction)):
            rule = "the query that numbers the rows of a Top-N has FROM and WHERE"
            raise self._fail("another clause", rule, "write it in a query in FROM")
        stage = self._ranked(source)
        if pattern.items is None and pattern.rest is None:
            return stage
        return over_rows(stage, pattern.alias, pattern.rest, pattern.outputs(self.parser))

    def _ranked(self, source: Source) -> QueryStage:
        if isinstance(source, TableFunction):
            rows = single_input(source.data, self.scope)
            check_stars(self.pattern.inner.items, {*rows.names, source.alias or ""}, self.parser)
            windows = _RankedWindows(window_of_table(source, self.parser))
            return self._of_rows(rows.called(source.alias), windows)
        rows = operator_input(self.pattern.inner, None, self.scope)
        check_stars(self.pattern.inner.items, rows.names, self.parser)
        return self._of_query(replace(rows, stage=folded(rows.stage)))

    def _of_query(self, rows: OperatorInput) -> QueryStage:
        """Returns the first rows of a table or a query."""
        partition = [column_name(node, rows.names) for node in self.described.args.get("partition_by") or ()]
        names = {name.lower() for name in partition if name is not None}
        panes = (
            rows.stage if isinstance(rows.stage, WindowsStage) and _names_windows(rows.stage, names) else None
        )
        selects = self.pattern.inner.where is not None or (panes is not None and panes.having is not None)
        if panes is not None and not selects:
            first = first_panes(self.parser, self.pattern, self.described, panes, rows.names)
            if first is not None:
                return first
        of_windows = self._in_windows(rows, names)
        if of_windows is not None:
            return of_windows
        once = rows_once(rows.stage, names) if self.pattern.emit is None else None
        if once is not None:
            return self._of_instants(rows, once)
        if panes is not None:
            raise (
                self._fail("HAVING or WHERE before a Top-N", *_SELECTED)
                if selects
                else self._fail("`*` in a Top-N", *_WHOLE_PANES)
            )
        return self._of_rows(rows, None)

    def _of_instants(self, rows: OperatorInput, once: tuple[QueryStage, str]) -> WindowsStage:
        """Returns the first rows of each window of rows that come once, in windows of one instant."""
        span = self.parser.span_of(self.pattern.window)
        structs = frozenset(name for name, bound in bound_columns(rows.stage).items() if bound == STRUCT)
        instant = instant_window(once[1], "ROW_NUMBER", span)
        return self._of_rows(
            replace(rows, stage=once[0]), _RankedWindows(instant, of_panes=True, structs=structs)
        )

    def _in_windows(self, rows: OperatorInput, names: set[str]) -> WindowsStage | None:
        """Returns the first rows of each window of rows with bounds; None if the rows are no such ones.

        Without windows these rows would have one global window, whose state never ends. So what windows
        cannot have is refused.
        """
        windows = window_rows(rows.stage)
        if windows is None or not windows.identified_by(names):
            return None
        if windows.conditions:
            raise self._fail("bounds in WHERE of a query in FROM", *_BEFORE_WINDOWS)
        stars = any(item.is_star for item in self.pattern.inner.items)
        if stars and windows.hidden:
            rule = "`*` has the columns of the query in FROM, which has no event time"
            raise self._fail("`*` in a Top-N", rule, "name the columns, or select the event time there")
        syntax = windows.syntax("ROW_NUMBER", self.parser.span_of(self.pattern.window))
        return self._of_rows(
            replace(rows, stage=windows.stage), _RankedWindows(syntax, windows.ends, windows.columns)
        )

    def _fail(self, given: str, rule: str, remedy: str) -> SqlError:
        return self.parser.fail(given, rule, remedy, self.parser.span_of(self.pattern.window))

    def _of_rows(self, rows: OperatorInput, windows: "_RankedWindows | None") -> WindowsStage:
        """Returns the first rows of each key: in windows, or without them in one global window."""
        texts = {} if windows is None or windows.of_panes else windows.ends
        columns, where = (
            InputColumns(self.parser, rows.names, bounds=frozenset(texts)),
            self.pattern.inner.where,
        )
        keys, ties = self._keys(columns, windows), self.pattern.ties
        listed = self._listed(rows, windows)
        fields = [_field(output) for output in listed.fields]
        fields += [] if ties is None else [self._order_field(ties)]
        row = columns.add(f"struct({', '.join(fields)})", _ROW)
        first = columns.add("0", "all rows")
        by = [F.asc(first), *order_of(self.described, columns, self.pattern.window)]
        aggregate = self._ranking(row, by, self.pattern.n if ties is None else ALL_ROWS)
        spec = self._spec(windows, keys, aggregate, rows.names)
        if where is not None and columns.reads_bounds(where.node):
            raise self._fail("bounds in WHERE", *_BEFORE_WINDOWS)
        return WindowsStage(
            rows.stage,
            rows.alias,
            None if where is None else self.parser.characters(where.span),
            tuple(column for column in columns.computed.values() if column.name in spec.columns_read),
            spec,
            (),
            ranked=listed.ranked(_ROW + "s", ties, retracts=retracts(spec)),
        )

    def _listed(self, rows: OperatorInput, windows: "_RankedWindows | None") -> RowList:
        """Returns the SELECT list of the query that numbers the rows."""
        of_panes = rows.stage if windows is not None and windows.of_panes else None
        if windows is None or windows.of_panes:
            return RowList(self.parser, self.pattern, rows.names, {}, (None,), of_panes)
        return RowList(self.parser, self.pattern, rows.names, windows.ends, windows.columns, None)

    def _order_field(self, ties: Ties) -> str:
        """Returns the field of a row with the values by which it is ranked."""
        order = self.described.args.get("order")
        nodes = [ordered.this for ordered in order.expressions] if order is not None else []
        values = (f"{self.parser.characters_of(node)} AS `{number}`" for number, node in enumerate(nodes))
        return f"struct({', '.join(values)}) AS `{ties.field}`"

    def _ranking(self, row: str, by: list[OrderColumn], n: int) -> Aggregate:
        with self.parser.placing(self.parser.span_of(self.pattern.window)):
            return F.top_n_by(row, by, n).alias(_ROW + "s")

    def _spec(
        self, windows: "_RankedWindows | None", keys: list[str], aggregate: Aggregate, names: frozenset[str]
    ) -> WindowOperator:
        fields = emission(self.pattern.emit, self.parser.fail)
        options = options_of(self.pattern.inner.source, self.parser, windowed=True)
        if windows is None:
            if not fields:
                fields = {"trigger": AfterWatermark(early=Always(), late=Always()), "on_time": "if_pending"}
            fields = {"accumulation": "retracting", **fields, "time": "processing", "window": Global()}
        else:
            fields["window"] = windows.syntax.window
            if windows.syntax.time is not None:
                fields["event_time"] = column_name(windows.syntax.time.node, names)
        fields = with_options(fields, options, self.parser, self.pattern.inner.span)
        with self.parser.placing(self.parser.span_of(self.pattern.window)):
            return WindowOperator(keys=keys, aggregates=[aggregate], **fields)

    def _keys(self, columns: InputColumns, windows: "_RankedWindows | None") -> list[str]:
        keys, bounds = list[str](), set[str]()
        for node in self.described.args.get("partition_by") or ():
            name = plain_name(node, columns.aliases)
            if windows is not None and name in windows.structs:
                keys += [
                    columns.add(f"{in_backticks(name)}.`{end}`", f"{name}.{end}") for end in ("start", "end")
                ]
            elif windows is None or name not in windows.ends:
                keys.append(columns.name_of(self.parser.expr_of(node)))
            elif windows.of_panes:
                keys.append(columns.add(in_backticks(name), f"{name} of the rows"))
            bounds |= (
                {BOUND_OF[windows.ends[name]]} if windows is not None and name in windows.ends else set()
            )
        if windows is not None and not windows.of_panes and not identifies(windows.syntax.window, bounds):
            rule = "the first rows of windows have the bounds of these in PARTITION BY"
            raise self._fail("PARTITION BY", rule, "add window_start and window_end")
        return keys


@dataclass(frozen=True)
class _RankedWindows:
    """The windows whose first rows a Top-N has.

    Attributes:
        syntax: the windows of the operator.
        ends: the texts of the bounds, by the names that the query has for them.
        columns: the columns of the query, as those of :class:`WindowRows`.
        of_panes: whether its rows are those of another operator's windows, and have their bounds as columns.
        structs: the columns of such rows, in lower case, that have both bounds.
    """

    syntax: WindowSyntax
    ends: Mapping[str, str] = field(default_factory=lambda: BOUND_TEXTS)
    columns: tuple[str | None, ...] = (None, *BOUND_TEXTS)
    of_panes: bool = False
    structs: frozenset[str] = frozenset()


def _field(output: OutputColumn) -> str:
    """Returns a field of the stored row."""
    if output.name is None or plain_column(output.text) == output.name.lower():
        return output.text
    return f"{output.text} AS {in_backticks(output.name)}"


def _names_windows(stage: WindowsStage, names: set[str]) -> bool:
    """Returns whether these names, in lower case, are bounds that distinguish the windows of panes."""
    window = stage.spec.ports[INPUT].window
    bounds = bound_columns(stage)
    named = {bounds[name] for name in names if name in bounds}
    return STRUCT in named or identifies(window, named)
