"""A SELECT with functions over windows as OVER operators, one for each PARTITION BY and ORDER BY."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from panewise import functions as F
from panewise.chrono import Duration
from panewise.errors import SpecError, SqlError
from panewise.spec import Frame, OverColumn, OverOperator
from panewise.sql.chained import timed
from panewise.sql.function_calls import aggregate_call, column_name, constant, function_name, windows_in
from panewise.sql.input_columns import Columns
from panewise.sql.parser import QueryParser
from panewise.sql.stages import OutputColumn, OverStage, Stage, is_ours
from panewise.sql.syntax import Expr, Select, SelectItem, TextSpan
from panewise.sql.texts import normal, one_line, replaced
from panewise.sql.texts import quoted as in_backticks

_ROW_FUNCTIONS: Final = ("row_number", "rank", "dense_rank", "lag", "lead", "nth_value")
_WHOLE: Final = "the rows behind the present one have not arrived yet, and a stream has no last row"


class _OverCompiler:
    def __init__(
        self, parser: QueryParser, select: Select, names: frozenset[str], options: Mapping[str, Any]
    ) -> None:
        self.parser, self.select, self.aliases, self.options = parser, select, names, options
        self.named = {str(one.this.name).lower(): one for one in select.windows}
        self.columns = Columns(parser, names)
        self.made: dict[str, str] = {}  # the names of new columns by the normal texts of their calls
        self.time: str | None = None  # the column of the event time, if the rows call it otherwise
        self.operators: dict[tuple[Any, ...], list[OverColumn]] = {}

    def stage(self, input: Stage, alias: str | None) -> Stage:  # noqa: A002 - the field's name
        for item in self.select.items:
            for window in windows_in(item.expr.node):
                self._add(window)
        if self.select.qualify is not None:
            for window in windows_in(self.select.qualify.node):
                self._add(window)
        first = next((key[1][0] for key in self.operators if key[1]), None)
        if first is not None and is_ours(input):
            input, time = timed(input, first)  # noqa: A001
            self.time = time if time != first else None
        specs = [self._operator(key, columns) for key, columns in self.operators.items()]
        where = None if self.select.where is None else self._where(self.select.where)
        having = None if self.select.qualify is None else self._qualify(self.select.qualify)
        outputs = self._outputs()
        stage: Stage = input
        for number, spec in enumerate(specs):
            last = number == len(specs) - 1
            stage = OverStage(
                stage,
                alias,
                where if number == 0 else None,
                tuple(one for one in self.columns.computed.values() if one.name in spec.columns_read),
                spec,
                outputs if last else None,
                having if last else None,
                self._naming() if last else ("", ""),
            )
        return stage

    def _span(self, node: exp.Expr) -> TextSpan:
        return self.parser.span_of(node)

    def _expr(self, node: exp.Expr) -> Expr:
        return Expr(node, self._span(node))

    def _add(self, window: exp.Window) -> None:
        text = self.parser.characters(self._span(window))
        if normal(text) in self.made:
            return
        name = self._names().get(normal(text)) or one_line(text)
        self.made[normal(text)] = name
        described = self._described(window)
        key = self._key(described)
        column = self._checked(
            window, lambda: OverColumn(self._what(window, name), self._frame(window, described, key))
        )
        self.operators.setdefault(key, []).append(column)

    def _names(self) -> dict[str, str]:
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
        aliases = {item.alias.lower() for item in self.select.items if item.alias is not None}
        if self.select.qualify is not None:
            read -= aliases - {
                column.name.lower()
                for item in self.select.items
                for column in item.expr.node.find_all(exp.Column)
            }
        found: dict[str, str] = {}
        for item in self.select.items:
            taken = {*read, *map(str.lower, found.values())}
            if (
                item.alias is not None
                and isinstance(item.expr.node, exp.Window)
                and item.alias.lower() not in taken
            ):
                found.setdefault(normal(self.parser.characters(item.expr.span)), item.alias)
        return found

    def _described(self, window: exp.Window) -> exp.Expr:
        """Returns what has the partition, the order and the frame: the window, or the one that it names."""
        alias = window.args.get("alias")
        if alias is None:
            return window
        found = self.named.get(str(alias.name).lower())
        alone = not any(window.args.get(name) for name in ("partition_by", "order", "spec"))
        if found is None or not alone:
            rule = f"the name of a window is one of the clause WINDOW, {sorted(self.named)}, and stands alone"
            raise self._fail(window, str(alias.name), rule, "write OVER (PARTITION BY ... ORDER BY ...)")
        return found

    def _fail(self, node: exp.Expr, given: str, rule: str, remedy: str) -> SqlError:
        return self.parser.fail(given, rule, remedy, self._span(node))

    def _checked(self, node: exp.Expr, make: Any) -> Any:
        try:
            return make()
        except SqlError:
            raise
        except SpecError as error:
            raise self._fail(node, error.given, error.rule, error.remedy) from None

    def _key(self, window: exp.Expr) -> tuple[Any, ...]:
        """Returns the names of the columns of PARTITION BY and ORDER BY."""
        partition = tuple(
            self.columns.name_of(self._expr(one)) for one in window.args.get("partition_by") or ()
        )
        order = window.args.get("order")
        return partition, tuple(
            self._order(window, one, first=number == 0)
            for number, one in enumerate(order.expressions if order else ())
        )

    def _order(self, window: exp.Expr, ordered: exp.Expr, *, first: bool) -> str:
        name = column_name(ordered.this, self.aliases)
        if name is None:
            raise self._fail(
                window, "an expression in ORDER BY", "rows are ordered by columns", "compute it in FROM"
            )
        if ordered.args.get("desc"):
            rule = "the rows of a stream come in ascending order of event time, and of further columns"
            remedy = "leave DESC out; for the first rows by a value select ROW_NUMBER() <= n outside"
            raise self._fail(window, f"ORDER BY {name} DESC", rule, remedy)
        if not first and not ordered.args.get("nulls_first", True):
            rule = "null comes first in the order of further columns"
            raise self._fail(window, f"ORDER BY {name} NULLS LAST", rule, "leave NULLS LAST out")
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
        if function not in _ROW_FUNCTIONS:
            rule = f"a function over a window is an aggregate, or one of {', '.join(_ROW_FUNCTIONS)}"
            shown = function or self.parser.characters(self._span(window))
            raise self._fail(window, shown, rule, "use one of these")
        if ignore:
            raise self._fail(
                window, f"{function} IGNORE NULLS", "it also counts rows with a null", "leave it out"
            )
        return self._row_function(window, function, inner.expressions).alias(name)

    def _row_function(self, window: exp.Window, function: str, arguments: list[exp.Expr]) -> Any:
        constants: list[Any] = []
        for one in arguments[1:]:
            known = constant(one)
            if known is None:
                rule = f"the further arguments of {function} are constants"
                raise self._fail(window, self.parser.characters(self._span(one)), rule, "write a constant")
            constants.append(known[0])
        values = [one.this if isinstance(one, exp.RespectNulls) else one for one in arguments[:1]]
        columns = [self.columns.name_of(self._expr(one)) for one in values]
        try:
            return getattr(F, function)(*columns, *constants)
        except TypeError:
            rule = f"{function} has other arguments"
            raise self._fail(
                window, f"{function} with {len(arguments)} arguments", rule, "see pyspark"
            ) from None

    def _frame(self, window: exp.Window, described: exp.Expr, key: tuple[Any, ...]) -> Frame | None:
        function = function_name(_inner(window))
        spec = described.args.get("spec")
        if function in _ROW_FUNCTIONS and function != "nth_value":
            if spec is not None:
                raise self._fail(
                    window, f"{function} with a frame", "it reads all rows", "leave the frame out"
                )
            return None
        if spec is None:
            if not key[1]:
                remedy = "add ORDER BY and the event time, or ROWS BETWEEN n PRECEDING AND CURRENT ROW"
                raise self._fail(window, "OVER without an order and a frame", _WHOLE, remedy)
            return Frame("range", None, 0)
        kind = str(spec.args["kind"]).lower()
        if kind not in ("rows", "range"):
            raise self._fail(window, kind.upper(), "a frame is of ROWS or a RANGE", "write one of these")
        start = self._bound(window, spec, "start", kind)
        end = 0 if spec.args.get("end") is None else self._bound(window, spec, "end", kind)
        if end is None:
            raise self._fail(window, "UNBOUNDED FOLLOWING", _WHOLE, "end the frame at CURRENT ROW")
        if spec.args.get("exclude") is not None and str(spec.args["exclude"].name).upper() != "NO OTHERS":
            start, end = self._without_current(window, spec, kind, (start, end))
        return Frame("rows" if kind == "rows" else "range", start, end)

    def _without_current(
        self, window: exp.Window, spec: exp.Expr, kind: str, bounds: tuple[int | None, int]
    ) -> tuple[int | None, int]:
        """Returns the bounds of a frame of rows that begins or ends at the present row, without this row."""
        start, end = bounds
        if kind == "rows" and str(spec.args["exclude"].name).upper() == "CURRENT ROW":
            if end == 0 and start != 0:
                return start, -1
            if start == 0 and end > 0:
                return 1, end
        rule = "EXCLUDE CURRENT ROW is for ROWS frames that begin or end at the current row, with other rows"
        raise self._fail(window, "EXCLUDE", rule, "subtract the row's own value")

    def _bound(self, window: exp.Window, spec: exp.Expr, which: str, kind: str) -> int | None:
        """Returns a bound as an offset; None if it is unbounded."""
        value, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
        if value == "CURRENT ROW":
            return 0
        if value == "UNBOUNDED":
            if (side == "FOLLOWING") == (which == "start"):
                raise self._fail(window, f"UNBOUNDED {side}", _WHOLE, "begin with UNBOUNDED PRECEDING")
            return None
        if not isinstance(value, exp.Expr):
            raise self._fail(window, "a frame without a bound", "a frame has bounds", "write 2 PRECEDING")
        length = self._length(window, value, kind)
        return -length if side == "PRECEDING" else length

    def _length(self, window: exp.Window, value: exp.Expr, kind: str) -> int:
        known = constant(value)
        if kind == "rows":
            if known is None or not isinstance(known[0], int) or known[0] < 0:
                raise self._fail(window, "ROWS", "its bounds are numbers of rows", "write 2 PRECEDING")
            return int(known[0])
        if known is not None and known[0] == 0:
            return 0
        length: Duration = self.parser.duration_of(self._expr(value))
        return length.us

    def _operator(self, key: tuple[Any, ...], columns: list[OverColumn]) -> OverOperator:
        partition, order = key
        timed = bool(order)
        return self._checked(  # type: ignore[no-any-return]
            self.select.items[0].expr.node,
            lambda: OverOperator(
                columns=columns,
                keys=partition,
                event_time=self.time or order[0] if timed else None,
                **{**({"order": order[1:]} if order[1:] else {}), **self.options},
            ),
        )

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
            text = self.parser.characters(self._span(window))
            changes[self._span(window)] = in_backticks(self.made[normal(text)])
        return changes

    def _qualify(self, qualify: Expr) -> str:
        """Returns the condition of QUALIFY, which may also use names of the SELECT list."""
        changes = self._changes(qualify)
        aliases = {item.alias.lower(): item.expr for item in self.select.items if item.alias is not None}
        for node in qualify.node.find_all(exp.Column):
            meant = aliases.get(node.name.lower()) if not node.table else None
            span = self._span(node)
            if meant is not None and not any(one.start <= span.start < one.end for one in changes):
                changes[span] = f"({self._text(meant)})"
        return replaced(self.parser.sql, qualify.span, changes)

    def _outputs(self) -> tuple[OutputColumn, ...]:
        return tuple(map(self._output, self.select.items))

    def _output(self, item: SelectItem) -> OutputColumn:
        original = self.parser.characters(item.expr.span)
        if isinstance(item.expr.node, exp.Star) and not original.endswith("*"):
            rule = "`*` has all columns of the input, without those that functions compute"
            raise self.parser.fail(original, rule, "name the columns", item.span)
        name = item.alias
        if name is None and isinstance(item.expr.node, exp.Column):
            name = column_name(item.expr.node, frozenset())
        return OutputColumn(self._text(item.expr), name, original)

    def _naming(self) -> tuple[str, str]:
        items = ", ".join(self.parser.characters(item.span) for item in self.select.items)
        return f"SELECT {items} FROM", ""


def _inner(window: exp.Window) -> exp.Expr:
    inner: exp.Expr = window.this
    while isinstance(inner, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
        inner = inner.this
    return inner


def over_stage(
    parser: QueryParser,
    select: Select,
    input: Stage,  # noqa: A002 - the field's name
    alias: str | None,
    names: Iterable[str],
    options: Mapping[str, Any] | None = None,
) -> Stage:
    """Returns the stages of a SELECT with functions over windows.

    Raises:
        SqlError: if a stream cannot have such a result, or a part breaks a rule.
    """
    return _OverCompiler(parser, select, frozenset(names), options or {}).stage(input, alias)


def with_free_names(stage: OverStage, columns: Iterable[str]) -> OverStage:
    """Returns the stage, in which new columns have other names than those of the input.

    The SELECT list gives them the names that the query says.
    """
    taken = {name.lower() for name in columns}
    clash = [one.name for one in getattr(stage.spec, "columns", ()) if one.name.lower() in taken]
    if not clash or stage.outputs is None:
        return stage
    names = {name: f"{name} OVER" for name in clash}
    made = tuple(
        replace(one, what=one.what.alias(names.get(one.name, one.name))) for one in stage.spec.columns
    )
    quotes = {in_backticks(name): in_backticks(other) for name, other in names.items()}

    def renamed(text: str) -> str:
        for name, other in quotes.items():
            text = text.replace(name, other)
        return text

    outputs = tuple(replace(one, text=renamed(one.text)) for one in stage.outputs)
    having = None if stage.having is None else renamed(stage.having)
    return replace(stage, spec=replace(stage.spec, columns=made), outputs=outputs, having=having)
