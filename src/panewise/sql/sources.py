"""FROM as the input of an operator: tables, queries in parentheses, and what Spark joins of these."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from panewise.spec import counted
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import column_name, plain_name
from panewise.sql.options import max_future_skew_of, run_options_of
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import (
    Derived,
    Join,
    NamedTable,
    Select,
    Source,
    TableFunction,
    TextSpan,
    Watermark,
)
from panewise.sql.scope import QueryScope
from panewise.sql.stage_columns import is_star
from panewise.sql.stages import (
    UNGROUPED,
    AssignedStage,
    Endless,
    EndlessError,
    OverStage,
    QueryStage,
    RowsStage,
    SparkStage,
    TableStage,
    TableWatermark,
    WatermarkedStage,
    WindowsStage,
    is_ours,
)
from panewise.sql.windows.window_functions import window_of_table


@dataclass(frozen=True)
class OperatorInput:
    """The input of an operator.

    Attributes:
        stage: its stage.
        alias: the name by which expressions call it; None if several tables have names.
        names: all these names, in lower case.
        time: the column of WATERMARK, None if there is none.
    """

    stage: QueryStage
    alias: str | None
    names: frozenset[str]
    time: str | None

    def called(self, alias: str | None) -> "OperatorInput":
        """Returns the input, which expressions also call by another name, if there is one."""
        return self if alias is None else replace(self, alias=alias, names=self.names | {alias.lower()})


def operator_input(select: Select, table: TableFunction | None, scope: QueryScope) -> OperatorInput:
    """Returns the input of an operator.

    Raises:
        SqlError: if there is none.
    """
    source = select.source
    if source is None:
        rule = "an operator has a table"
        raise scope.parser.fail("no FROM", rule, "write FROM and a table", select.span)
    simple = not select.others
    if table is not None and source is table and simple:
        return single_input(table.data, scope).called(table.alias)
    if isinstance(source, (NamedTable, Derived)) and simple:
        return single_input(source, scope)
    return _input_with_joins(select, source, scope)


def single_input(source: Source, scope: QueryScope) -> OperatorInput:
    """Returns a table, or a query in parentheses, as an input.

    Raises:
        SqlError: for a join.
    """
    if isinstance(source, NamedTable):
        stage, alias = _table(source, scope), source.alias or last_name(source.name)
    elif isinstance(source, Derived):
        stage, alias = scope.query(source.query), source.alias
        if source.columns:
            stage = renamed_columns(stage, source.columns, alias)
    else:
        rule = "a window function has a table or a query"
        raise scope.parser.fail("a join", rule, "write it in parentheses: (SELECT ...)", source.span)
    watermark = source.watermark
    if isinstance(source, Derived) and watermark is not None:
        stage = WatermarkedStage(stage, _watermark(watermark, scope.parser), alias)
    names = frozenset() if alias is None else frozenset({alias.lower()})
    return OperatorInput(stage, alias, names, None if watermark is None else watermark.name)


def _table(table: NamedTable, scope: QueryScope) -> QueryStage:
    """Returns the stage of a table, or of a query of WITH.

    Raises:
        SqlError: if that query cannot stand alone, or has a watermark here.
    """
    named = scope.named(table)
    watermark = None if table.watermark is None else _watermark(table.watermark, scope.parser)
    if named is None:
        text = scope.parser.characters(table.text)
        options = run_options_of(table, scope.parser)
        if watermark is not None:
            watermark = replace(watermark, skew=max_future_skew_of(table, scope.parser))
        return TableStage(text, table.name, table.alias, table.columns, watermark, options)
    if watermark is not None:
        rule = "the watermark of a query of WITH is that of its tables"
        raise scope.parser.fail("WATERMARK", rule, "write it behind the table there", table.span)
    if named.stage is None:
        assert named.error is not None
        raise named.error
    return named.stage


def assigned_rows(table: TableFunction, scope: QueryScope) -> OperatorInput:
    """Returns the rows of a window function, each once for each of its windows, with the bounds of these.

    Raises:
        SqlError: if rows alone do not determine the windows.
    """
    rows, syntax = single_input(table.data, scope), window_of_table(table, scope.parser)
    time = None if syntax.time is None else column_name(syntax.time.node, rows.names)
    if time is None or counted(syntax.window) or is_ours(rows.stage):
        raise scope.parser.fail(table.function, *UNGROUPED, table.name)
    partition = frozenset(plain_name(expr.node, rows.names) for expr in table.partition_by)
    stage = AssignedStage(rows.stage, syntax.window, time, partition)
    return replace(rows, stage=stage).called(table.alias)


def cut_at_tables(
    span: TextSpan, tables: list[Source], scope: QueryScope, before: str = "", *, windows: bool = True
) -> SparkStage:
    """Returns a query of Spark's: these characters, in which the tables are inputs.

    With `windows` the rows of window functions have the bounds of their windows.
    """
    parts, inputs, at = [before], list[tuple[QueryStage, str | None]](), span.start
    for leaf in sorted(tables, key=lambda table: table.span.start):
        if isinstance(leaf, NamedTable) and leaf.name is None and leaf.watermark is None:
            continue
        inputs.append(_leaf(leaf, scope, windows=windows))
        parts[-1] += scope.parser.sql[at : leaf.span.start]
        parts.append(_columns(leaf))
        at = leaf.span.end
    parts[-1] += scope.parser.sql[at : span.end]
    return SparkStage(tuple(parts), tuple(inputs))


def _leaf(leaf: Source, scope: QueryScope, *, windows: bool) -> tuple[QueryStage, str | None]:
    if isinstance(leaf, TableFunction):
        inner = assigned_rows(leaf, scope) if windows else single_input(leaf.data, scope)
        return inner.stage, leaf.alias or inner.alias
    if isinstance(leaf, Derived):
        return scope.query(leaf.query), leaf.alias
    assert isinstance(leaf, NamedTable)
    return _table(leaf, scope), leaf.alias or last_name(leaf.name)


def _watermark(watermark: Watermark, parser: QueryParser) -> TableWatermark:
    text = None if watermark.computed is None else parser.characters(watermark.computed.span)
    return TableWatermark(watermark.name, parser.duration_of(watermark.delay), text)


def renamed_columns(stage: QueryStage, columns: Sequence[str], alias: str | None) -> QueryStage:
    """Returns the rows of a query, whose columns have other names."""
    if isinstance(stage, (RowsStage, WindowsStage, OverStage)) and stage.outputs is not None:
        fits = len(stage.outputs) == len(columns) and not any(map(is_star, stage.outputs))
        if fits and len({name.lower() for name in columns}) == len(columns):
            named = (replace(output, name=name) for output, name in zip(stage.outputs, columns, strict=True))
            return replace(stage, outputs=tuple(named))
    names = ", ".join(map(in_backticks, columns))
    values = stage.plain if isinstance(stage, SparkStage) and isinstance(stage.plain, TableStage) else None
    plain = None if values is None else replace(values, columns=tuple(columns))
    return SparkStage(("SELECT * FROM ", f" ({names})"), ((stage, alias),), plain=plain)


def _input_with_joins(select: Select, source: Source, scope: QueryScope) -> OperatorInput:
    """Returns an input that Spark makes: a join with tables, or LATERAL VIEW."""
    end = select.others[-1][1].end if select.others else source.span.end
    start = source.span.start if select.source_span is None else select.source_span.start
    stage = cut_at_tables(TextSpan(start, end), list(leaves(source)), scope, "SELECT * FROM ", windows=False)
    stage = replace(stage, unbounded=unbounded(source, scope))
    watermarks = [
        leaf.watermark for leaf in leaves(source) if isinstance(leaf, NamedTable) and leaf.watermark
    ]
    return OperatorInput(
        stage, None, table_names(source), watermarks[0].name if len(watermarks) == 1 else None
    )


def unbounded(source: Source, scope: QueryScope) -> Endless | None:
    """Returns the message for a join of Spark's that joins two streams without a range of time.

    None if the source is no join.
    """
    if not isinstance(source, Join):
        return None
    rule = "rows joined without a range of time do not expire, and none is counted as late or invalid"
    remedy = "bound the event times in ON from both sides, or write WITHIN INTERVAL '1' HOUR"
    error = EndlessError("a join of streams without a range of time", rule, remedy)
    return Endless.at(error, scope.parser.origin, source.span)


def leaves(source: Source) -> Iterator[Source]:
    """Yields the sources of a join, or the source itself."""
    if isinstance(source, Join):
        yield from leaves(source.left)
        yield from leaves(source.right)
    else:
        yield source


def names_of(source: Source) -> Iterator[str]:
    """Yields the names by which expressions call the tables of a source."""
    for leaf in leaves(source):
        if isinstance(leaf, TableFunction):
            yield from names_of(leaf.data)
        name = leaf.alias if not isinstance(leaf, Join) else None
        if name is None and isinstance(leaf, NamedTable):
            name = last_name(leaf.name)
        if name is not None:
            yield name


def table_names(source: Source) -> frozenset[str]:
    """Returns the names by which expressions call the tables of a source, in lower case."""
    return frozenset(map(str.lower, names_of(source)))


def last_name(name: str | None) -> str | None:
    """Returns the last part of a name with dots."""
    return None if name is None else name.rsplit(".", 1)[-1]


def _columns(leaf: Source) -> str:
    """Returns the names that an alias gives to columns, as they follow it."""
    named = leaf.columns if isinstance(leaf, (NamedTable, Derived)) else ()
    return f" ({', '.join(map(in_backticks, named))})" if named else ""
