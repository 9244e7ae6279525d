"""Windows over panes of other windows, as stages of a chain (semantics 46.18)."""

from dataclasses import replace

from sqlglot import exp

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec import Chain, WindowOperator
from panewise.spec.operators.chain import last_stage, respecified, stages_of
from panewise.sql.expressions.function_calls import column_name, function_name
from panewise.sql.input_columns import InputColumns
from panewise.sql.parsing.emit import emission
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Emit, Expr, Select, TextSpan
from panewise.sql.stages import QueryStage, WindowsStage
from panewise.sql.windows.bound_columns import folded
from panewise.sql.windows.compiler import WindowCompiler
from panewise.sql.windows.panes import END, Panes, PaneWindow
from panewise.sql.windows.window_functions import WindowSyntax, identifies


class _OfPanes(InputColumns):
    """The columns of a stage of a chain: keys and aggregates of the stage before it."""

    def __init__(self, parser: QueryParser, aliases: frozenset[str], known: dict[str, str]) -> None:
        super().__init__(parser, aliases)
        self.known = known

    def name_of(self, expr: Expr) -> str:
        name = column_name(expr.node, self.aliases)
        known = self.known.get((name or "").lower())
        if known is None:
            text = self.parser.characters(expr.span)
            rule = (
                "a query that groups panes by their windows reads their columns as they are: "
                f"{sorted(self.known)}"
            )
            raise self.parser.fail(text, rule, "compute it in the query in FROM", expr.span)
        return known

    def add(self, text: str, name: str | None = None) -> str:
        rule = "a query that groups panes by their windows aggregates whole columns, without FILTER"
        raise SpecError(text, rule, "compute the column in the query in FROM")


class ChainCompiler(WindowCompiler):
    """Compiles a SELECT over panes that groups them by their windows: a stage of a chain.

    Args:
        before: the windows whose panes it reads.
        others: as those of WindowCompiler.

    Attributes:
        known: the keys and aggregates of the panes, by their lower-case names in the query.
    """

    def __init__(
        self,
        parser: QueryParser,
        select: Select,
        emit: Emit | None,
        names: frozenset[str],
        before: WindowsStage,
    ) -> None:
        self.before, self.known, ends = before, dict[str, str](), dict[str, str]()
        aggregates = (aggregate.name for aggregate in last_stage(before.spec).aggregates)
        columns = {column.lower(): column for column in (*before.spec.keys, *aggregates)}
        for output in before.outputs:
            name, text = (output.name or "").lower(), output.text.strip("`")
            if output.text in ("window_start", "window_end", END) or text == before.struct:
                ends[name] = output.text
            elif text.lower() in columns:
                self.known[name] = columns[text.lower()]
        super().__init__(parser, select, emit, None, names, ends=ends)

    def _columns(self, names: frozenset[str]) -> InputColumns:
        return _OfPanes(self.parser, names, self.known)

    def _window(self) -> WindowSyntax | None:
        return None

    def _pane_window(self, window: WindowSyntax | None) -> PaneWindow:
        return PaneWindow(True, self.before.struct, None, self.ends)

    def _spec(self, window: WindowSyntax | None, keys: list[str], panes: Panes) -> WindowOperator | Chain:
        first, span = emitting(self.before.spec, self.emit, self.parser), self.select.span
        aggregates = list(panes.aggregates.values())
        if not aggregates:
            raise self.parser.fail("no aggregate", "a query over panes aggregates them", "add one", span)
        with self.parser.placing(span):
            return first.then(keys=keys, aggregates=aggregates)


def emitting(spec: WindowOperator | Chain, emit: Emit | None, parser: QueryParser) -> WindowOperator | Chain:
    """Returns the operator, whose panes come as EMIT of a query over them says.

    Raises:
        SqlError: if there are stages after the operator already.
    """
    if emit is None:
        return spec
    if stages_of(spec):
        rule = "EMIT of the innermost query says when panes are emitted, also those of the queries over it"
        raise parser.fail("EMIT", rule, "write it once", emit.span)
    with parser.placing(emit.span):
        return respecified(spec, **emission(emit, parser.fail))


def chained(
    parser: QueryParser, select: Select, emit: Emit | None, stage: QueryStage, names: frozenset[str]
) -> WindowsStage | None:
    """Returns a stage of a chain, None if the SELECT does not group panes by their windows.

    Raises:
        SqlError: if a chain cannot have it.
    """
    stage = folded(stage)
    if not isinstance(stage, WindowsStage) or select.group is None:
        return None
    compiler = ChainCompiler(parser, select, emit, names, stage)
    bounds = [expr for expr in compiler.group.grouped() if compiler.group.is_window(expr)]
    if not bounds:
        return None
    names = frozenset(compiler.group.bounds)
    if not (identifies(stage.spec.ports[INPUT].window, names) or stage.struct in names):
        rule = "GROUP BY has both bounds of the windows of CUMULATE"
        raise parser.fail("one bound", rule, "add the other", _span(bounds))
    for condition, word in ((select.where, "WHERE"), (stage.having, "HAVING in FROM")):
        if condition is not None:
            rule = "panes cannot be selected before they are aggregated again by their windows"
            remedy = "use FILTER or HAVING, or a window function over window_time"
            raise parser.fail(word, rule, remedy, select.span)
    return replace(
        compiler.compile(stage.input, stage.alias),
        where=stage.where,
        computed=stage.computed,
        struct=stage.struct,
        exploded=stage.exploded,
        naming=("", ""),
    )


def _span(exprs: list[Expr]) -> TextSpan:
    return TextSpan(exprs[0].span.start, exprs[-1].span.end)


def window_column(node: exp.Expr) -> str | None:
    """Returns the column in a call of `window_time`, None for another expression."""
    if function_name(node) != "window_time" or len(node.expressions) != 1:
        return None
    return column_name(node.expressions[0], frozenset())
