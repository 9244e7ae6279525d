"""Windows over panes of other windows: the event time of panes, and stages of chains (semantics 46.18)."""

from dataclasses import replace
from typing import Any

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec import Chain, WindowOperator
from panewise.sql.emit import emission
from panewise.sql.function_calls import column_name
from panewise.sql.parser import QueryParser
from panewise.sql.stages import JoinStage, OutputColumn, OverStage, Referring, RowsStage, Stage, WindowsStage
from panewise.sql.syntax import Emit, Expr, Select, TextSpan
from panewise.sql.window_functions import WindowSyntax
from panewise.sql.windows import END, Columns, Panes, WindowCompiler, is_first

_TIMES = {END: "window_time", "window_end": "end"}
TIMESTAMP = "timestamp"
JOIN_TIME = "join_time"


def timed(stage: Stage, name: str) -> tuple[Stage, str]:
    """Returns a stage whose rows have an event time for another operator, and the name of its column.

    `name` is the column that the query names. If it is a bound of a window, the panes get a `timestamp`.
    """
    if isinstance(stage, (RowsStage, WindowsStage)) and stage.outputs is not None:
        found = next((one for one in stage.outputs if (one.name or "").lower() == name.lower()), None)
        if found is None:
            return stage, name
        if isinstance(stage, RowsStage):
            inner, time = timed(stage.input, found.text.strip("`"))
            return (
                (stage, name) if inner is stage.input else (_passing(replace(stage, input=inner), time), time)
            )
        meant = "window_time" if found.text.strip("`") == stage.struct else _TIMES.get(found.text)
        if meant is not None and is_first(stage.spec):
            return _passing(replace(stage, spec=respecified(stage.spec, timestamp=meant))), TIMESTAMP
    elif isinstance(stage, JoinStage):
        return _timed_join(stage, name)
    elif isinstance(stage, RowsStage):
        inner, time = timed(stage.input, name)
        return (stage, name) if inner is stage.input else (replace(stage, input=inner), time)
    return stage, name


def _timed_join(stage: JoinStage, name: str) -> tuple[Stage, str]:
    """Returns a join whose rows have the event time of the side that this column is of."""
    found = next((one for one in stage.items if (one.name or "").lower() == name.lower()), None)
    if found is None or len(found.columns) != 1 or found.parts != ("", ""):
        return stage, name
    table, column = found.columns[0]
    for side, known, time in zip(("left", "right"), stage.names, stage.times, strict=True):
        same = table is None or table.lower() == known.lower()
        if same and (time or "").lower() == column.lower() and stage.how not in ("semi", "anti"):
            kind: Any = side
            item = Referring((JOIN_TIME,), (), JOIN_TIME, JOIN_TIME)
            return replace(stage, items=(*stage.items, item), timestamp=kind), JOIN_TIME
    return stage, name


def _passing(stage: Any, time: str = TIMESTAMP) -> Any:
    """Returns the stage, whose rows also have the column of the event time."""
    if any(one.name == time for one in stage.outputs):
        return stage
    return replace(stage, outputs=(*stage.outputs, OutputColumn(time, time, time)))


def respecified(spec: WindowOperator, **fields: Any) -> WindowOperator:
    """Returns the operator with other fields. An accumulation that was not given may still be chosen."""
    if not spec.accumulation_given:
        fields = {"accumulation": None, **fields}
    return replace(spec, **fields)


class _OfPanes(Columns):
    """The columns of a stage of a chain: keys and aggregates of the stage before it."""

    def __init__(self, parser: QueryParser, aliases: frozenset[str], known: dict[str, str]) -> None:
        super().__init__(parser, aliases)
        self.known = known

    def name_of(self, expr: Expr) -> str:
        name = column_name(expr.node, self.aliases)
        found = self.known.get((name or "").lower())
        if found is None:
            text = self.parser.characters(expr.span)
            rule = f"a query over panes of the same windows reads them as they are: {sorted(self.known)}"
            raise self.parser.fail(text, rule, "compute it in the query in FROM", expr.span)
        return found

    def add(self, text: str, name: str | None = None) -> str:
        rule = "a query over panes of the same windows has aggregates of whole columns, without FILTER"
        raise SqlError(text, rule, "compute the column in the query in FROM", sql=self.parser.sql)


class ChainCompiler(WindowCompiler):
    """Compiles a SELECT over panes that groups them by their windows: a stage of a chain.

    Args:
        before: the windows whose panes it reads.
        others: as those of WindowCompiler.
    """

    def __init__(
        self,
        parser: QueryParser,
        select: Select,
        emit: Emit | None,
        names: frozenset[str],
        before: WindowsStage,
    ) -> None:
        super().__init__(parser, select, emit, None, names)
        self.before, self.known, self.ends = before, dict[str, str](), dict[str, str]()
        columns = {one.lower(): one for one in (*before.spec.keys, *_aggregates(before.spec))}
        for one in before.outputs:
            name, text = (one.name or "").lower(), one.text.strip("`")
            if one.text in ("window_start", "window_end", END) or text == before.struct:
                self.ends[name] = one.text
            elif text.lower() in columns:
                self.known[name] = columns[text.lower()]
        self.columns = _OfPanes(parser, names, self.known)

    def _is_window(self, expr: Expr) -> bool:
        name = column_name(expr.node, self.columns.aliases)
        found = name is not None and name.lower() in self.ends
        if found and name is not None:
            self.bounds.add(self.ends[name.lower()].strip("`"))
        return found

    def _window(self) -> WindowSyntax | None:
        return None

    def _panes(self, keys: dict[str, str], window: WindowSyntax | None) -> Panes:
        panes = super()._panes(keys, window)
        panes.bounds, panes.struct, panes.ends = True, self.before.struct, self.ends
        return panes

    def _spec(self, window: WindowSyntax | None, keys: list[str], panes: Panes) -> Any:
        first, span = self.before.spec, self.select.span
        if self.emit is not None:
            fields = emission(self.emit, self.parser.fail)
            if not is_first(first):
                rule = (
                    "EMIT of the innermost query says when its panes come, and those of the queries over it"
                )
                raise self.parser.fail("EMIT", rule, "write it once", self.emit.span)
            first = self._checked(lambda: respecified(first, **fields), self.emit.span)  # type: ignore[arg-type]
        aggregates = list(panes.aggregates.values())
        if not aggregates:
            raise self.parser.fail("no aggregate", "a query over panes aggregates them", "add one", span)
        return self._checked(lambda: first.then(keys=keys, aggregates=aggregates), span)  # type: ignore[arg-type, return-value]


def _aggregates(spec: WindowOperator | Chain) -> list[str]:
    last: Any = getattr(spec, "stages", (spec,))[-1]
    return [one.name for one in last.aggregates]


def chained(
    parser: QueryParser, select: Select, emit: Emit | None, stage: Stage, names: frozenset[str]
) -> WindowsStage | None:
    """Returns a stage of a chain, None if the SELECT does not group panes by their windows.

    Raises:
        SqlError: if a chain cannot have it.
    """
    if not isinstance(stage, WindowsStage) or select.group is None:
        return None
    compiler = ChainCompiler(parser, select, emit, names, stage)
    grouped = [one for one in select.group.expressions if compiler._is_window(one)]
    if not grouped:
        return None
    whole = {"window_start", "window_end"} <= compiler.bounds or stage.struct in compiler.bounds
    if not whole:
        rule = "GROUP BY has both bounds of the window"
        raise parser.fail("one bound", rule, "add the other", _span(grouped))
    for given, word in ((select.where, "WHERE"), (stage.having, "HAVING in FROM")):
        if given is not None:
            rule = "panes cannot be selected before they are aggregated again by their windows"
            raise parser.fail(
                word, rule, "use FILTER or HAVING, or a window function over window_time", select.span
            )
    made = compiler.compile(stage.input, stage.alias)
    return replace(
        made,
        where=stage.where,
        computed=stage.computed,
        struct=stage.struct,
        exploded=stage.exploded,
        naming=("", ""),
    )


def _span(exprs: list[Expr]) -> TextSpan:
    return TextSpan(exprs[0].span.start, exprs[-1].span.end)


def is_ours(stage: Stage) -> bool:
    """Returns whether the rows of a stage are those of an operator."""
    return isinstance(stage, (WindowsStage, OverStage, JoinStage)) or (
        isinstance(stage, RowsStage) and is_ours(stage.input)
    )


def window_column(node: exp.Expr) -> str | None:
    """Returns the column in a call of `window_time`, None for another expression."""
    from panewise.sql.function_calls import function_name  # noqa: PLC0415

    if function_name(node) != "window_time" or len(node.expressions) != 1:
        return None
    return column_name(node.expressions[0], frozenset())
