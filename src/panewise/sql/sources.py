"""FROM as the input of an operator: tables, queries in parentheses, and what Spark joins of these."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from panewise.chrono import DurationLike
from panewise.errors import SqlError
from panewise.spec import counted
from panewise.spec.conditions.text import in_backticks
from panewise.sql.function_calls import column_name, plain_name
from panewise.sql.options import max_future_skew_of, run_options_of
from panewise.sql.parser import QueryParser
from panewise.sql.stages import (
    UNGROUPED,
    AssignedStage,
    SparkStage,
    Stage,
    TableStage,
    TableWatermark,
    WatermarkedStage,
    is_ours,
)
from panewise.sql.syntax import (
    Derived,
    Join,
    NamedTable,
    Query,
    Select,
    Source,
    TableFunction,
    TextSpan,
    Watermark,
)
from panewise.sql.window_functions import window_of_table


@dataclass
class WithQuery:
    """A query of WITH.

    Attributes:
        query: its syntax, None if its columns have other names.
        known: the queries of WITH that it may read.
        stage: its stage, None if it cannot stand alone.
        error: why it cannot.
        inlined: whether it is a part of a Top-N.
        parser: the parser of the text in which it stands.
    """

    query: Query | None
    known: "Mapping[str, WithQuery]"
    stage: Stage | None
    error: SqlError | None = None
    inlined: bool = False
    parser: QueryParser | None = None


@dataclass(frozen=True)
class OperatorInput:
    """The input of an operator.

    Attributes:
        stage: its stage.
        alias: the name by which expressions call it; None if several tables have names.
        names: all these names, in lower case.
        time: the column of WATERMARK, None if there is none.
    """

    stage: Stage
    alias: str | None
    names: frozenset[str]
    time: str | None


class SourceCompiler:
    """Compiles what follows FROM.

    Args:
        parser: the parser, which knows the text.
        update: the update policy of joins that say none.
    """

    def __init__(self, parser: QueryParser, update: DurationLike | None = None) -> None:
        self.parser, self.update = parser, update

    def query(self, query: Query, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a query."""
        raise AssertionError("QueryCompiler has it")

    def input(
        self, select: Select, table: TableFunction | None, known: Mapping[str, WithQuery]
    ) -> OperatorInput:
        """Returns the input of an operator.

        Raises:
            SqlError: if there is none.
        """
        source = select.source
        if source is None:
            rule = "an operator has a table"
            raise self.parser.fail("no FROM", rule, "write FROM and a table", select.span)
        simple = not select.others
        if table is not None and source is table and simple:
            inner = self.single(table.data, known)
            own = frozenset() if table.alias is None else frozenset({table.alias.lower()})
            return OperatorInput(inner.stage, table.alias or inner.alias, inner.names | own, inner.time)
        if isinstance(source, (NamedTable, Derived)) and simple:
            return self.single(source, known)
        return self._joined(select, source, known)

    def single(self, source: Source, known: Mapping[str, WithQuery]) -> OperatorInput:
        """Returns a table, or a query in parentheses, as an input.

        Raises:
            SqlError: for a join.
        """
        if isinstance(source, NamedTable):
            stage, alias = self.table(source, known), source.alias or last_name(source.name)
        elif isinstance(source, Derived):
            stage, alias = self._renamed(self.query(source.query, known), source), source.alias
        else:
            rule = "a window function has a table or a query"
            raise self.parser.fail("a join", rule, "write it in parentheses: (SELECT ...)", source.span)
        watermark = source.watermark
        if isinstance(source, Derived) and watermark is not None:
            stage = WatermarkedStage(stage, self._watermark(watermark), alias)
        names = frozenset() if alias is None else frozenset({alias.lower()})
        return OperatorInput(stage, alias, names, None if watermark is None else watermark.name)

    def table(self, table: NamedTable, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a table, or of a query of WITH.

        Raises:
            SqlError: if that query cannot stand alone, or has a watermark here.
        """
        named = known.get(table.name.lower()) if table.name is not None else None
        watermark = None if table.watermark is None else self._watermark(table.watermark)
        if named is None:
            text = self.parser.characters(table.text)
            options = run_options_of(table, self.parser)
            if watermark is not None:
                watermark = replace(watermark, skew=max_future_skew_of(table, self.parser))
            return TableStage(text, table.name, table.alias, table.columns, watermark, options)
        if watermark is not None:
            rule = "the watermark of a query of WITH is that of its tables"
            raise self.parser.fail("WATERMARK", rule, "write it behind the table there", table.span)
        if named.stage is None:
            assert named.error is not None
            raise named.error
        return named.stage

    def assigned(self, table: TableFunction, known: Mapping[str, WithQuery]) -> OperatorInput:
        """Returns the rows of a window function, each once for each of its windows, with the bounds of these.

        Raises:
            SqlError: if rows alone do not determine the windows.
        """
        rows, syntax = self.single(table.data, known), window_of_table(table, self.parser)
        time = None if syntax.time is None else column_name(syntax.time.node, rows.names)
        if time is None or counted(syntax.window) or is_ours(rows.stage):
            raise self.parser.fail(table.function, *UNGROUPED, table.name)
        own = frozenset() if table.alias is None else frozenset({table.alias.lower()})
        partition = frozenset(plain_name(expr.node, rows.names) for expr in table.partition_by)
        stage = AssignedStage(rows.stage, syntax.window, time, partition)
        return OperatorInput(stage, table.alias or rows.alias, rows.names | own, rows.time)

    def cut(
        self,
        span: TextSpan,
        tables: list[Source],
        known: Mapping[str, WithQuery],
        before: str,
        *,
        windows: bool = True,
    ) -> SparkStage:
        """Returns a query of Spark's: these characters, in which the tables are inputs.

        With `windows` the rows of window functions have the bounds of their windows.
        """
        parts, inputs, at = [before], list[tuple[Stage, str | None]](), span.start
        for leaf in sorted(tables, key=lambda table: table.span.start):
            if isinstance(leaf, NamedTable) and leaf.name is None and leaf.watermark is None:
                continue
            inputs.append(self._leaf(leaf, known, windows=windows))
            parts[-1] += self.parser.sql[at : leaf.span.start]
            parts.append(_columns(leaf))
            at = leaf.span.end
        parts[-1] += self.parser.sql[at : span.end]
        return SparkStage(tuple(parts), tuple(inputs))

    def _leaf(
        self, leaf: Source, known: Mapping[str, WithQuery], *, windows: bool
    ) -> tuple[Stage, str | None]:
        if isinstance(leaf, TableFunction):
            inner = self.assigned(leaf, known) if windows else self.single(leaf.data, known)
            return inner.stage, leaf.alias or inner.alias
        if isinstance(leaf, Derived):
            return self.query(leaf.query, known), leaf.alias
        assert isinstance(leaf, NamedTable)
        return self.table(leaf, known), leaf.alias or last_name(leaf.name)

    def _watermark(self, watermark: Watermark) -> TableWatermark:
        text = None if watermark.computed is None else self.parser.characters(watermark.computed.span)
        return TableWatermark(watermark.name, self.parser.duration_of(watermark.delay), text)

    def _renamed(self, stage: Stage, source: Derived) -> Stage:
        if not source.columns:
            return stage
        columns = ", ".join(map(in_backticks, source.columns))
        return SparkStage(("SELECT * FROM ", f" ({columns})"), ((stage, source.alias),))

    def _joined(self, select: Select, source: Source, known: Mapping[str, WithQuery]) -> OperatorInput:
        """Returns an input that Spark makes: a join with tables, or LATERAL VIEW."""
        end = select.others[-1][1].end if select.others else source.span.end
        start = source.span.start if select.source_span is None else select.source_span.start
        names = frozenset(name.lower() for name in names_of(source))
        stage = self.cut(TextSpan(start, end), list(leaves(source)), known, "SELECT * FROM ", windows=False)
        watermarks = [
            leaf.watermark for leaf in leaves(source) if isinstance(leaf, NamedTable) and leaf.watermark
        ]
        return OperatorInput(stage, None, names, watermarks[0].name if len(watermarks) == 1 else None)


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


def last_name(name: str | None) -> str | None:
    """Returns the last part of a name with dots."""
    return None if name is None else name.rsplit(".", 1)[-1]


def _columns(leaf: Source) -> str:
    """Returns the names that an alias gives to columns, as they follow it."""
    named = leaf.columns if isinstance(leaf, (NamedTable, Derived)) else ()
    return f" ({', '.join(map(in_backticks, named))})" if named else ""
