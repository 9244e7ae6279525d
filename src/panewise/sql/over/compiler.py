"""A SELECT with functions over windows as OVER operators, one for each PARTITION BY and ORDER BY."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from sqlglot import exp

from panewise import functions as F
from panewise.spec import OverColumn, OverOperator
from panewise.spec.conditions.text import in_backticks
from panewise.sql.event_times import timed
from panewise.sql.expressions.column_syntax import generates
from panewise.sql.expressions.function_calls import (
    aggregate_call,
    column_name,
    constant,
    function_name,
    is_arrival,
    windows_in,
)
from panewise.sql.input_columns import InputColumns
from panewise.sql.over.frames import ROW_FUNCTIONS, FrameReader, OverKey, order_terms
from panewise.sql.over.named_windows import described
from panewise.sql.parsing.error_places import Placing
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Expr, Select, SelectItem, TextSpan
from panewise.sql.sources import OperatorInput
from panewise.sql.stages import OutputColumn, OverStage, QueryStage, RowPlace, is_ours
from panewise.sql.text.pieces import normal, one_line, replaced, with_aliases

_OF_PARTITIONS: Final = ("percent_rank", "cume_dist", "ntile")
_WHOLE_NUMBERS: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT")


class OverCompiler:
    """Makes the stages of the functions over windows of a SELECT.

    Args:
        parser: the parser.
        select: the SELECT.
        rows: the rows in its FROM.
        options: the options of the table.
    """

    def __init__(
        self, parser: QueryParser, select: Select, rows: OperatorInput, options: Mapping[str, Any]
    ) -> None:
        self.parser, self.frames = parser, FrameReader(parser)
        self.select, self.rows, self.options = select, rows, options
        self.columns = InputColumns(parser, rows.names)
        self.names: dict[str, str] = {}  # the names of new columns by the normal texts of their calls
        self.texts: dict[str, str] = {}  # what stands for calls that are computed from several columns
        self.time: str | None = None  # the column of the event time, if the rows call it otherwise
        self.operators: dict[OverKey, list[OverColumn]] = {}

    def _check_generators(self) -> None:
        """Refuses functions that make rows: functions over windows would read these rows."""
        for item in self.select.items:
            text = self.parser.characters(item.expr.span)
            if generates(text):
                rule = "the rows of a generator are made before functions over windows are computed"
                raise self.parser.fail(text, rule, "write LATERAL VIEW, or a query in FROM", item.expr.span)

    def stage(self) -> QueryStage:
        """Returns the stages.

        Raises:
            SqlError: if a stream cannot have such a result, or a part breaks a rule.
        """
        self._check_generators()
        qualify = [] if self.select.qualify is None else [self.select.qualify]
        exprs = [*(item.expr for item in self.select.items), *qualify]
        windows = [window for expr in exprs for window in windows_in(expr.node)]
        if len({self._key(self._described(window)) for window in windows}) > 1:
            self._own_names = {}  # as only the last operator can give its columns other names
        for window in windows:
            self._add(window)
        stage = self._timed(self.rows.stage)
        specs = [self._operator(key, columns) for key, columns in self.operators.items()]
        where = None if self.select.where is None else self._where(self.select.where)
        having = None if self.select.qualify is None else self._qualify(self.select.qualify)
        outputs = self._outputs()
        for number, spec in enumerate(specs):
            last = number == len(specs) - 1
            columns = self.columns.computed.values()
            stage = OverStage(
                stage,
                self.rows.alias,
                where if number == 0 else None,
                tuple(column for column in columns if column.name in spec.columns_read),
                spec,
                outputs if last else None,
                having if last else None,
                self._naming() if last else ("", ""),
                added_time=self.time,
                position=self.position(list(self.operators)[number]),
            )
        return stage

    def _timed(self, input: QueryStage) -> QueryStage:  # noqa: A002 - the field's name
        """Returns the input with the event time of the first order."""
        first = next((key.order[0] for key in self.operators if key.order), None)
        if first is None or not is_ours(input):
            return input
        timed_input, time = timed(input, first)
        self.time = time if time != first else None
        return timed_input

    def position(self, key: OverKey) -> RowPlace | None:
        """Returns the place that is the event time of an operator; None if this is a column of the rows."""
        return None

    def _span(self, node: exp.Expr) -> TextSpan:
        return self.parser.span_of(node)

    def _add(self, window: exp.Window) -> None:
        text = self.parser.characters_of(window)
        if normal(text) in self.names:
            return
        name = self._own_names.get(normal(text)) or one_line(text).replace("`", "")
        self.names[normal(text)] = name
        spec = self._described(window)
        key = self._key(spec)
        with self._placing(window):
            column = OverColumn(self._what(window, name), self.frames.frame(window, spec, key))
        self.operators.setdefault(key, []).append(column)

    @cached_property
    def _own_names(self) -> dict[str, str]:
        """Returns the names of functions that are a whole column, by normal texts.

        A column that is read somewhere in the SELECT has another name than a function.
        """
        others = [self.select.where, self.select.qualify, *(item.expr for item in self.select.items)]
        read = {
            column.name.lower()
            for expr in others
            if expr is not None
            for column in expr.node.find_all(exp.Column)
        }
        if self.select.qualify is not None:
            read -= self.select.aliases.keys() - {
                column.name.lower()
                for item in self.select.items
                for column in item.expr.node.find_all(exp.Column)
            }
        names: dict[str, str] = {}
        for item in self.select.items:
            taken = {*read, *map(str.lower, names.values())}
            if (
                item.alias is not None
                and isinstance(item.expr.node, exp.Window)
                and item.alias.lower() not in taken
            ):
                names.setdefault(normal(self.parser.characters(item.expr.span)), item.alias)
        return names

    def _described(self, window: exp.Window) -> exp.Expr:
        return described(window, self.select.windows, self.parser)

    def _key(self, window: exp.Expr) -> OverKey:
        """Returns the columns of PARTITION BY and ORDER BY."""
        listed = order_terms(window)
        if is_arrival(listed):
            self.frames.check_arrival(window, listed[0])
            listed = []
        terms = {self._order(window, term): term for term in listed}
        event_time = next(iter(terms), None)
        return OverKey(
            self._partition(window),
            tuple(terms),
            tuple(name for name, term in terms.items() if term.args.get("desc")),
            tuple(
                name
                for name, term in terms.items()
                if name != event_time and not term.args.get("nulls_first", True)
            ),
        )

    def _partition(self, window: exp.Expr) -> tuple[str, ...]:
        keys = (self.parser.expr_of(node) for node in window.args.get("partition_by") or ())
        return tuple(dict.fromkeys(map(self.columns.name_of, keys)))

    def _order(self, window: exp.Expr, ordered: exp.Expr) -> str:
        name = column_name(ordered.this, self.rows.names)
        if name is None:
            rule = "rows are ordered by columns"
            raise self.parser.fail(
                "an expression in ORDER BY", rule, "compute it in FROM", self._span(window)
            )
        return name

    def _what(self, window: exp.Window, name: str) -> Any:
        call = aggregate_call(window.this, self.parser)
        if call is not None:
            return self.columns.aggregate(call).alias(name)
        inner = window.this
        ignore = isinstance(inner, exp.IgnoreNulls) or bool(list(inner.find_all(exp.IgnoreNulls)))
        if isinstance(inner, (exp.IgnoreNulls, exp.RespectNulls)):
            inner = inner.this
        function = function_name(inner)
        if function in _OF_PARTITIONS:
            rule = "ntile, percent_rank and cume_dist count a whole partition, which has no end on a stream"
            remedy = "use row_number, rank or dense_rank; over batch tables Spark computes it"
            raise self.parser.fail(f"{function}()", rule, remedy, self._span(window))
        if function not in ROW_FUNCTIONS:
            rule = f"a function over a window is an aggregate, or one of {', '.join(ROW_FUNCTIONS)}"
            shown = function or self.parser.characters_of(window)
            raise self.parser.fail(shown, rule, "use one of these", self._span(window))
        if function in ("rank", "dense_rank") and is_arrival(order_terms(self._described(window))):
            function = "row_number"  # no two rows arrive at once
        plain = self._row_function(window, function, inner.expressions)
        with self._placing(window):
            return replace(plain, name=name, ignorenulls=ignore)

    def _row_function(self, window: exp.Window, function: str, arguments: list[exp.Expr]) -> Any:
        constants: list[Any] = []
        nulls = (exp.RespectNulls, exp.IgnoreNulls)
        for argument in arguments[1:]:
            known = constant(_without_cast(argument.this if isinstance(argument, nulls) else argument))
            if known is None:
                rule = f"the further arguments of {function} are constants"
                shown = self.parser.characters_of(argument)
                raise self.parser.fail(shown, rule, "write a constant", self._span(window))
            constants.append(known[0])
        values = [node.this if isinstance(node, nulls) else node for node in arguments[:1]]
        columns = [self.columns.name_of(self.parser.expr_of(node)) for node in values]
        try:
            return getattr(F, function)(*columns, *constants)
        except TypeError:
            rule = f"{function} has the arguments of Spark's {function}"
            shown = f"{function} with {len(arguments)} arguments"
            raise self.parser.fail(shown, rule, "see pyspark", self._span(window)) from None

    def _operator(self, key: OverKey, columns: list[OverColumn]) -> OverOperator:
        order = (self.time or key.order[0], *key.order[1:]) if key.order else ()
        descending = [new for new, name in zip(order, key.order, strict=True) if name in key.descending]
        fields: dict[str, Any] = {"event_time": None}
        if order:
            fields = {"event_time": order[0], "descending": descending, "nulls_last": key.nulls_last}
            fields |= {"order": order[1:]} if order[1:] else {}
        with self._placing(self.select.items[0].expr.node):
            return OverOperator(columns=columns, keys=key.partition, **{**fields, **self.options})

    def _placing(self, node: exp.Expr) -> Placing:
        return self.parser.placing(self._span(node))

    def _where(self, where: Expr) -> str:
        if windows_in(where.node):
            rule = "WHERE selects rows before functions over windows are computed"
            raise self.parser.fail("OVER in WHERE", rule, "use QUALIFY", where.span)
        return self.parser.characters(where.span)

    def _text(self, expr: Expr) -> str:
        return replaced(self.parser.sql, expr.span, self._changes(expr))

    def _changes(self, expr: Expr) -> dict[TextSpan, str]:
        changes = {}
        for window in windows_in(expr.node):
            text = self.parser.characters_of(window)
            known = normal(text)
            changes[self._span(window)] = self.texts.get(known) or in_backticks(self.names[known])
        return changes

    def _qualify(self, qualify: Expr) -> str:
        """Returns the condition of QUALIFY, which may also use names of the SELECT list."""
        changes = self._changes(qualify)
        return with_aliases(self.parser, qualify, self.select.aliases, changes, self._text)

    def _outputs(self) -> tuple[OutputColumn, ...]:
        return tuple(map(self._output, self.select.items))

    def _output(self, item: SelectItem) -> OutputColumn:
        original = self.parser.characters(item.expr.span)
        name = item.alias or column_name(item.expr.node, frozenset())
        return OutputColumn(self._text(item.expr), name, original)

    def _naming(self) -> tuple[str, str]:
        items = ", ".join(self.parser.characters(item.span) for item in self.select.items)
        return f"SELECT {items} FROM", ""


def _without_cast(node: exp.Expr) -> exp.Expr:
    """Returns a whole number without a cast to another type of whole numbers."""
    number = isinstance(node, (exp.Cast, exp.TryCast)) and node.args["to"].sql("spark") in _WHOLE_NUMBERS
    return node.this if number else node


def with_free_names(stage: OverStage, columns: Iterable[str]) -> OverStage:
    """Returns the stage, in which new columns have other names than those of the input.

    The SELECT list gives them the names that the query says.
    """
    taken = {name.lower() for name in columns}
    clash = [column.name for column in stage.spec.columns if column.name.lower() in taken]
    if not clash or stage.outputs is None:
        return stage
    names = {name: f"{name} OVER" for name in clash}
    new = tuple(
        replace(column, what=column.what.alias(names.get(column.name, column.name)))
        for column in stage.spec.columns
    )
    quotes = {in_backticks(name): in_backticks(other) for name, other in names.items()}

    def renamed(text: str) -> str:
        for name, other in quotes.items():
            text = text.replace(name, other)
        return text

    outputs = tuple(replace(output, text=renamed(output.text)) for output in stage.outputs)
    having = None if stage.having is None else renamed(stage.having)
    return replace(stage, spec=replace(stage.spec, columns=new), outputs=outputs, having=having)
